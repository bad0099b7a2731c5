/**
 * The search gateway `/api/v1`: the same use cases as the tenant API, for storefronts and CMS modules, with bearer
 * keys and request bodies. An index is a collection of the key's organization, or an alias of one.
 */
import { Schema } from "effect"
import { ProvidersInUse } from "../ai-providers/schema.ts"
import { SearchResponse } from "../engine-plane/search-response.ts"
import { Suggestions, SuggestionsQuery } from "../suggestions/schema.ts"
import { refusing } from "../http/checks.ts"
import { operation } from "../http/operation.ts"
import { DOCUMENTS_MAX, EXPIRES_IN_MAX_S, FILTER_CHARACTERS_MAX, SEARCH_TIME_MAX_MS } from "./limits.ts"
import { EngineOverloaded, SearchTimedOut } from "../http/errors.ts"
import { engineErrors } from "../engine-plane/engine-errors.ts"
import { aiErrors } from "../metering/errors.ts"
import { described } from "./examples.ts"

const anything = Schema.Record(Schema.String, Schema.Unknown)
const parameters = "Search parameters by their names, as texts, numbers or booleans; unknown ones are ignored."
const SearchBody = anything.annotate({ identifier: "GatewaySearchBody", description: parameters })
const Entry = anything.annotate({ identifier: "GatewaySearchEntry", description: `\`index\`, and: ${parameters}` })
const MultiSearchBody = Schema.Struct({ searches: Schema.Array(Entry) }).annotate({
  identifier: "GatewayMultiSearchBody"
})
const whole = Schema.optionalKey(Schema.Int)
const FederatedSearchBody = Schema.Struct({
  searches: Schema.Array(Entry),
  page: whole,
  per_page: whole,
  offset: whole,
  limit: whole,
  limit_hits: whole,
  remove_duplicates: Schema.optionalKey(Schema.Boolean)
}).annotate({
  identifier: "FederatedSearchBody",
  description:
    "The searches must sort by the same keys. Paging applies to the merged list; a document that several searches find appears once, unless `remove_duplicates` is false."
})
const GeoSearchBody = Schema.StructWithRest(
  Schema.Struct({
    field: Schema.String,
    lat: Schema.Number,
    lng: Schema.Number,
    radius_km: Schema.Number,
    q: Schema.optionalKey(Schema.String),
    query_by: Schema.optionalKey(Schema.String)
  }),
  [anything]
).annotate({
  identifier: "GeoSearchBody",
  description: `Documents whose geopoint \`field\` is within the radius, nearest first; a \`sort_by\` decides between equally near ones. Beside: ${parameters.toLowerCase()}`
})

const Verdict = Schema.Struct({
  id: Schema.optionalKey(Schema.String),
  ok: Schema.Boolean,
  status: Schema.optionalKey(Schema.Int),
  error: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "DocumentVerdict" })
const Verdicts = Schema.Struct({ succeeded: Schema.Int, failed: Schema.Int, results: Schema.Array(Verdict) }).annotate({
  identifier: "DocumentVerdicts",
  description:
    "One result for each document or id, in the order given. The successful ones are stored and found by the next search, whatever happened to the others."
})
const DocumentsBody = Schema.Struct({ documents: Schema.Array(anything) }).annotate({
  identifier: "DocumentsBody",
  description: `1 to ${DOCUMENTS_MAX} documents, 5 MB. Each is stored under its \`id\` and replaces the whole document of that id (upsert); without an \`id\` one is generated. Of two with the same id the later one stays.`
})
const IdsBody = Schema.Struct({ ids: Schema.Array(Schema.String) }).annotate({
  identifier: "DocumentIdsBody",
  description: `1 to ${DOCUMENTS_MAX} ids; one that is not there has a verdict with status 404.`
})

const ScopedTokenBody = Schema.Struct({
  index: Schema.String,
  scopedFilter: Schema.String.check(
    refusing((filter: string) =>
      filter.trim() === "" || filter.length > FILTER_CHARACTERS_MAX
        ? `A filter of 1 to ${FILTER_CHARACTERS_MAX} characters; an empty one would restrict nothing`
        : undefined
    )
  ),
  expiresInSeconds: Schema.Int.check(
    refusing((seconds: number) => (seconds < 1 || seconds > EXPIRES_IN_MAX_S ? `1 to ${EXPIRES_IN_MAX_S}` : undefined))
  )
}).annotate({
  identifier: "ScopedTokenBody",
  description: `\`scopedFilter\` is ANDed with every search that uses the token, beside what the key and the search say. 1 to ${EXPIRES_IN_MAX_S} seconds; never longer than the key.`
})
const ScopedToken = Schema.Struct({ token: Schema.String, index: Schema.String, expiresAt: Schema.String }).annotate({
  identifier: "ScopedToken",
  description: "`expiresAt` is ISO 8601. The token is stored nowhere; it ends early with its key."
})

