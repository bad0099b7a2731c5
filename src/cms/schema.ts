/** CMS installations: the configuration of each, what its module reports, and what it reads at run time. */
import { Schema } from "effect"
import { refusing } from "../http/checks.ts"

const NAME_CHARACTERS_MAX = 120
const ID_CHARACTERS_MAX = 120
const TEXT_CHARACTERS_MAX = 1_024
const STORES_MAX = 50
const SOURCES_MAX = 100
/** Limit for the JSON of a configuration, of a discovery, of a sync health. */
const DOCUMENT_BYTES_MAX = 256_000

const lengthRefusal = (most: number) => (text: string) =>
  text.trim() === "" || [...text].length > most ? `1 to ${most} characters` : undefined
const Name = Schema.String.check(refusing(lengthRefusal(NAME_CHARACTERS_MAX)))
const LocalId = Schema.String.check(refusing(lengthRefusal(ID_CHARACTERS_MAX)))
const Text = Schema.String.check(Schema.isMaxLength(TEXT_CHARACTERS_MAX))
/** The site's origin, without a path, because origins are compared. */
const originRefusal = (text: string): string | undefined =>
  text.length <= 2_048 &&
  URL.canParse(text) &&
  /^https?:$/.test(new URL(text).protocol) &&
  new URL(text).origin === text
    ? undefined
    : "An origin, as of `https://shop.example`"
const bytesRefusal = (value: unknown): string | undefined =>
  Buffer.byteLength(JSON.stringify(value)) > DOCUMENT_BYTES_MAX ? `At most ${DOCUMENT_BYTES_MAX} bytes` : undefined

const ENVIRONMENTS = ["production", "staging", "development"] as const
export const CreateInstallation = Schema.Struct({
  name: Name,
  provider: Name.annotate({ description: "The CMS, as its module calls it." }),
  environment: Schema.Literals(ENVIRONMENTS),
  origin: Schema.String.check(refusing(originRefusal))
}).annotate({ identifier: "CreateCmsInstallation" })
export type CreateInstallation = typeof CreateInstallation.Type

const Source = Schema.Struct({
  /** As the module names it. */ local_id: LocalId,
  collection: Text,
  /** The connector whose pushes deliver its documents; it writes to `collection`. */
  connector_id: Schema.optionalKey(Text),
  search_preset: Schema.optionalKey(Text),
  recommendation_model: Schema.optionalKey(Text)
})
const Store = Schema.Struct({
  local_id: LocalId,
  locale: Schema.optionalKey(Text),
  currency: Schema.optionalKey(Text),
  native_search: Schema.optionalKey(Schema.Boolean),
  native_filters: Schema.optionalKey(Schema.Boolean),
  native_recommendations: Schema.optionalKey(Schema.Boolean),
  widgets_enabled: Schema.optionalKey(Schema.Boolean),
  sources: Schema.Array(Source).check(Schema.isMaxLength(SOURCES_MAX))
})
export const CmsConfig = Schema.Struct({
  protocol_version: Schema.Literal(1),
  stores: Schema.Array(Store).check(Schema.isMaxLength(STORES_MAX))
})
  .check(refusing(bytesRefusal))
  .annotate({ identifier: "CmsConfig" })
export type CmsConfig = typeof CmsConfig.Type
export const PublishConfig = Schema.Struct({ expected_revision: Schema.Int, config: CmsConfig }).annotate({
  identifier: "PublishCmsConfig"
})

/** What a module reports beyond the known fields. */
const metadata = { metadata: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)) }
const count = Schema.optionalKey(Schema.Int)
export const storeFields = {
  local_id: Schema.optionalKey(Text),
  name: Schema.optionalKey(Text),
  locale: Schema.optionalKey(Text),
  currency: Schema.optionalKey(Text),
  source_ids: Schema.optionalKey(Schema.Array(Text).check(Schema.isMaxLength(SOURCES_MAX))),
  source_schemas: Schema.optionalKey(Schema.Record(Schema.String, Schema.Record(Schema.String, Schema.Unknown)))
}
export const discoveryFields = {
  module_version: Schema.optionalKey(Text),
  cms_version: Schema.optionalKey(Text),
  capabilities: Schema.optionalKey(Schema.Array(Text).check(Schema.isMaxLength(SOURCES_MAX))),
  stores: Schema.optionalKey(
    Schema.Array(Schema.Struct({ ...storeFields, ...metadata })).check(Schema.isMaxLength(STORES_MAX))
  )
}
export const healthFields = {
  pending: count,
  failed: count,
  processing: count,
  done_1h: count,
  throughput_per_min: count,
  eta_seconds: count,
  batch_size: count,
  workers: count,
  reported_at: count,
  catalog_size: Schema.optionalKey(Text),
  auto_profile: Schema.optionalKey(Text),
  last_error: Schema.optionalKey(Text),
  reindex_active: Schema.optionalKey(Schema.Boolean)
}
const Discovery = Schema.Struct({ ...discoveryFields, ...metadata }).check(refusing(bytesRefusal))
const SyncHealth = Schema.Struct({ ...healthFields, ...metadata }).check(refusing(bytesRefusal))
/** Omitted fields keep their last reported value. */
export const Report = Schema.Struct({
  applied_revision: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))),
  discovery: Schema.optionalKey(Discovery),
  sync_health: Schema.optionalKey(SyncHealth),
  last_error: Schema.optionalKey(Schema.NullOr(Text)).annotate({ description: "`null` once it has ended." }),
  ...metadata
})
  .check(refusing(bytesRefusal))
  .annotate({ identifier: "CmsReport" })
export type Report = typeof Report.Type

const installationFields = {
  id: Schema.String,
  name: Schema.String,
  provider: Schema.String,
  environment: Schema.Literals(ENVIRONMENTS),
  origin: Schema.String,
  /** 0 until a configuration is published. */ desired_revision: Schema.Int,
  /** The revision that the module reports as applied. */ applied_revision: Schema.Int,
  in_sync: Schema.Boolean,
  config: CmsConfig,
  discovery: Schema.optionalKey(Discovery),
  sync_health: Schema.optionalKey(SyncHealth),
  /** Unknown fields in the last report, and their number over all reports. */ ...metadata,
  unknown_fields: Schema.Int,
  last_error: Schema.optionalKey(Schema.String),
  /** Unix milliseconds of the last call with its key. */ last_seen_at: Schema.optionalKey(Schema.Int),
  revoked_at: Schema.optionalKey(Schema.Int),
  created_at: Schema.Int,
  updated_at: Schema.Int
}
export const Installation = Schema.Struct(installationFields).annotate({ identifier: "CmsInstallation" })
export type Installation = typeof Installation.Type
export const InstallationWithKey = Schema.Struct({ ...installationFields, installation_key: Schema.String }).annotate({
  identifier: "CmsInstallationWithKey"
})

export const RuntimeConfig = Schema.Struct({
  installation_id: Schema.String,
  desired_revision: Schema.Int,
  config: CmsConfig,
  /** Where to send the documents of each source, and the secret that signs them. */
  connectors: Schema.Array(
    Schema.Struct({
      store: Schema.String,
      local_id: Schema.String,
      webhook_path: Schema.String,
      secret: Schema.String
    })
  )
}).annotate({ identifier: "CmsRuntimeConfig" })
export type RuntimeConfig = typeof RuntimeConfig.Type
