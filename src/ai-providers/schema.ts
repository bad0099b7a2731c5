/** Models that an organization configures in place of this program's own. */
import { Schema } from "effect"
import { generatorKinds } from "../ports/generator/generator.ts"
import { OPERATOR_KIND } from "../ports/text-embedder/operator/models-file.ts"
import { remoteKinds } from "../ports/text-embedder/remote/providers.ts"
import { transcriberKinds } from "../ports/transcriber/remote/providers.ts"

/** Ports that may use an organization's own model. */
export const PORTS = ["text_embedder", "generator", "reranker", "transcriber"] as const
export type ProviderPort = (typeof PORTS)[number]
/** The interfaces through which it can be called. */
export const kindsOf = (port: ProviderPort): ReadonlyArray<string> => {
  switch (port) {
    case "text_embedder":
      return [...remoteKinds, OPERATOR_KIND]
    case "generator":
      return generatorKinds
    case "reranker":
      return ["tei", "cohere", "jina"]
    case "transcriber":
      return transcriberKinds
  }
}

export const ProviderBody = Schema.Struct({
  kind: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(40)),
  model: Schema.optionalKey(Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200))),
  url: Schema.optionalKey(Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(2_048))),
  // Sent as a header.
  api_key: Schema.optionalKey(
    Schema.String.check(Schema.isMaxLength(4_096), Schema.isPattern(/^[\x21-\x7e]+$/)).annotate({
      description: "Printable ASCII without spaces."
    })
  ),
  dimensions: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 4_096 })).annotate({
      description: "For an embedding model that can shorten its vectors."
    })
  )
}).annotate({ identifier: "AiProviderBody" })
export type ProviderBody = typeof ProviderBody.Type

export const Provider = Schema.Struct({
  port: Schema.Literals(PORTS),
  kind: Schema.String,
  model: Schema.optionalKey(Schema.String),
  url: Schema.optionalKey(Schema.String),
  api_key: Schema.optionalKey(Schema.String.annotate({ description: "The first characters of the key." })),
  dimensions: Schema.optionalKey(Schema.Int),
  created_at: Schema.Int,
  updated_at: Schema.Int
}).annotate({ identifier: "AiProvider" })

const InUse = Schema.Struct({
  name: Schema.NullOr(Schema.String),
  embedded: Schema.Boolean.annotate({ description: "It runs in this program and sends nothing elsewhere." }),
  dimensions: Schema.optionalKey(Schema.Int),
  languages: Schema.optionalKey(
    Schema.Array(Schema.String).annotate({
      description:
        "The language it was trained for; queries in other languages use text search only. Absent if unknown."
    })
  ),
  state: Schema.optionalKey(Schema.Literals(["ready", "loading", "installing", "absent"]))
}).annotate({ identifier: "AiProviderInUse" })
export const ProvidersInUse = Schema.Struct({
  text_embedder: InUse,
  generator: InUse,
  image_embedder: InUse,
  reranker: InUse,
  transcriber: InUse
}).annotate({ identifier: "AiProvidersInUse" })
export type ProvidersInUse = typeof ProvidersInUse.Type
