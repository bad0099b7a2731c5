/**
 * The runtime of the model: the native one over the byte-quantized graph, or, if that cannot be loaded (an unknown
 * processor, another C library), the weights in WebAssembly, fifteen times slower and equal to three digits.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { type InferenceEngine, type OnnxRuntime, type Open, rowsOf, SESSION } from "../inference/engine.ts"
import type { MiniLmSettings } from "../inference/messages.ts"
import { HIDDEN, TOKENS_MAX } from "./graph.ts"
import { LAYOUT, requireFrom } from "./layout.ts"
import { loadTokens } from "./tokens.ts"

const PADDING = 0

export const openNative = async (folder: string, graph = join(folder, LAYOUT.graph)): Promise<InferenceEngine> => {
  const { InferenceSession, Tensor } = requireFrom(folder)("onnxruntime-node") as OnnxRuntime
  const session = await InferenceSession.create(graph, SESSION)
  return {
    kind: "native",
    run: async ({ tokens }) => {
      const { ids, longest, mask } = rowsOf(tokens, PADDING)
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

export const openMiniLm: Open<MiniLmSettings> = async ({ folder, isPortable }) => {
  const tokens = loadTokens(folder)
  let why: string | undefined
  const engine = isPortable
    ? openPortable(folder)
    : await openNative(folder).catch((error: unknown) => {
        why = error instanceof Error ? error.message : String(error)
        return openPortable(folder)
      })
  return { engine, tokens, dimensions: HIDDEN, why }
}
