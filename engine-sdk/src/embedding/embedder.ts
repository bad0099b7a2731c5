/**
 * Makes vectors of texts and images; supplied by the engine's host. The engine itself knows no model: fields with
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
  /** Vectors come back in this order; duplicates are allowed. */ readonly inputs: ReadonlyArray<string>
  /** For a query: the timeout of one try, and the number of tries (`remote_embedding_*`). */ readonly timeout_ms?:
    | number
    | undefined
  readonly tries?: number | undefined
}
/** A vector, or why this input has none; others are not concerned. */
export type EmbeddedInput = Result<ReadonlyArray<number>, EngineError>

export interface Embedder {
  /**
   * Called before a field is created: why the model cannot be used, or undefined, after which `dimensionsOf` answers.
   */
  readonly learn?: (namespace: Namespace, model: ModelConfig) => Promise<EngineError | undefined>
  /** As an engine may keep it: credentials sealed. */ readonly sealed?: (model: ModelConfig) => ModelConfig
  /** undefined: no such model. */ readonly dimensionsOf: (model: ModelConfig) => number | undefined
  /** Identifies the model's weights, where known: vectors of different weights are not comparable. */
  readonly pinOf: (model: ModelConfig) => string | undefined
  /** The kind of input that the model takes. */ readonly kindOf: (model: ModelConfig) => EmbedOrder["kind"]
  /** Returns as many vectors as there are inputs. */
  readonly embed: (order: EmbedOrder) => Promise<ReadonlyArray<EmbeddedInput>>
}
