/**
 * Moonshine run by hand: one pass of the encoder over the sound, then the decoder token by token, each time the most
 * likely, until it ends by itself or has produced as much as anybody can say in the time. The attention's keys and
 * values are fed back into the decoder, so a token costs the same at every position.
 */
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { SESSION } from "../../text-embedder/inference/engine.ts"
import { requireFrom } from "../../text-embedder/minilm/layout.ts"
import type { SpokenWord } from "../transcriber.ts"
import { shapeOf, type TranscriberSize } from "./layout.ts"
import { wordsOfTokens } from "./words.ts"

const BEGIN = 1,
  END = 2
/** Of speech; more a second is a model that repeats itself. */
const TOKENS_PER_SECOND = 6.5
const TOKENS_LEAST = 6

/** A token is a hundred small steps: memory that is kept between them makes it twice as fast, for 80 MB. */
const KEEPING = { ...SESSION, enableCpuMemArena: true } as const

interface Tensor {
  readonly data: Float32Array
  readonly dispose?: () => void
}
type Tensors = Readonly<Record<string, Tensor>>
interface Session {
  readonly run: (inputs: Tensors) => Promise<Tensors>
}
interface Runtime {
  readonly Tensor: new (
    kind: string,
    data: Float32Array | BigInt64Array | ReadonlyArray<boolean>,
    shape: ReadonlyArray<number>
  ) => Tensor
  readonly InferenceSession: {
    readonly create: (path: string, options: Readonly<Record<string, unknown>>) => Promise<Session>
  }
}
interface Tokenizer {
  readonly vocabById: ReadonlyArray<string>
}
/** The likeliest, and how likely it is among all. */
const best = (logits: Float32Array): { readonly token: number; readonly score: number } => {
  let token = 0
  for (let i = 1; i < logits.length; i++) if (logits[i]! > logits[token]!) token = i
  const most = logits[token]!
  let sum = 0
  for (const value of logits) sum += Math.exp(value - most)
  return { token, score: 1 / sum }
}

interface Moonshine {
  /** Of one channel at 16,000 a second. */
  readonly words: (samples: Float32Array) => Promise<ReadonlyArray<SpokenWord>>
}

export const openMoonshine = async (size: TranscriberSize, folder: string, runtime: string): Promise<Moonshine> => {
  const { decoder: decoderPath, encoder: encoderPath, headSize, heads, layers, tokens } = shapeOf(size)
  const onnx = requireFrom(runtime)("onnxruntime-node") as Runtime
  const encoder = await onnx.InferenceSession.create(join(folder, encoderPath), KEEPING)
  const decoder = await onnx.InferenceSession.create(join(folder, decoderPath), KEEPING)
  const { default: tokenizer } = (await import(pathToFileURL(join(folder, tokens)).href)) as {
    readonly default: Tokenizer
  }
  const nothing = new Float32Array()
  const isOn = new onnx.Tensor("bool", [true], [1]),
    isOff = new onnx.Tensor("bool", [false], [1])
  const empty = (): Record<string, Tensor> => {
    const past: Record<string, Tensor> = {}
    for (let layer = 0; layer < layers; layer++)
      for (const side of ["decoder", "encoder"])
        for (const part of ["key", "value"])
          past[`past_key_values.${layer}.${side}.${part}`] = new onnx.Tensor("float32", nothing, [
            0,
            heads,
            1,
            headSize
          ])
    return past
  }
  const words: Moonshine["words"] = async (samples) => {
    const { last_hidden_state: heard } = await encoder.run({
      input_values: new onnx.Tensor("float32", samples, [1, samples.length])
    })
    if (heard === undefined) throw new Error("The model's encoder answered something else.")
    const past = empty()
    const said: Array<{ readonly token: number; readonly score: number }> = []
    const most = Math.max(TOKENS_LEAST, Math.ceil((samples.length / 16_000) * TOKENS_PER_SECOND))
    let token = BEGIN
    for (let step = 0; step < most; step++) {
      const answer = await decoder.run({
        input_ids: new onnx.Tensor("int64", BigInt64Array.of(BigInt(token)), [1, 1]),
        encoder_hidden_states: heard,
        use_cache_branch: step === 0 ? isOff : isOn,
        ...past
      })
      const next = best(answer.logits!.data)
      if (next.token === END) break
      said.push(next)
      token = next.token
      // What was made of the sound is made once; later answers hold nothing there.
      for (const [name, value] of Object.entries(answer))
        if (name.startsWith("present") && (step === 0 || name.includes("decoder")))
          past[name.replace("present", "past_key_values")] = value
    }
    return wordsOfTokens(said.map((each) => ({ piece: tokenizer.vocabById[each.token] ?? "", score: each.score })))
  }
  return { words }
}
