/** Messages between the front and the thread that runs the model. */
export interface MiniLmSettings {
  readonly kind: "minilm"
  /** Folder of the installed model. */ readonly folder: string
  /** Skips the native runtime. */ readonly isPortable: boolean
}
/** A model file of the operator, run by the installed runtime. */
export interface OperatorSettings {
  readonly kind: "operator"
  readonly folder: string
  readonly model: HashedFile
  readonly tokenizer: HashedFile
  readonly dimensions: number
  readonly tokensMax: number
  readonly pooling: Pooling
}
export interface HashedFile {
  readonly path: string
  /** Hexadecimal. */ readonly sha256: string
}
/** How a text's vector is derived from those of its tokens; `none` if the model returns one per text. */
export type Pooling = "mean" | "first" | "none"
export type ThreadSettings = MiniLmSettings | OperatorSettings
export interface EmbedMessage {
  readonly kind: "embed"
  readonly id: number
  readonly isQuery: boolean
  readonly texts: ReadonlyArray<string>
}
export type ToThread = EmbedMessage | { readonly kind: "stop" }

interface EmbeddedMessage {
  readonly kind: "embedded"
  readonly id: number
  /** Vectors of all texts, one after another; zeros for a text without a word. */ readonly vectors: Float32Array
  /** Number of tokens that the model read of each text. */ readonly tokens: Uint16Array
  /** Time in the model, excluding other work done meanwhile. */ readonly took_ms: number
}
export type FromThread =
  | { readonly kind: "loaded"; readonly engine: "native" | "portable"; readonly why: string | undefined }
  | EmbeddedMessage
  /** The texts of one message are refused; the thread continues. */
  | { readonly kind: "refused"; readonly id: number; readonly message: string }
  | { readonly kind: "failed"; readonly message: string }
