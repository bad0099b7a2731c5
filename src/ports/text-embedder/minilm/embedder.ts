/**
 * The embedded text embedder: MiniLM in a thread of this program. Here texts are made equal to what the model may see,
 * each looked for among those that are known, and the rest is asked for (`inference.ts`).
 */
import { Clock, Context, Effect, Layer } from "effect"
import {
  type Embedded,
  type EmbeddingModel,
  EmbeddingUnavailable,
  type EmbedRequest,
  TextEmbedder
} from "../text-embedder.ts"
import { HIDDEN } from "./graph.ts"
import { Inference } from "./inference.ts"
import { InferenceThread } from "./inference-thread.ts"
import { MODEL_NAME, WEIGHTS_SHA256 } from "./layout.ts"
import { type Known, VectorCache } from "./vector-cache.ts"

const miniLm: EmbeddingModel = {
  name: MODEL_NAME,
  dimensions: HIDDEN,
  embedded: true,
  languages: ["en"],
  charactersMax: 8_192,
  hash: WEIGHTS_SHA256
}

/** Where the model is, said by who installs it. */
export type InstalledModel =
  | { readonly state: "absent"; readonly message: string }
  | { readonly state: "installing"; readonly retry_after_s: number }
  | { readonly state: "installed"; readonly folder: string }

export interface EmbedderOptions {
  readonly installed: () => InstalledModel
  readonly idle_ms?: number
  readonly cacheBytes_max?: number
  /** The native runtime is not tried. */ readonly isPortable?: boolean
  /** Another entry of the thread, for tests. */ readonly entry?: URL
}

/** What operators watch of it. */
export interface EmbedderFigures {
  /** Given to the model. */ readonly texts: number
  /** Found among those that were known. */ readonly known: number
  readonly seconds: number
  readonly losses: number
  readonly queriesWaiting: number
  readonly documentsWaiting: number
  readonly cacheBytes: number
  readonly engine: "native" | "portable" | undefined
}
/** undefined: this process has none. */
export const CurrentEmbedderFigures = Context.Reference<() => EmbedderFigures | undefined>(
  "dowser/ports/CurrentEmbedderFigures",
  {
    defaultValue: () => () => undefined
  }
)

const IDLE_MS = 10 * 60_000
const CACHE_BYTES = 24_000_000
const WORD = /[^\s\p{C}]/u
const NOTHING: Known = { vector: new Float32Array(HIDDEN), tokens: 0 }

const unavailable = (installed: InstalledModel): EmbeddingUnavailable | undefined => {
  if (installed.state === "installed") return undefined
  if (installed.state === "absent")
    return new EmbeddingUnavailable({ message: installed.message, reason: "not_installed" })
  const { retry_after_s } = installed
  return new EmbeddingUnavailable({ message: `${MODEL_NAME} is being installed.`, reason: "installing", retry_after_s })
}

/** What is known of each text of a request, and which have to be asked for. */
class Lookup {
  readonly #texts: ReadonlyArray<string>
  readonly #byText = new Map<string, Known | undefined>()
  readonly #keys = new Map<string, string>()
  readonly missing: ReadonlyArray<string>
  /** Of different texts. */ readonly known: number

  constructor(request: EmbedRequest, cache: VectorCache) {
    this.#texts = request.texts.map((text) => text.slice(0, miniLm.charactersMax).toWellFormed())
    const missing: Array<string> = []
    for (const text of this.#texts) {
      if (this.#byText.has(text)) continue
      const key = cache.keyOf(request, text)
      const known = WORD.test(text) ? cache.get(key) : NOTHING
      this.#byText.set(text, known)
      this.#keys.set(text, key)
      if (known === undefined) missing.push(text)
    }
    this.missing = missing
    this.known = this.#byText.size - missing.length
  }
  learn(found: ReadonlyArray<Known>, request: EmbedRequest, cache: VectorCache): void {
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

const makeInference = Effect.fnUntraced(function* ({
  entry,
  idle_ms = IDLE_MS,
  installed,
  isPortable = false
}: EmbedderOptions) {
  const services = yield* Effect.context<never>()
  const clock = yield* Clock.Clock
  const log = (line: Effect.Effect<void>) => Effect.runSyncWith(services)(line)
  const inference = yield* Effect.acquireRelease(
    Effect.sync(
      () =>
        new Inference({
          now: () => clock.currentTimeMillisUnsafe(),
          open: () => {
            const found = installed()
            return found.state === "installed"
              ? new InferenceThread({ folder: found.folder, isPortable }, entry)
              : undefined
          },
          onLoaded: ({ engine, why }) =>
            log(
              why === undefined
                ? Effect.logInfo(`${MODEL_NAME} is loaded (${engine})`)
                : Effect.logWarning(`${MODEL_NAME} runs in WebAssembly, fifteen times slower: ${why}`)
            ),
          onLost: (message) => log(Effect.logError(`The thread of ${MODEL_NAME} was lost: ${message}`))
        })
    ),
    (opened) => Effect.promise(() => opened.close())
  )
  const look = Effect.promise(() => inference.closeIdle(idle_ms))
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(idle_ms / 4), look)))
  return inference
})

export const layerMiniLm = (options: EmbedderOptions): Layer.Layer<TextEmbedder> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const inference = yield* makeInference(options)
      const cache = new VectorCache(options.cacheBytes_max ?? CACHE_BYTES)
      let known = 0
      const ask = (request: EmbedRequest, texts: ReadonlyArray<string>) =>
        Effect.callback<ReadonlyArray<Known>, EmbeddingUnavailable>((resume) => {
          const cancel = inference.ask(
            { ...request, texts },
            {
              resolve: (found) => resume(Effect.succeed(found)),
              reject: (error) => resume(Effect.fail(error))
            }
          )
          return Effect.sync(cancel)
        })
      const embed = Effect.fnUntraced(function* (request: EmbedRequest) {
        if (request.model !== MODEL_NAME)
          return yield* new EmbeddingUnavailable({
            message: `There is no embedded model \`${request.model}\`.`,
            reason: "not_installed"
          })
        const lookup = new Lookup(request, cache)
        if (lookup.missing.length > 0) {
          const refusal = unavailable(options.installed())
          if (refusal !== undefined) return yield* refusal
          const found = yield* ask(request, lookup.missing)
          lookup.learn(found, request, cache)
        }
        known += lookup.known
        return lookup.answer
      })
      const embedder = TextEmbedder.of({
        models: () => [miniLm],
        state: (name) => {
          if (name !== MODEL_NAME) return "absent"
          const { state } = options.installed()
          if (state !== "installed") return state
          return inference.isLoading ? "loading" : "ready"
        },
        embed
      })
      const figures = (): EmbedderFigures => ({
        texts: inference.texts,
        known,
        seconds: inference.seconds,
        losses: inference.losses,
        queriesWaiting: inference.waiting("query"),
        documentsWaiting: inference.waiting("document"),
        cacheBytes: cache.bytes,
        engine: inference.engine
      })
      return Context.make(TextEmbedder, embedder).pipe(Context.add(CurrentEmbedderFigures, figures))
    })
  )
