/** The runtime for the graphs of voices: that of the program's own installed models, on one thread. */
import { requireFrom } from "../../../src/ports/text-embedder/minilm/layout.ts"

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
/** `runtime` is the folder of an installation. */
export const openOnnx = (runtime: string) => {
  const onnx = requireFrom(runtime)("onnxruntime-node") as Runtime
  return {
    open: (path: string) => onnx.InferenceSession.create(path, { intraOpNumThreads: 1, interOpNumThreads: 1 }),
    whole: (numbers: ReadonlyArray<number>, shape: ReadonlyArray<number> = [1, numbers.length]) =>
      new onnx.Tensor("int64", BigInt64Array.from(numbers, BigInt), shape),
    real: (numbers: Float32Array, shape: ReadonlyArray<number>) => new onnx.Tensor("float32", numbers, shape)
  }
}
export type Onnx = ReturnType<typeof openOnnx>