const Capabilities = Schema.Struct({
  ...ProvidersInUse.fields,
  version: Schema.String,
  operations: Schema.Array(Schema.String),
  engine: Schema.Record(Schema.String, Schema.Literals(["exact", "approximate", "composed", "none"])),
  limits: Schema.Struct({
    search_time_ms: Schema.Int,
    searches_per_request: Schema.Int,
    documents_per_request: Schema.Int,
    body_bytes: Schema.Int,
    suggestions: Schema.Int,
    scoped_token_seconds: Schema.Int
  })
}).annotate({ identifier: "GatewayCapabilities" })

const at = { plane: "gateway", group: "gateway search" } as const
const searching = {
  ...at,
  scope: "search",
  payloadIsChecked: false,
  errors: [...engineErrors(), ...aiErrors, SearchTimedOut]
} as const
export const getCapabilities = operation({
  ...at,
  ...described.getCapabilities,
  id: "getCapabilities",
  group: "gateway",
  summary: "What this gateway can do, and its limits",
  method: "GET",
  path: "/api/v1/capabilities",
  scope: "public",
  success: Capabilities,
  isRateFree: true
})
export const gatewaySearch = operation({
  ...searching,
  ...described.gatewaySearch,
  id: "gatewaySearch",
  summary: `Search an index; over ${SEARCH_TIME_MAX_MS / 1_000} seconds is a 504`,
  method: "POST",
  path: "/api/v1/indexes/:collectionName/search",
  payload: SearchBody,
  success: SearchResponse
})
export const gatewaySuggest = operation({
  ...searching,
  ...described.gatewaySuggest,
  id: "gatewaySuggest",
  summary: "Completions of what is being typed, from queries and facet values of an index",
  method: "GET",
  path: "/api/v1/indexes/:collectionName/suggest",
  query: SuggestionsQuery,
  success: Suggestions
})
export const gatewayMultiSearch = operation({
  ...searching,
  ...described.gatewayMultiSearch,
  id: "gatewayMultiSearch",
  summary: "Several searches side by side",
  method: "POST",
  path: "/api/v1/multi-search",
  payload: MultiSearchBody,
  success: Schema.Struct({
    results: Schema.Array(Schema.Union([SearchResponse, Schema.Struct({ code: Schema.Int, error: Schema.String })]))
  }).annotate({ identifier: "GatewayMultiSearchResponse" })
})
export const gatewayFederatedSearch = operation({
  ...searching,
  ...described.gatewayFederatedSearch,
  id: "gatewayFederatedSearch",
  summary: "Several searches as one merged list",
  method: "POST",
  path: "/api/v1/federated-search",
  payload: FederatedSearchBody,
  success: anything.annotate({
    identifier: "FederatedSearchResponse",
    description: "One search envelope; each hit has the `collection` and the `search_index` it comes from."
  })
})
export const gatewayGeoSearch = operation({
  ...searching,
  ...described.gatewayGeoSearch,
  id: "gatewayGeoSearch",
  summary: "Search around a point, nearest first; hits carry `distance_m`",
  method: "POST",
  path: "/api/v1/indexes/:collectionName/geo-search",
  payload: GeoSearchBody,
  success: SearchResponse
})

const writing = {
  ...at,
  group: "gateway documents",
  scope: "connector_write",
  payloadIsChecked: false,
  success: Verdicts,
  errors: engineErrors()
} as const
export const gatewayPutDocuments = operation({
  ...writing,
  ...described.gatewayPutDocuments,
  id: "gatewayPutDocuments",
  summary: "Store documents by their ids",
  method: "POST",
  path: "/api/v1/indexes/:collectionName/documents",
  payload: DocumentsBody
})
export const gatewayDeleteDocuments = operation({
  ...writing,
  ...described.gatewayDeleteDocuments,
  id: "gatewayDeleteDocuments",
  summary: "Delete documents by their ids",
  method: "DELETE",
  path: "/api/v1/indexes/:collectionName/documents",
  payload: IdsBody
})

export const createScopedToken = operation({
  ...at,
  ...described.createScopedToken,
  id: "createScopedToken",
  summary: "Narrow a search key to one index and a filter, for a short time",
  method: "POST",
  path: "/api/v1/scoped-tokens",
  scope: "search",
  payload: ScopedTokenBody,
  success: ScopedToken,
  status: 201,
  errors: [EngineOverloaded]
})

export const gatewayOperations = [
  gatewaySearch,
  gatewaySuggest,
  gatewayMultiSearch,
  gatewayFederatedSearch,
  gatewayGeoSearch,
  gatewayPutDocuments,
  gatewayDeleteDocuments,
  createScopedToken
] as const
