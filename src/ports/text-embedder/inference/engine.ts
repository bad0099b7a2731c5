/** What a thread runs: it turns texts into tokens, and tokens into vectors. */
import type { ThreadSettings } from "./messages.ts"

interface Run {
  readonly texts: ReadonlyArray<string>
  /** Tokens of each text, at least one. */ readonly tokens: ReadonlyArray<ReadonlyArray<number>>
}
export interface InferenceEngine {
  readonly kind: "native" | "portable"
  /** Returns the vectors of a run, one after another. */ readonly run: (run: Run) => Promise<Float32Array>
  readonly close: () => Promise<void>
}
/** A text without a word has no tokens. */
export type Tokens = (text: string) => ReadonlyArray<number>
export interface Opened {
  readonly engine: InferenceEngine
  readonly tokens: Tokens
  readonly dimensions: number
  /** Why the native engine does not run, if it was tried. */ readonly why?: string | undefined
}
/** Opens the engine of one kind of model. */
export type Open<S extends ThreadSettings> = (settings: S) => Promise<Opened>

/** Pads the texts of a run to rows of the longest one's length; the mask marks what is text. */
export const rowsOf = (tokens: ReadonlyArray<ReadonlyArray<number>>, padding: number) => {
  const longest = tokens.reduce((most, { length }) => Math.max(most, length), 0)
  const ids = new BigInt64Array(tokens.length * longest).fill(BigInt(padding))
  const mask = new Int32Array(tokens.length * longest)
  for (const [text, own] of tokens.entries()) {
    for (const [at, id] of own.entries()) ids[text * longest + at] = BigInt(id)
    mask.fill(1, text * longest, text * longest + own.length)
  }
  return { ids, mask, longest }
}

interface OnnxTensor {
  readonly data: Float32Array
  readonly dims: ReadonlyArray<number>
}
export interface OnnxSession {
  readonly inputNames: ReadonlyArray<string>
  readonly outputNames: ReadonlyArray<string>
  readonly run: (inputs: Readonly<Record<string, OnnxTensor>>) => Promise<Readonly<Record<string, OnnxTensor>>>
  readonly release: () => Promise<void>
}
export interface OnnxRuntime {
  readonly Tensor: new (kind: string, data: BigInt64Array | Int32Array, shape: ReadonlyArray<number>) => OnnxTensor
  readonly InferenceSession: {
    readonly create: (model: string | Uint8Array, options: Readonly<Record<string, unknown>>) => Promise<OnnxSession>
  }
}
const QUIET = 3
/** No memory arena and no plan for each shape: texts come in all lengths, and each length would keep its own blocks. */
export const SESSION = {
  intraOpNumThreads: 1,
  interOpNumThreads: 1,
  executionMode: "sequential",
  enableCpuMemArena: false,
  enableMemPattern: false,
  logSeverityLevel: QUIET
} as const
