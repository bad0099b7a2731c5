/** English text as phonemes (eSpeak NG in WebAssembly, from a pinned package), for voices that read them. */
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { install } from "../../../src/models/install/install.ts"
import type { Pinned } from "../../../src/models/install/pinned.ts"

const FILE = "node_modules/phonemizer/dist/phonemizer.js"
const pinned: Pinned = {
  id: "193481f474f7c1ea",
  packages: [
    {
      name: "phonemizer",
      version: "1.2.1",
      integrity: "sha512-v0KJ4mi2T4Q7eJQ0W15Xd4G9k4kICSXE8bpDeJ8jisL4RyJhNWsweKTOi88QXFc4r4LZlz5jVL5lCHhkpdT71A==",
      files: [
        {
          path: FILE,
          sha256: "193481f474f7c1ea81df3195d18b45df8ef7254dbdccb3f193d60215c4897bec",
          bytes: 1_322_380
        },
        {
          path: "node_modules/phonemizer/package.json",
          sha256: "997824e7b16a1d30b000256146f4d8251eb1348823640bfa251b56ef5678a060",
          bytes: 1_256
        }
      ]
    }
  ]
}
/** Clauses are separated by commas, where a voice pauses for breath. */
export type Phonemes = (text: string, accent: "en-us" | "en-gb") => Promise<string>

export const openPhonemes = async (place: string): Promise<Phonemes> => {
  const folder = await install({ place, pinned, report: () => {} })
  const { phonemize } = (await import(pathToFileURL(join(folder, FILE)).href)) as {
    readonly phonemize: (text: string, accent: string) => Promise<ReadonlyArray<string>>
  }
  return async (text, accent) => (await phonemize(text, accent)).join(", ")
}
