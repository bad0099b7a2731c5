/**
 * What makes vectors of texts and images, as the engine's host gives it. The engine itself knows no model: fields with
 * `embed` (`docs/contract/collections.md#embedding-fields`) get their vectors in front of it (`embedding-engine.ts`),
 * queries in `prepare`.
 */
import type { EngineError, Result } from "../errors.ts"
import type { Namespace } from "../engine.ts"

/** `embed.model_config` of a field, as its owner wrote it. */
export type ModelConfig = Readonly<Record<string, unknown>>

export interface EmbedOrder {
  readonly namespace: Namespace
  readonly model: ModelConfig
  /** Somebody waits for a `query`; `document` inputs come with a write. */ readonly purpose: "query" | "document"
  /** `text`: words; `image`: base64 of a picture, or what the model's own sources name it by. */
  readonly kind: "text" | "image"
  /** In order; equal ones may stand twice. */ readonly inputs: ReadonlyArray<string>
  /** Of a query: how long one try may take, and how many there are (`remote_embedding_*`). */ readonly timeout_ms?:
    | number
    | undefined
  readonly tries?: number | undefined
}
/** A vector, or why this input has none; others are not concerned. */
export type EmbeddedInput = Result<ReadonlyArray<number>, EngineError>

export interface Embedder {
  /**
   * Before a field is made of it: why the model cannot be used, or undefined, and `dimensionsOf` answers from now on.
   */
  readonly learn?: (namespace: Namespace, model: ModelConfig) => Promise<EngineError | undefined>
  /** As an engine may keep it: credentials sealed. */ readonly sealed?: (model: ModelConfig) => ModelConfig
  /** undefined: no such model. */ readonly dimensionsOf: (model: ModelConfig) => number | undefined
  /** Of the model's weights, where it can be told: vectors of other weights are not comparable. */
  readonly pinOf: (model: ModelConfig) => string | undefined
  /** What `kind` it takes. */ readonly kindOf: (model: ModelConfig) => EmbedOrder["kind"]
  /** As many as there are inputs. */ readonly embed: (order: EmbedOrder) => Promise<ReadonlyArray<EmbeddedInput>>
}
