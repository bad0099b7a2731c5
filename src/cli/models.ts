/** `dowser models`: installs, inspects and removes the models that Dowser runs itself, without a running program. */
import { Effect } from "effect"
import { MODEL_NAME } from "../ports/text-embedder/minilm/layout.ts"
import {
  SPEECH_NAME,
  TRANSCRIBER_SIZES,
  type TranscriberSize,
  transcriberName
} from "../ports/transcriber/moonshine/layout.ts"
import { install } from "../models/install/install.ts"
import {
  findInstalled,
  placesOf,
  readableByAll,
  removeInstalled,
  writablePlace,
  wrongFiles
} from "../models/install/places.ts"
import { allFiles, type Pinned, readPinned, readPinnedSpeech, readPinnedTranscriber } from "../models/install/pinned.ts"
import { StartRefused } from "../runtime/data-folder.ts"

interface ModelFlags {
  readonly dataDir: string
  readonly modelsDir: string
}
const refused = (error: unknown) => new StartRefused(error instanceof Error ? error.message : String(error))
const print = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

const installOne = Effect.fnUntraced(function* (
  name: string,
  pinned: Pinned,
  places: ReadonlyArray<string>,
  from: string | undefined
) {
  const found = findInstalled(places, pinned)
  if (found !== undefined) return print(`${name} is installed in ${found}.`)
  readableByAll()
  let shownStep = ""
  const folder = yield* Effect.tryPromise({
    try: () =>
      install({
        place: writablePlace(places),
        pinned,
        from,
        report: ({ step }) => {
          if (step !== shownStep) process.stderr.write(`${(shownStep = step)} ...\n`)
        }
      }),
    catch: refused
  })
  print(`${name} is installed in ${folder}.`)
})

/** Installs the embedder, which includes the runtime of every model, and the requested transcriber. */
export const installModels = Effect.fn("cli.models.install")(function* ({
  dataDir,
  from,
  modelsDir,
  voice
}: ModelFlags & { readonly from: string | undefined; readonly voice: TranscriberSize | undefined }) {
  const places = placesOf(dataDir, modelsDir)
  yield* installOne(MODEL_NAME, readPinned(), places, from)
  if (voice === undefined) return
  // The transcriber is last, because a running program starts to use it as soon as it appears.
  yield* installOne(SPEECH_NAME, readPinnedSpeech(), places, from)
  yield* installOne(transcriberName(voice), readPinnedTranscriber(voice), places, from)
})

const stateOf = Effect.fnUntraced(function* (model: string, pinned: Pinned, places: ReadonlyArray<string>) {
  const folder = findInstalled(places, pinned)
  const wrong = folder === undefined ? [] : yield* Effect.promise(() => wrongFiles(folder, pinned))
  return {
    model,
    state: folder === undefined ? "absent" : wrong.length === 0 ? "installed" : "damaged",
    folder,
    bytes: allFiles(pinned).reduce((sum, file) => sum + file.bytes, 0),
    packages: pinned.packages.map(({ name, version }) => `${name}@${version}`),
    wrong
  }
})
type State = Effect.Success<ReturnType<typeof stateOf>>
const printState = ({ bytes, folder, model, packages, wrong }: State, command: string): void => {
  if (folder === undefined) return print(`${model} is not installed. \`${command}\` does it.`)
  print(`${model} is in ${folder} (${(bytes / 1_000_000).toFixed(0)} MB).`)
  print(wrong.length === 0 ? "Every file is as it was made." : `Other than they were made: ${wrong.join(", ")}.`)
  print(`Of ${packages.join(", ")}.`)
}

/** Reads all files, which takes a second. Exits with 1 if any has changed. */
export const modelsStatus = Effect.fn("cli.models.status")(function* ({
  dataDir,
  json,
  modelsDir
}: ModelFlags & { readonly json: boolean }) {
  const places = placesOf(dataDir, modelsDir)
  const embedder = yield* stateOf(MODEL_NAME, readPinned(), places)
  const transcribers = yield* Effect.forEach(TRANSCRIBER_SIZES, (size) =>
    stateOf(transcriberName(size), readPinnedTranscriber(size), places)
  )
  const speech = yield* stateOf(SPEECH_NAME, readPinnedSpeech(), places)
  if (json) print(JSON.stringify({ ...embedder, transcribers, speech }))
  else {
    printState(embedder, "dowser models install")
    for (const [i, state] of transcribers.entries())
      printState(state, `dowser models install --voice ${TRANSCRIBER_SIZES[i]}`)
    printState(speech, `dowser models install --voice ${TRANSCRIBER_SIZES[0]}`)
  }
  if ([embedder, ...transcribers, speech].some(({ state }) => state === "damaged"))
    return yield* Effect.fail(new StartRefused("`dowser models remove` and `dowser models install` make it anew."))
})

export const removeModels = Effect.fn("cli.models.remove")(function* ({ dataDir, modelsDir }: ModelFlags) {
  const removed = yield* Effect.try({ try: () => removeInstalled(placesOf(dataDir, modelsDir)), catch: refused })
  print(removed.length === 0 ? "No models are installed." : `Removed: ${removed.join(", ")}.`)
})
