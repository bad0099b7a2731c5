/**
 * Computes vectors for the engine package with this program's own models and those of servers, by name. It sits in
 * front of the engine in every process (`src/runtime`), whichever engine that is.
 */
import { Context, Effect, Option } from "effect"
import type { EmbeddedInput, Embedder, EmbedOrder, ModelConfig } from "@dowser/engine-sdk/embedding"
import { type EngineError, fail, ok } from "@dowser/engine-sdk"
import {
  makeRemoteEmbedder,
  type RemoteEmbedder,
  RemoteEmbeddingFailed
} from "../text-embedder/remote/remote-embedder.ts"
import { homeOf, type RemoteModel } from "../text-embedder/remote/providers.ts"
import { DIMENSIONS as LSA_DIMENSIONS, LSA_NAME } from "../text-embedder/lsa/model.ts"
import { type Embedded, EmbeddingUnavailable, TextEmbedder } from "../text-embedder/text-embedder.ts"
import { type Pictures, PictureVectors } from "./pictures.ts"
import { storedNumbers } from "./stored-numbers.ts"
import { identityOf, modelIn, type Sealing, withSealed } from "./model-config.ts"

/** For callers that want vectors and their cost outside a collection's field. */
export interface Embeddings extends Embedder {
  readonly vectors: (
    organizationId: string,
    model: ModelConfig,
    texts: ReadonlyArray<string>
  ) => Effect.Effect<Embedded, EmbeddingUnavailable | RemoteEmbeddingFailed>
  readonly isKnown: (model: ModelConfig) => boolean
  /** Whether the model runs in this program. */ readonly isEmbedded: (model: ModelConfig) => boolean
  /** The state of this program's models. */ readonly state: TextEmbedder["Service"]["state"]
  readonly models: TextEmbedder["Service"]["models"]
  /** The model for images. */ readonly imageModel: () => PictureVectors["model"] | undefined
}

/** The embedder of this process; undefined in a process without an engine to write to, and in tests that need none. */
export const CurrentEmbedder = Context.Reference<Embeddings | undefined>("dowser/ports/CurrentEmbedder", {
  defaultValue: () => undefined
})

/** The model if none is named. */
export const DEFAULT_MODEL = "dowser/minilm-l6-v2"
/** How many dimensions of remote models are remembered; each is learned by one request. */
const DIMENSIONS_KEPT = 10_000
const NOWHERE = Effect.succeed(false)
const LEARNING = { texts: ["How many dimensions?"], timeout_ms: 10_000, tries: 2 } as const
const DOCUMENT = { timeout_ms: 60_000, tries: 5 } as const
const QUERY = { timeout_ms: 30_000, tries: 2 } as const
/** A batch that its server refuses is sent again in halves, to find the text that is refused. */
const HALVINGS_MAX = 32

const remoteError = ({ isFinal, message }: RemoteEmbeddingFailed): EngineError =>
  isFinal ? { kind: "Invalid", message } : { kind: "Unavailable", message, isThere: true }
const localError = ({ message, reason, retry_after_s }: EmbeddingUnavailable): EngineError =>
  reason === "busy" || reason === "installing"
    ? { kind: "Overloaded", message, retryAfterSeconds: retry_after_s ?? 5 }
    : reason === "not_installed"
      ? { kind: "Invalid", message }
      : { kind: "Unavailable", message, isThere: true }

type Local = TextEmbedder["Service"]
/** Models trained on an organization's collections, by their hash. */
export interface TrainedModels {
  readonly isThere: (organizationId: string, hash: string) => Effect.Effect<boolean>
  readonly embed: (
    organizationId: string,
    hash: string,
    texts: ReadonlyArray<string>
  ) => Effect.Effect<Embedded, EmbeddingUnavailable>
}
interface Makers {
  readonly local: Local | undefined
  readonly trained: TrainedModels | undefined
  readonly remote: RemoteEmbedder
  readonly pictures: PictureVectors | undefined
}
class Embedding implements Embeddings {
  readonly #local: Local | undefined
  readonly #remote: RemoteEmbedder
  readonly #seal: Sealing
  readonly #run: <A, E>(effect: Effect.Effect<A, E>) => Promise<A>
  readonly #pictures: PictureVectors | undefined
  readonly #trained: TrainedModels | undefined
  readonly #dimensions = new Map<string, number>()
  constructor(
    { local, pictures, remote, trained }: Makers,
    seal: Sealing,
    run: <A, E>(effect: Effect.Effect<A, E>) => Promise<A>
  ) {
    this.#local = local
    this.#remote = remote
    this.#pictures = pictures
    this.#trained = trained
    this.#seal = seal
    this.#run = run
  }

