/** `dowser models`: the models that Dowser runs itself, installed, looked at and removed without a running program. */
import { Effect } from "effect"
import { MODEL_NAME } from "../ports/text-embedder/minilm/layout.ts"
import { install } from "../models/install/install.ts"
import {
  findInstalled,
  placesOf,
  readableByAll,
  removeInstalled,
  writablePlace,
  wrongFiles
} from "../models/install/places.ts"
import { allFiles, readPinned } from "../models/install/pinned.ts"
import { StartRefused } from "../runtime/data-folder.ts"

interface ModelFlags {
  readonly dataDir: string
  readonly modelsDir: string
}
const refused = (error: unknown) => new StartRefused(error instanceof Error ? error.message : String(error))
const say = (text: string) => process.stdout.write(`${text}\n`)

export const installModels = Effect.fn("cli.models.install")(function* ({
  dataDir,
  from,
  modelsDir
}: ModelFlags & { readonly from: string | undefined }) {
  const places = placesOf(dataDir, modelsDir)
  const pinned = readPinned()
  const found = findInstalled(places, pinned)
  if (found !== undefined) return say(`${MODEL_NAME} is installed in ${found}.`)
  readableByAll()
  let told = ""
  const folder = yield* Effect.tryPromise({
    try: () =>
      install({
        place: writablePlace(places),
        pinned,
        from,
        report: ({ step }) => {
          if (step !== told) process.stderr.write(`${(told = step)} ...\n`)
        }
      }),
    catch: refused
  })
  say(`${MODEL_NAME} is installed in ${folder}.`)
})

/** Reads all of it: a second. Ends with exit code 1 where it is not there or not what it was. */
export const modelsStatus = Effect.fn("cli.models.status")(function* ({
  dataDir,
  json,
  modelsDir
}: ModelFlags & { readonly json: boolean }) {
  const pinned = readPinned()
  const folder = findInstalled(placesOf(dataDir, modelsDir), pinned)
  const wrong = folder === undefined ? [] : yield* Effect.promise(() => wrongFiles(folder, pinned))
  const state = folder === undefined ? "absent" : wrong.length === 0 ? "installed" : "damaged"
  const bytes = allFiles(pinned).reduce((sum, file) => sum + file.bytes, 0)
  const packages = pinned.packages.map(({ name, version }) => `${name}@${version}`)
  if (json) say(JSON.stringify({ model: MODEL_NAME, state, folder, bytes, packages, wrong }))
  else if (folder === undefined) say(`${MODEL_NAME} is not installed. \`dowser models install\` does it.`)
  else {
    say(`${MODEL_NAME} is in ${folder} (${(bytes / 1_000_000).toFixed(0)} MB).`)
    say(wrong.length === 0 ? "Every file is as it was made." : `Other than they were made: ${wrong.join(", ")}.`)
    say(`Of ${packages.join(", ")}.`)
  }
  if (state === "damaged")
    return yield* Effect.fail(new StartRefused("`dowser models remove` and `dowser models install` make it anew."))
})

export const removeModels = Effect.fn("cli.models.remove")(function* ({ dataDir, modelsDir }: ModelFlags) {
  const removed = yield* Effect.try({ try: () => removeInstalled(placesOf(dataDir, modelsDir)), catch: refused })
  say(removed.length === 0 ? "No models are installed." : `Removed: ${removed.join(", ")}.`)
})
