/**
 * The models that this program runs itself: whether they are installed, and their installation while serving, in a
 * process that ends with this one. A failure is reported once, with the remedy; the program continues without models.
 */
import { Clock, Context, Effect, Layer, type Scope } from "effect"
import type { InstalledModel } from "../ports/text-embedder/inference/local-embedder.ts"
import { TRANSCRIBER_SIZES, transcriberName } from "../ports/transcriber/moonshine/layout.ts"
import type { InstalledTranscriber } from "../ports/transcriber/local/local-transcriber.ts"
import { MODEL_NAME } from "../ports/text-embedder/minilm/layout.ts"
import { type Installer, startInstaller } from "./install/installer.ts"
import { findInstalled } from "./install/places.ts"
import { type Pinned, readPinned, readPinnedSpeech, readPinnedTranscriber } from "./install/pinned.ts"

/** How long until a missing installation is checked again: a command or another process may have installed it. */
const LOOK_AGAIN_MS = 5_000
/** `Retry-After` for callers while models are being installed. */
const RETRY_AFTER_S = 15
const wayOut =
  "`npm run dowser -- models install` installs it, with `--from FOLDER` from tarballs on a machine without a registry"

export class Models extends Context.Service<
  Models,
  {
    /** From memory; checked against file sizes every five seconds. */ readonly installed: () => InstalledModel
    /** The best one that was requested (`dowser models install --voice`); none is installed automatically. */
    readonly transcriber: () => InstalledTranscriber
    /** One line for the operator. */ readonly detail: () => string
    /** Installs what is missing, in the background until the scope ends. Does nothing if installed or in progress. */
    readonly installInBackground: Effect.Effect<void, never, Scope.Scope>
  }
>()("dowser/Models") {
  /** `start` starts the installing process; tests use another. */
  static readonly layer = (places: ReadonlyArray<string>, start = startInstaller): Layer.Layer<Models> =>
    Layer.effect(
      Models,
      Effect.map(Clock.Clock, (clock) => {
        const look = new Look(places, clock)
        return makeModels(look, makeTranscriber(look, places, clock), places, start)
      })
    )
}

/** Where the installation is, checked again from time to time. */
class Look {
  readonly #places: ReadonlyArray<string>
  readonly #clock: Clock.Clock
  readonly #read: () => Pinned
  #pinned: Pinned | undefined
  #lookedAt = -Infinity
  #folder: string | undefined

  constructor(places: ReadonlyArray<string>, clock: Clock.Clock, pinned: () => Pinned = readPinned) {
    this.#places = places
    this.#clock = clock
    this.#read = pinned
  }
  get folder(): string | undefined {
    const now = this.#clock.currentTimeMillisUnsafe()
    if (now - this.#lookedAt < LOOK_AGAIN_MS) return this.#folder
    this.#lookedAt = now
    this.#pinned ??= this.#read()
    this.#folder = findInstalled(this.#places, this.#pinned)
    return this.#folder
  }
  again(): void {
    this.#lookedAt = -Infinity
  }
}

/** The larger one is more accurate, so it is preferred if both are installed. */
const makeTranscriber = (runtime: Look, places: ReadonlyArray<string>, clock: Clock.Clock) => {
  const looks = TRANSCRIBER_SIZES.map(
    (size) => [size, new Look(places, clock, () => readPinnedTranscriber(size))] as const
  )
  const speech = new Look(places, clock, readPinnedSpeech)
  return (): InstalledTranscriber => {
    for (const [size, look] of looks) {
      const { folder } = look
      if (folder === undefined) continue
      if (runtime.folder !== undefined)
        return { state: "installed", size, folder, speech: speech.folder, runtime: runtime.folder }
      return { state: "absent", message: `${transcriberName(size)} is installed, but its runtime is not` }
    }
    return { state: "absent", message: "No transcriber is installed" }
  }
}

type Going =
  | { readonly kind: "idle" }
  | { readonly kind: "installing"; readonly step: string; readonly done: number }
  | { readonly kind: "failed"; readonly message: string }

const makeModels = (
  look: Look,
  transcriber: () => InstalledTranscriber,
  places: ReadonlyArray<string>,
  start: typeof startInstaller
) => {
  let going: Going = { kind: "idle" }
  let loggedTenth = -1
  const installed = (): InstalledModel => {
    const folder = look.folder
    if (folder !== undefined) return { state: "installed", folder }
    if (going.kind === "installing") return { state: "installing", retry_after_s: RETRY_AFTER_S }
    const why = going.kind === "failed" ? `could not be installed: ${going.message}` : "is not installed"
    return { state: "absent", message: `${MODEL_NAME} ${why}; ${wayOut}.` }
  }
  const progressed = (installer: Installer): Effect.Effect<void> =>
    Effect.suspend(() => {
      going = { kind: "installing", ...installer.progress() }
      const tenth = Math.floor(going.done * 10)
      if (tenth <= loggedTenth) return Effect.void
      loggedTenth = tenth
      return Effect.logInfo(`Models are being installed, ${tenth * 10} %: ${going.step}`)
    })
  const run = Effect.gen(function* () {
    const installer = yield* Effect.acquireRelease(
      Effect.sync(() => start(places)),
      (started) => Effect.sync(started.stop)
    )
    const watching = Effect.forever(Effect.andThen(progressed(installer), Effect.sleep(500)))
    const ended = yield* Effect.raceFirst(
      Effect.promise(() => installer.ended),
      watching
    )
    look.again()
    if (ended === undefined) {
      going = { kind: "idle" }
      return yield* Effect.logInfo(`Models are installed: ${MODEL_NAME}`)
    }
    going = { kind: "failed", message: ended }
    yield* Effect.logWarning(
      `Models could not be installed, and the program continues without them: ${ended}; ${wayOut}.`
    )
  })
  return Models.of({
    installed,
    transcriber,
    detail: () => {
      const found = installed()
      if (found.state === "installed") return `${MODEL_NAME} is installed`
      if (found.state === "absent") return found.message
      return going.kind === "installing"
        ? `${MODEL_NAME} is being installed, ${Math.floor(going.done * 100)} %: ${going.step}`
        : `${MODEL_NAME} is being installed`
    },
    installInBackground: Effect.suspend(() => {
      if (look.folder !== undefined || going.kind === "installing") return Effect.void
      going = { kind: "installing", step: "beginning", done: 0 }
      return Effect.asVoid(Effect.forkScoped(Effect.scoped(run)))
    })
  })
}
