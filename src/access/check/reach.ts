/**
 * Which collections an operation touches, in one table by operation: how a key with a list of collections is held to
 * them wherever it asks. An operation that takes a key and has no line here is refused when routes are built.
 *
 * Decision: what belongs to no collection but acts on searches of all (synonyms, curations, presets, stopwords,
 * dictionaries), or tells of all (the audit log, webhooks, replays, erasure), is for keys that reach every collection;
 * so is naming a set of synonyms or curations in a collection's schema, since it would show in searches what the set
 * says about others.
 */
import type { Operation } from "../../http/operation.ts"

/** What a request says; `body` is undefined where it is no JSON. */
export interface Asked {
  readonly search: Readonly<Record<string, string>>
  readonly body: unknown
}
/**
 * Every collection that a request names beside its path, asked before anything is looked up; or that it concerns all of
 * them.
 */
export type NamesOf = (asked: Asked) => ReadonlyArray<string> | "organization"
/**
 * - `path`: the collection in the path, and each that a filter, a selection or a sort of the request joins
 *   (`Reach`);
 * - a function: what the request names, the path's collection too where there is one;
 * - `each`: judged one by one where they are met: searches of a multi-search, events of a batch, what a new key may
 *   reach;
 * - `filtered`: lists show, and ids lead to, only what the key reaches; all else does not exist for it;
 * - `organization`: only keys that reach every collection;
 * - `none`: touches no collection and tells of none.
 */
export type Reach = "path" | "each" | "filtered" | "organization" | "none" | NamesOf

type Fields = Readonly<Record<string, unknown>>
const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)
const textIn = (body: unknown, name: string): ReadonlyArray<string> =>
  isObject(body) && typeof body[name] === "string" ? [body[name]] : []
const listIn = (body: unknown, name: string): ReadonlyArray<unknown> =>
  isObject(body) && Array.isArray(body[name]) ? body[name] : []

/** The collection that `reference: "collection.field"` is about. */
export const referredBy = (reference: string): string => reference.slice(0, Math.max(0, reference.indexOf(".")))
const namedInSchema = (body: unknown, others: ReadonlyArray<string> = []): ReturnType<NamesOf> =>
  ["synonym_sets", "curation_sets"].some((name) => listIn(body, name).length > 0)
    ? "organization"
    : [
        ...others,
        ...listIn(body, "fields")
          .flatMap((field) => textIn(field, "reference"))
          .filter((reference) => reference !== "")
          .map(referredBy)
      ]
const namedInRule = (body: unknown): ReadonlyArray<string> => [
  ...textIn(body, "collection"),
  ...textIn(isObject(body) ? body.params : undefined, "destination_collection")
]

const resource = (...ids: ReadonlyArray<string>): Readonly<Record<string, Reach>> =>
  Object.fromEntries(ids.map((id) => [id, "organization" as const]))
const sets = (title: string) =>
  resource(
    `list${title}Sets`,
    `get${title}Set`,
    `upsert${title}Set`,
    `delete${title}Set`,
    `list${title}Items`,
    `get${title}Item`,
    `upsert${title}Item`,
    `delete${title}Item`
  )

export const reaches: Readonly<Record<string, Reach>> = {
  getCollections: "filtered",
  createCollection: ({ body, search }) =>
    namedInSchema(body, [...textIn(body, "name"), ...(search.src_name === undefined ? [] : [search.src_name])]),
  getCollection: "path",
  updateCollection: ({ body }) => namedInSchema(body),
  deleteCollection: "path",
  reindexCollection: "path",

  indexDocument: "path",
  importDocuments: "path",
  exportDocuments: "path",
  getDocument: "path",
  updateDocument: "path",
  deleteDocument: "path",
  updateDocuments: "path",
  deleteDocuments: "path",

  searchCollection: "path",
  multiSearch: "each",
  getSuggestions: "path",
  getPrompts: "path",
  getSearchRule: "path",
  upsertSearchRule: "path",
  deleteSearchRule: "path",
  previewSearchRule: "path",

  listAliases: "filtered",
  getAlias: "each",
  upsertAlias: "each",
  deleteAlias: "each",
  ...resource("listPresets", "getPreset", "upsertPreset", "deletePreset"),
  ...sets("Synonym"),
  ...sets("Curation"),
  ...resource("listStopwords", "getStopwords", "upsertStopwords", "deleteStopwords"),
  ...resource(
    "listStemmingDictionaries",
    "getStemmingDictionary",
    "deleteStemmingDictionary",
    "importStemmingDictionary"
  ),

  ingestEvents: "each",
  listFailedEvents: "each",
  retryFailedEvents: "each",
  ...resource("replayEvents", "eraseSubject"),

  getQueryMetrics: "each",
  getZeroResultMetrics: "each",
  getOverviewMetrics: "each",
  getProductMetrics: "each",
  getFilterMetrics: "each",
  listAnalyticsRules: "filtered",
  createAnalyticsRule: ({ body }) => (Array.isArray(body) ? body : [body]).flatMap(namedInRule),
  getAnalyticsRule: "filtered",
  upsertAnalyticsRule: ({ body }) => namedInRule(body),
  deleteAnalyticsRule: "filtered",
  getAnalyticsEvents: "filtered",

  listIngestJobs: "filtered",
  getIngestJob: "filtered",
  cancelIngestJob: "filtered",
  listJobs: "filtered",
  getJob: "filtered",
  cancelJob: "filtered",

  listKeys: "filtered",
  createKey: "each",
  getKey: "filtered",
  deleteKey: "filtered",
  createBrowserKey: "each",
  listAudit: "organization",
  getEntitlement: "none",
  ...resource(
    "listWebhooks",
    "createWebhook",
    "getWebhook",
    "updateWebhook",
    "deleteWebhook",
    "rotateWebhookSecret",
    "testWebhook",
    "listWebhookDeliveries",
    "getWebhookDelivery",
    "redeliverWebhookDelivery",
    "recoverWebhook"
  ),

  gatewaySearch: "path",
  gatewaySuggest: "path",
  gatewayMultiSearch: "each",
  gatewayFederatedSearch: "each",
  gatewayGeoSearch: "path",
  gatewayPutDocuments: "path",
  gatewayDeleteDocuments: "path",
  createScopedToken: "each"
}

const takesKey = ({ scope }: Pick<Operation, "scope">): boolean =>
  scope !== "public" && scope !== "operator" && scope !== "console"

/** undefined for operations that no key reaches. Throws where the table does not fit the operation. */
export const reachOf = (operation: Pick<Operation, "id" | "path" | "scope">, table = reaches): Reach | undefined => {
  if (!takesKey(operation)) return undefined
  const reach = Object.hasOwn(table, operation.id) ? table[operation.id] : undefined
  if (reach === undefined)
    throw new Error(`src/access/check/reach.ts does not say which collections ${operation.id} touches`)
  if (reach === "path" && !operation.path.includes(":collectionName"))
    throw new Error(
      `src/access/check/reach.ts says that ${operation.id} names its collection in the path, which it does not`
    )
  return reach
}
