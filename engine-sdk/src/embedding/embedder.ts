/**
 * Computes vectors of texts and images; supplied by the engine's host. The engine itself knows no model: fields with
 * `embed` (`docs/contract/collections.md#embedding-fields`) get their vectors before they reach it
 * (`embedding-engine.ts`), queries get theirs in `prepare`.
 */
import type { EngineError, Result } from "../errors.ts"
import type { Namespace } from "../engine.ts"

/** `embed.model_config` of a field, as its owner wrote it. */
export type ModelConfig = Readonly<Record<string, unknown>>

export interface EmbedOrder {
  readonly namespace: Namespace
  readonly model: ModelConfig
  /** A caller waits for a `query`; `document` inputs belong to a write. */ readonly purpose: "query" | "document"
  /** `text`: words; `image`: base64 of a picture, or a name by which the model's own sources know it. */
  readonly kind: "text" | "image"
  /** Vectors are returned in this order; duplicates are allowed. */ readonly inputs: ReadonlyArray<string>
  /** For a query: timeout per attempt, and number of attempts (`remote_embedding_*`). */ readonly timeout_ms?:
    | number
    | undefined
  readonly tries?: number | undefined
}
/** A vector, or why this input has none; other inputs are not affected. */
export type EmbeddedInput = Result<ReadonlyArray<number>, EngineError>

export interface Embedder {
  /**
   * Called before a field is created; returns why the model cannot be used, or undefined. Then `dimensionsOf` answers.
   */
  readonly learn?: (namespace: Namespace, model: ModelConfig) => Promise<EngineError | undefined>
  /** As an engine may store it: with credentials sealed. */ readonly sealed?: (model: ModelConfig) => ModelConfig
  /** undefined: there is no such model. */ readonly dimensionsOf: (model: ModelConfig) => number | undefined
  /** Identifies the model's weights, if known, because vectors of different weights are not comparable. */
  readonly pinOf: (model: ModelConfig) => string | undefined
  /** The kind of input that the model accepts. */ readonly kindOf: (model: ModelConfig) => EmbedOrder["kind"]
  /** Returns as many vectors as there are inputs. */
  readonly embed: (order: EmbedOrder) => Promise<ReadonlyArray<EmbeddedInput>>
}
