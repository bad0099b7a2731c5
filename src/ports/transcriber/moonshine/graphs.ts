/**
 * Runs Moonshine's two graphs: one pass of the encoder over the audio, then the decoder token by token, for one or
 * several continuations. The attention cache (keys and values) is fed back into the decoder, so every token costs the
 * same; the cache of the audio is shared by all continuations.
 */
import { join } from "node:path"
import { SESSION } from "../../text-embedder/inference/engine.ts"
import { requireFrom } from "../../text-embedder/minilm/layout.ts"
import { shapeOf, type TranscriberSize } from "./layout.ts"

/** A token takes a hundred small steps: memory that is kept between them makes it twice as fast, for 80 MB. */
const KEEPING = { ...SESSION, enableCpuMemArena: true } as const
export const BEGIN = 1,
  END = 2

interface Tensor {
  readonly data: Float32Array
  readonly dims: ReadonlyArray<number>
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

/** The decoder's cache of the tokens decoded so far, for each continuation. */
export interface Remembered {
  /** Output of the encoder. */ readonly sound: Tensor
  readonly past: Tensors
  /** The entire vocabulary of each continuation, one after another. */ readonly logits: Float32Array
}
export interface Graphs {
  /** Samples of one channel at 16,000 a second. */ readonly encode: (samples: Float32Array) => Promise<Tensor>
  readonly begin: (sound: Tensor) => Promise<Remembered>
  /** `from`: the previous continuation that each new one extends; `tokens`: the token appended to each. */
  readonly next: (before: Remembered, from: ReadonlyArray<number>, tokens: ReadonlyArray<number>) => Promise<Remembered>
}

export const openGraphs = async (size: TranscriberSize, folder: string, runtime: string): Promise<Graphs> => {
  const { decoder: decoderPath, encoder: encoderPath, headSize, heads, layers } = shapeOf(size)
  const onnx = requireFrom(runtime)("onnxruntime-node") as Runtime
  const encoder = await onnx.InferenceSession.create(join(folder, encoderPath), KEEPING)
  const decoder = await onnx.InferenceSession.create(join(folder, decoderPath), KEEPING)
  const isOn = new onnx.Tensor("bool", [true], [1]),
    isOff = new onnx.Tensor("bool", [false], [1])
  const empty = new onnx.Tensor("float32", new Float32Array(), [0, heads, 1, headSize])
  const nothing = Object.fromEntries(
    Array.from({ length: layers }, (_, layer) =>
      ["decoder", "encoder"].flatMap((side) =>
        ["key", "value"].map((part) => [`past_key_values.${layer}.${side}.${part}`, empty] as const)
      )
    ).flat()
  )
  /** Rows of a tensor, reordered or repeated. */
  const rows = (tensor: Tensor, from: ReadonlyArray<number>): Tensor => {
    const [count = 0, ...shape] = tensor.dims
    if (count === from.length && from.every((row, at) => row === at)) return tensor
    const length = tensor.data.length / count
    const data = new Float32Array(length * from.length)
    for (const [at, row] of from.entries())
      data.set(tensor.data.subarray(row * length, (row + 1) * length), at * length)
    return new onnx.Tensor("float32", data, [from.length, ...shape])
  }
  const inputs = (tokens: ReadonlyArray<number>) =>
    new onnx.Tensor("int64", BigInt64Array.from(tokens, BigInt), [tokens.length, 1])
  const remembered = (answer: Tensors, past: Tensors, sound: Tensor, isFirst: boolean): Remembered => {
    const kept = new Map(Object.entries(past))
    // The cache of the audio is computed once; in later answers it is empty.
    for (const [name, value] of Object.entries(answer))
      if (name.startsWith("present") && (isFirst || name.includes("decoder")))
        kept.set(name.replace("present", "past_key_values"), value)
    return { sound, past: Object.fromEntries(kept), logits: answer.logits!.data }
  }
  return {
    encode: async (samples) => {
      const { last_hidden_state } = await encoder.run({
        input_values: new onnx.Tensor("float32", samples, [1, samples.length])
      })
      if (last_hidden_state === undefined) throw new Error("The model's encoder answered something else.")
      return last_hidden_state
    },
    begin: async (sound) => {
      const asked = { input_ids: inputs([BEGIN]), encoder_hidden_states: sound, use_cache_branch: isOff, ...nothing }
      return remembered(await decoder.run(asked), nothing, sound, true)
    },
    next: async ({ past: all, sound }, from, tokens) => {
      // The cache of the audio is the same for all continuations, so only a change of their number needs a copy.
      const same = from.map(() => 0)
      const past = Object.fromEntries(
        Object.entries(all).map(([name, each]) => {
          if (!name.includes("encoder")) return [name, rows(each, from)]
          return [name, each.dims[0] === from.length ? each : rows(each, same)]
        })
      )
      const asked = { input_ids: inputs(tokens), encoder_hidden_states: sound, use_cache_branch: isOn, ...past }
      return remembered(await decoder.run(asked), past, sound, false)
    }
  }
}
