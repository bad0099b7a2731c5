/** Messages between the front and the thread that runs the model. */
export interface MiniLmSettings {
  readonly kind: "minilm"
  /** Of the installed model. */ readonly folder: string
  /** The native runtime is not tried. */ readonly isPortable: boolean
}
/** A file of the operator's, run by what is installed. */
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
  /** Of all texts, one after the other; zeros for a text without a word. */ readonly vectors: Float32Array
  /** What the model read of each text. */ readonly tokens: Uint16Array
  /** In the model, without what others took meanwhile. */ readonly took_ms: number
}
export type FromThread =
  | { readonly kind: "loaded"; readonly engine: "native" | "portable"; readonly why: string | undefined }
  | EmbeddedMessage
  /** The texts of one message; the thread goes on. */
  | { readonly kind: "refused"; readonly id: number; readonly message: string }
  | { readonly kind: "failed"; readonly message: string }