  readonly kindOf = ({ model_name }: ModelConfig) =>
    model_name === this.#pictures?.model.name && model_name !== undefined ? ("image" as const) : ("text" as const)
  readonly sealed = (config: ModelConfig): ModelConfig => withSealed(this.#seal, config)
  readonly pinOf = (config: ModelConfig): string | undefined => {
    const named = modelIn(this.#seal, config)
    if (named?.kind === "trained") return named.hash
    return named?.kind === "local" ? this.#facts(named.name)?.hash : undefined
  }
  readonly dimensionsOf = (config: ModelConfig): number | undefined => {
    const named = modelIn(this.#seal, config)
    if (named === undefined) return undefined
    if (named.kind === "trained") return LSA_DIMENSIONS
    return named.kind === "local" ? this.#facts(named.name)?.dimensions : this.#dimensions.get(identityOf(named.model))
  }
  readonly isEmbedded = (config: ModelConfig): boolean => (modelIn(this.#seal, config)?.kind ?? "remote") !== "remote"

  readonly isKnown = (config: ModelConfig): boolean => {
    const named = modelIn(this.#seal, config)
    return named !== undefined && (named.kind !== "local" || this.#known(named.name) !== undefined)
  }
  readonly models = () => this.#local?.models() ?? []
  readonly imageModel = () => this.#pictures?.model
  readonly state = (name: string) => this.#local?.state(name) ?? "absent"
  readonly vectors: Embeddings["vectors"] = (organizationId, config, texts) => {
    const named = modelIn(this.#seal, config)
    if (named?.kind === "remote") {
      const { model } = named
      return this.#remote.embed({ organizationId, model, purpose: "query", texts, dimensions: undefined, ...QUERY })
    }
    if (named?.kind === "trained" && this.#trained !== undefined)
      return this.#trained.embed(organizationId, named.hash, texts)
    return this.#local === undefined || named?.kind !== "local" || this.#known(named.name) === undefined
      ? Effect.fail(new EmbeddingUnavailable({ message: "There is no such model.", reason: "not_installed" }))
      : this.#local.embed({ model: named.name, texts, priority: "query", organizationId })
  }

  /** Requests one vector from a model on a server, which shows its dimensions and that it answers. */
  readonly learn = async (namespace: string, config: ModelConfig): Promise<EngineError | undefined> => {
    const named = modelIn(this.#seal, config)
    if (config.model_name === LSA_NAME) return this.#learnTrained(namespace, named)
    if (named?.kind !== "remote") return undefined
    if (named.model.url === undefined && homeOf(named.model.kind) === undefined)
      return {
        kind: "Invalid",
        message: "Property `embed.model_config.url` must name the address of the model's server."
      }
    const [made] = await this.#ofServer(namespace, named.model, "document", LEARNING.texts, LEARNING, undefined)
    if (!made!.ok) return made!.error
    if (this.#dimensions.size >= DIMENSIONS_KEPT) this.#dimensions.delete(this.#dimensions.keys().next().value!)
    this.#dimensions.set(identityOf(named.model), made!.value.length)
    return undefined
  }

  readonly embed = async (order: EmbedOrder): Promise<ReadonlyArray<EmbeddedInput>> => {
    const { inputs, model, namespace, purpose } = order
    if (this.kindOf(model) === "image") return this.#run(this.#pictures!.embed(namespace, inputs.map(firstOf)))
    const named = modelIn(this.#seal, model)
    if (named === undefined) return this.#none(inputs, String(model.model_name))
    if (named.kind === "local") return this.#own(namespace, named.name, purpose, inputs)
    if (named.kind === "trained") return this.#ofTrained(namespace, named.hash, inputs)
    const byDefault = purpose === "query" ? QUERY : DOCUMENT
    const bounds = { timeout_ms: order.timeout_ms ?? byDefault.timeout_ms, tries: order.tries ?? byDefault.tries }
    return this.#ofServer(
      namespace,
      named.model,
      purpose,
      inputs,
      bounds,
      this.#dimensions.get(identityOf(named.model))
    )
  }

  /** What is known of a model for texts or images, by its name. */
  #facts(name: string): { readonly dimensions: number; readonly hash: string } | undefined {
    const image = this.#pictures?.model
    return name === image?.name ? { dimensions: image.dimensions, hash: image.version } : this.#known(name)
  }
  #known(name: string) {
    return this.#local?.models().find((model) => model.name === name)
  }
  #none(inputs: ReadonlyArray<string>, name: string): ReadonlyArray<EmbeddedInput> {
    return inputs.map(() => fail({ kind: "Invalid", message: `There is no model \`${name}\`.` }))
  }
  /** Only a semantic search names a trained model, because it is trained on existing documents. */
  async #learnTrained(organizationId: string, named: ReturnType<typeof modelIn>): Promise<EngineError | undefined> {
    const isThere =
      named?.kind === "trained" && (await this.#run(this.#trained?.isThere(organizationId, named.hash) ?? NOWHERE))
    return isThere
      ? undefined
      : {
          kind: "Invalid",
          message: `\`${LSA_NAME}\` is trained on the documents of a collection when it is first searched by meaning; a field cannot name it.`
        }
  }
  async #ofTrained(
    organizationId: string,
    hash: string,
    inputs: ReadonlyArray<string>
  ): Promise<ReadonlyArray<EmbeddedInput>> {
    if (this.#trained === undefined) return this.#none(inputs, LSA_NAME)
    const made = await this.#run(Effect.result(this.#trained.embed(organizationId, hash, inputs)))
    return made._tag === "Failure"
      ? inputs.map(() => fail(localError(made.failure)))
      : made.success.vectors.map((vector) => ok(storedNumbers(vector)))
  }
  async #own(
    organizationId: string,
    name: string,
    priority: "query" | "document",
    inputs: ReadonlyArray<string>
  ): Promise<ReadonlyArray<EmbeddedInput>> {
    const known = this.#known(name)
    if (this.#local === undefined || known === undefined) return this.#none(inputs, name)
    const texts = inputs.map((text) => text.slice(0, known.charactersMax))
    const made = await this.#run(Effect.result(this.#local.embed({ model: name, texts, priority, organizationId })))
    if (made._tag === "Failure") return inputs.map(() => fail(localError(made.failure)))
    return made.success.vectors.map((vector) => ok(storedNumbers(vector)))
  }
  async #ofServer(
    organizationId: string,
    model: RemoteModel,
    purpose: "query" | "document",
    inputs: ReadonlyArray<string>,
    bounds: { readonly timeout_ms: number; readonly tries: number },
    dimensions: number | undefined
  ): Promise<ReadonlyArray<EmbeddedInput>> {
    let halvings = 0
    const ask = async (texts: ReadonlyArray<string>): Promise<ReadonlyArray<EmbeddedInput>> => {
      const order = { organizationId, model, purpose, texts, dimensions, ...bounds }
      const made = await this.#run(Effect.result(this.#remote.embed(order)))
      if (made._tag === "Success") return made.success.vectors.map((vector) => ok(storedNumbers(vector)))
      const error = remoteError(made.failure)
      if (!made.failure.isOfInput || texts.length < 2 || halvings >= HALVINGS_MAX) return texts.map(() => fail(error))
      halvings++
      const middle = texts.length >> 1
      return [...(await ask(texts.slice(0, middle))), ...(await ask(texts.slice(middle)))]
    }
    return inputs.length === 0 ? [] : ask(inputs)
  }
}

/** The first of a list of images; their names contain no spaces. */
const firstOf = (source: string): string => {
  const trimmed = source.trim()
  const space = trimmed.indexOf(" ")
  return space < 0 ? trimmed : trimmed.slice(0, space)
}

/** Combines this program's own models, if it has any, with the servers that fields and organizations name. */
export const makeEmbeddings = Effect.fnUntraced(function* (
  seal: Sealing,
  pictures?: Pictures,
  trained?: TrainedModels
) {
  const local = Option.getOrUndefined(yield* Effect.serviceOption(TextEmbedder))
  const remote = yield* makeRemoteEmbedder
  const run = Effect.runPromiseWith(yield* Effect.context<never>())
  const makers = { local, remote, trained, pictures: pictures === undefined ? undefined : new PictureVectors(pictures) }
  return new Embedding(makers, seal, run)
})
