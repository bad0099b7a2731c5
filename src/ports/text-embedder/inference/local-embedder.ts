/**
 * Models that run in this program, each in a thread of its own that starts on first use: the installed one, and those
 * of the operator. Texts are normalized to what a model may see and looked up in the cache; the rest is computed
 * (`inference.ts`).
 */
import { Clock, Context, Effect, Layer } from "effect"
import {
  type Embedded,
  type EmbeddingModel,
  EmbeddingUnavailable,
  type EmbedRequest,
  TextEmbedder
} from "../text-embedder.ts"
import { Inference } from "./inference.ts"
import { InferenceThread } from "./inference-thread.ts"
import type { ThreadSettings } from "./messages.ts"
import { type CachedVector, VectorCache } from "./vector-cache.ts"

/** Where the model is, as reported by its installer. */
export type InstalledModel =
  | { readonly state: "absent"; readonly message: string }
  | { readonly state: "installing"; readonly retry_after_s: number }
  | { readonly state: "installed"; readonly folder: string }

export interface LocalModel {
  readonly model: EmbeddingModel
  readonly installed: () => InstalledModel
  /** `folder`: where the model is installed. */ readonly settings: (folder: string) => ThreadSettings
}
export interface LocalEmbedderOptions {
  readonly idle_ms?: number
  readonly cacheBytes_max?: number
  /** Another entry file for the threads, for tests. */ readonly entry?: URL
}

/** Figures for operators. */
export interface EmbedderFigures {
  /** Texts given to the model. */ readonly texts: number
  /** Texts found in the cache. */ readonly known: number
  readonly seconds: number
  readonly losses: number
  readonly queriesWaiting: number
  readonly documentsWaiting: number
  readonly cacheBytes: number
  readonly engine: "native" | "portable" | undefined
}
/** Undefined if this process has no embedder. */
export const CurrentEmbedderFigures = Context.Reference<() => EmbedderFigures | undefined>(
  "dowser/ports/CurrentEmbedderFigures",
  {
    defaultValue: () => () => undefined
  }
)

const IDLE_MS = 10 * 60_000
const CACHE_BYTES = 24_000_000
const WORD = /[^\s\p{C}]/u

const unavailable = ({ installed, model }: LocalModel): EmbeddingUnavailable | undefined => {
  const found = installed()
  if (found.state === "installed") return undefined
  if (found.state === "absent") return new EmbeddingUnavailable({ message: found.message, reason: "not_installed" })
  const { retry_after_s } = found
  return new EmbeddingUnavailable({ message: `${model.name} is being installed.`, reason: "installing", retry_after_s })
}

/** The cached results for the texts of a request, and the texts that must be computed. */
class Lookup {
  readonly #texts: ReadonlyArray<string>
  readonly #byText = new Map<string, CachedVector | undefined>()
  readonly #keys = new Map<string, string>()
  readonly missing: ReadonlyArray<string>
  /** Number of distinct texts that were in the cache. */ readonly known: number

