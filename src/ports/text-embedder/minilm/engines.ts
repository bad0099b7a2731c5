/**
 * What runs the model: the native runtime over the graph of bytes, or where that cannot be loaded (an unknown
 * processor, another C library), the weights in WebAssembly, fifteen times slower and alike to the third digit.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { HIDDEN, TOKENS_MAX } from "./graph.ts"
import { LAYOUT, requireFrom } from "./layout.ts"

interface Run {
  readonly texts: ReadonlyArray<string>
  /** Of each text, at least one. */ readonly tokens: ReadonlyArray<ReadonlyArray<number>>
}
export interface InferenceEngine {
  readonly kind: "native" | "portable"
  /** The vectors of a run, one after the other. */ readonly run: (run: Run) => Promise<Float32Array>
  readonly close: () => Promise<void>
}

interface OnnxTensor {
  readonly data: Float32Array
}
interface OnnxRuntime {
  readonly Tensor: new (kind: string, data: BigInt64Array | Int32Array, shape: ReadonlyArray<number>) => OnnxTensor
  readonly InferenceSession: {
    readonly create: (path: string, options: Readonly<Record<string, unknown>>) => Promise<OnnxSession>
  }
}
interface OnnxSession {
  readonly run: (inputs: Readonly<Record<string, OnnxTensor>>) => Promise<Readonly<Record<string, OnnxTensor>>>
  readonly release: () => Promise<void>
}
const QUIET = 3
/** No arena and no plan by shape: texts come in all lengths, and each would keep its own blocks. */
const SESSION = {
  intraOpNumThreads: 1,
  interOpNumThreads: 1,
  executionMode: "sequential",
  enableCpuMemArena: false,
  enableMemPattern: false,
  logSeverityLevel: QUIET
} as const

export const openNative = async (folder: string, graph = join(folder, LAYOUT.graph)): Promise<InferenceEngine> => {
  const { InferenceSession, Tensor } = requireFrom(folder)("onnxruntime-node") as OnnxRuntime
  const session = await InferenceSession.create(graph, SESSION)
  return {
    kind: "native",
    run: async ({ tokens }) => {
      const longest = tokens.reduce((most, { length }) => Math.max(most, length), 0)
      const ids = new BigInt64Array(tokens.length * longest)
      const mask = new Int32Array(tokens.length * longest)
      for (const [text, own] of tokens.entries()) {
        for (const [at, id] of own.entries()) ids[text * longest + at] = BigInt(id)
        mask.fill(1, text * longest, text * longest + own.length)
      }
      const shape = [tokens.length, longest]
      const { vectors } = await session.run({
        ids: new Tensor("int64", ids, shape),
        mask: new Tensor("int32", mask, shape)
      })
      if (vectors?.data.length !== tokens.length * HIDDEN) throw new Error("The model's answer has another size.")
      return vectors.data
    },
    close: () => session.release()
  }
}

interface Portable {
  readonly Embedder: new (
    weights: Uint8Array,
    tokenizer: Uint8Array,
    configuration: Uint8Array,
    tokensMax: number
  ) => { readonly embed: (texts: ReadonlyArray<string>) => ReadonlyArray<ArrayLike<number>> }
}
export const openPortable = (folder: string): InferenceEngine => {
  const { Embedder } = requireFrom(folder)(join(folder, LAYOUT.portable)) as Portable
  const read = (name: string) => new Uint8Array(readFileSync(join(folder, name)))
  const embedder = new Embedder(read(LAYOUT.weights), read(LAYOUT.tokenizer), read(LAYOUT.configuration), TOKENS_MAX)
  return {
    kind: "portable",
    run: async ({ texts }) => {
      const vectors = new Float32Array(texts.length * HIDDEN)
      for (const [at, vector] of embedder.embed(texts).entries()) vectors.set(vector, at * HIDDEN)
      return vectors
    },
    close: async () => {}
  }
}
