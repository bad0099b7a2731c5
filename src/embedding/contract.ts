/** Operations on vectors of texts. */
import { Schema } from "effect"
import { operation } from "../http/operation.ts"
import { aiErrors } from "../metering/errors.ts"
import { embeddingErrors } from "./errors.ts"
import { described } from "./examples.ts"

export const INPUTS_MAX = 100
export const CHARACTERS_MAX = 8_192
const Text = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(CHARACTERS_MAX))
const EmbeddingsBody = Schema.Struct({
  input: Schema.Union([Text, Schema.Array(Text).check(Schema.isMinLength(1), Schema.isMaxLength(INPUTS_MAX))]),
  model: Schema.optionalKey(Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200)))
}).annotate({ identifier: "EmbeddingsBody" })

const Embeddings = Schema.Struct({
  model: Schema.String,
  data: Schema.Array(
    Schema.Struct({ index: Schema.Int, embedding: Schema.Array(Schema.Number) }).annotate({ identifier: "Embedding" })
  ),
  usage: Schema.Struct({ input_tokens: Schema.Int })
}).annotate({ identifier: "Embeddings" })

export const createEmbeddings = operation({
  ...described.createEmbeddings,
  group: "embeddings",
  plane: "control",
  scope: "full",
  isAi: true,
  id: "createEmbeddings",
  summary: "Compute vectors of texts",
  method: "POST",
  path: "/v1/embeddings",
  payload: EmbeddingsBody,
  success: Embeddings,
  errors: [...aiErrors, ...embeddingErrors]
})