  constructor(request: EmbedRequest, { charactersMax, dimensions }: EmbeddingModel, cache: VectorCache) {
    this.#texts = request.texts.map((text) => text.slice(0, charactersMax).toWellFormed())
    const nothing: CachedVector = { vector: new Float32Array(dimensions), tokens: 0 }
    const missing: Array<string> = []
    for (const text of this.#texts) {
      if (this.#byText.has(text)) continue
      const key = cache.keyOf(request, text)
      const known = WORD.test(text) ? cache.get(key) : nothing
      this.#byText.set(text, known)
      this.#keys.set(text, key)
      if (known === undefined) missing.push(text)
    }
    this.missing = missing
    this.known = this.#byText.size - missing.length
  }
  learn(found: ReadonlyArray<CachedVector>, request: EmbedRequest, cache: VectorCache): void {
    for (const [at, text] of this.missing.entries()) {
      this.#byText.set(text, found[at]!)
      cache.set(request.priority, this.#keys.get(text)!, found[at]!)
    }
  }
  get answer(): Embedded {
    const all = this.#texts.map((text) => this.#byText.get(text)!)
    return { vectors: all.map(({ vector }) => vector), inputTokens: all.reduce((sum, { tokens }) => sum + tokens, 0) }
  }
}

const makeInference = Effect.fnUntraced(function* (
  { installed, model, settings }: LocalModel,
  { entry, idle_ms = IDLE_MS }: LocalEmbedderOptions
) {
  const services = yield* Effect.context<never>()
  const clock = yield* Clock.Clock
  const log = (line: Effect.Effect<void>) => Effect.runSyncWith(services)(line)
  const inference = yield* Effect.acquireRelease(
    Effect.sync(
      () =>
        new Inference({
          dimensions: model.dimensions,
          now: () => clock.currentTimeMillisUnsafe(),
          open: () => {
            const found = installed()
            return found.state === "installed" ? new InferenceThread(settings(found.folder), entry) : undefined
          },
          onLoaded: ({ engine, why }) =>
            log(
              why === undefined
                ? Effect.logInfo(`${model.name} is loaded (${engine})`)
                : Effect.logWarning(`${model.name} runs in WebAssembly, fifteen times slower: ${why}`)
            ),
          onLost: (message) => log(Effect.logError(`The thread of ${model.name} was lost: ${message}`))
        })
    ),
    (opened) => Effect.promise(() => opened.close())
  )
  const look = Effect.promise(() => inference.closeIdle(idle_ms))
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(idle_ms / 4), look)))
  return inference
})

const asked = (inference: Inference, request: EmbedRequest, texts: ReadonlyArray<string>) =>
  Effect.callback<ReadonlyArray<CachedVector>, EmbeddingUnavailable>((resume) => {
    const cancel = inference.ask(
      { ...request, texts },
      {
        resolve: (found) => resume(Effect.succeed(found)),
        reject: (error) => resume(Effect.fail(error))
      }
    )
    return Effect.sync(cancel)
  })

/** No two models may have the same name; operators are shown the engine of the first. */
export const layerLocalModels = (
  models: ReadonlyArray<LocalModel>,
  options: LocalEmbedderOptions = {}
): Layer.Layer<TextEmbedder> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const all = new Map<string, { readonly local: LocalModel; readonly inference: Inference }>()
      for (const local of models) all.set(local.model.name, { local, inference: yield* makeInference(local, options) })
      const cache = new VectorCache(options.cacheBytes_max ?? CACHE_BYTES)
      let known = 0
      const embed = Effect.fnUntraced(function* (request: EmbedRequest) {
        const found = all.get(request.model)
        if (found === undefined)
          return yield* new EmbeddingUnavailable({
            message: `There is no embedded model \`${request.model}\`.`,
            reason: "not_installed"
          })
        const { inference, local } = found
        const lookup = new Lookup(request, local.model, cache)
        if (lookup.missing.length > 0) {
          const refusal = unavailable(local)
          if (refusal !== undefined) return yield* refusal
          lookup.learn(yield* asked(inference, request, lookup.missing), request, cache)
        }
        known += lookup.known
        return lookup.answer
      })
      const embedder = TextEmbedder.of({
        models: () => models.map(({ model }) => model),
        state: (name) => {
          const found = all.get(name)
          if (found === undefined) return "absent"
          const { state } = found.local.installed()
          if (state !== "installed") return state
          return found.inference.isLoading ? "loading" : "ready"
        },
        embed
      })
      const inferences = Array.from(all.values(), ({ inference }) => inference)
      const sum = (of: (inference: Inference) => number) => inferences.reduce((total, each) => total + of(each), 0)
      const figures = (): EmbedderFigures => ({
        texts: sum(({ texts }) => texts),
        known,
        seconds: sum(({ seconds }) => seconds),
        losses: sum(({ losses }) => losses),
        queriesWaiting: sum((inference) => inference.waiting("query")),
        documentsWaiting: sum((inference) => inference.waiting("document")),
        cacheBytes: cache.bytes,
        engine: inferences[0]?.engine
      })
      return Context.make(TextEmbedder, embedder).pipe(Context.add(CurrentEmbedderFigures, figures))
    })
  )
