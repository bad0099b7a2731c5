/**
 * Publishes the most frequent queries of a rule as documents of a collection: removes earlier ones that no longer
 * qualify, and writes changes. Documents are recorded as published beforehand, so that a crash leaves none behind.
 */
import { createHash } from "node:crypto"
import type { CollectionInfo } from "@dowser/engine-sdk"
import { resolveCollection, search } from "@dowser/engine-sdk/operations"
import { Effect } from "effect"
import { foldText } from "../suggestions/typeahead/typeahead.ts"
import { chunks, type Publishing, write } from "./publishing.ts"
import type { CountedQuery, StoredRule } from "./rules-repository.ts"

/** Queries stored per rule, as a multiple of its limit, because the most frequent ones emerge only with time. */
const KEPT_PER_LIMIT = 10
const EXPAND_FIELDS_MAX = 8
const EXPAND_CHARACTERS_MAX = 2_000

/** A type and not an interface, so that it is assignable to a document. */
type QueryDocument = {
  readonly id: string
  readonly q: string
  count: number
  readonly filter_by?: string
  readonly analytics_tag?: string
}
/** What a rule publishes in one round. */
interface Wanted {
  readonly documents: ReadonlyMap<string, QueryDocument>
  /** The queries that the documents show, by `idOf`, each with its document. */
  readonly shown: ReadonlyMap<string, CountedQuery>
}

const documentId = (rule: string, q: string, filter_by: string, analytics_tag: string): string =>
  createHash("sha1")
    .update(JSON.stringify([rule, q, filter_by, analytics_tag]))
    .digest("hex")
const idOf = ({ analytics_tag, filter_by, q }: CountedQuery) => `${q}\n${filter_by}\n${analytics_tag}`

/** The query, its last word completed as in the best document that it finds; unchanged without a completion. */
const expanded = Effect.fnUntraced(function* (
  { contextOf }: Publishing,
  rule: StoredRule,
  collection: CollectionInfo,
  q: string
) {
  const fields = collection.schema.fields
    .filter(({ index, name, type }) => index && (type === "string" || type === "string[]") && !name.includes("*"))
    .slice(0, EXPAND_FIELDS_MAX)
    .map(({ name }) => name)
  if (fields.length === 0) return q
  const answer = yield* Effect.promise(() =>
    search(contextOf(rule.organization_id), collection.schema.name, {
      q,
      query_by: fields.join(","),
      per_page: 1,
      include_fields: fields.join(","),
      highlight_fields: "none"
    })
  )
  if (!answer.ok) return q
  const { hits } = JSON.parse(answer.value.text ?? "{}") as {
    readonly hits?: ReadonlyArray<{ readonly document: Readonly<Record<string, unknown>> }>
  }
  const last = q.slice(q.lastIndexOf(" ") + 1)
  const completed = fields
    .flatMap((field) => hits?.[0]?.document[field] ?? [])
    .flatMap((text) => (typeof text === "string" ? foldText(text.slice(0, EXPAND_CHARACTERS_MAX)).split(" ") : []))
    .find((word) => word.startsWith(last))
  return completed === undefined ? q : q.slice(0, q.length - last.length) + completed
})

/** The most frequent queries; those that are completed to the same query are combined. */
const wantedOf = Effect.fnUntraced(function* (parts: Publishing, rule: StoredRule, source: CollectionInfo | undefined) {
  const { name, organization_id } = rule
  const { expand_query, limit = 0, meta_fields = [] } = rule.params
  const documents = new Map<string, QueryDocument>()
  const shown = new Map<string, CountedQuery>()
  for (const counted of yield* parts.repository.topQueries(organization_id, name, limit)) {
    const isExpanded = expand_query === true && source !== undefined
    const q = isExpanded ? yield* expanded(parts, rule, source, counted.q) : counted.q
    const id = documentId(name, q, counted.filter_by, counted.analytics_tag)
    shown.set(idOf(counted), { ...counted, published_as: id })
    const known = documents.get(id)
    if (known !== undefined) known.count += counted.count
    else
      documents.set(id, {
        id,
        q,
        count: counted.count,
        ...(meta_fields.includes("filter_by") ? { filter_by: counted.filter_by } : {}),
        ...(meta_fields.includes("analytics_tag") ? { analytics_tag: counted.analytics_tag } : {})
      })
  }
  const wanted: Wanted = { documents, shown }
  return wanted
})

/** Queries that now belong to another document, or to none. */
const movedOf = (published: ReadonlyArray<CountedQuery>, { shown }: Wanted): ReadonlyArray<CountedQuery> => {
  const standing = new Map(published.map((query) => [idOf(query), query.published_as]))
  return [
    ...[...shown.values()].filter((query) => standing.get(idOf(query)) !== query.published_as),
    ...published
      .filter((query) => !shown.has(idOf(query)))
      .map((query): CountedQuery => ({ ...query, published_as: null }))
  ]
}

/** Writes the documents whose text changed; returns the current texts by document. */
const writeChanged = Effect.fnUntraced(function* (
  parts: Publishing,
  { name, organization_id, params }: StoredRule,
  destination: string,
  { documents }: Wanted,
  before: ReadonlyMap<string, string>
) {
  const now = new Map([...documents.values()].map((document) => [document.id, JSON.stringify(document)]))
  for (const part of chunks([...documents.values()].filter(({ id }) => before.get(id) !== now.get(id)))) {
    const verdicts = yield* write(
      parts,
      organization_id,
      destination,
      part.map((document) => ({ kind: "put", action: "emplace", dirtyValues: undefined, document }))
    )
    for (const [i, { result }] of verdicts.entries()) {
      if (result.ok) continue
      now.delete(part[i]!.id)
      yield* Effect.logWarning(
        `The analytics rule ${name} of ${organization_id} cannot write to ${params.destination_collection ?? ""}: ${result.error.message}`
      )
    }
  }
  return now
})

/**
 * One round of a rule. `written` contains the last written text of each document; returns the new ones, or undefined
 * if the rule's collection does not exist.
 */
export const publishQueries = Effect.fnUntraced(function* (
  parts: Publishing,
  rule: StoredRule,
  written: ReadonlyMap<string, string>
) {
  const { name, organization_id, params } = rule
  const { repository } = parts
  const context = parts.contextOf(organization_id)
  const destination = resolveCollection(context, params.destination_collection ?? "")?.schema.name
  if (destination === undefined) return undefined
  const wanted = yield* wantedOf(parts, rule, resolveCollection(context, rule.collection))
  const published = yield* repository.publishedQueries(organization_id, name)
  const stale = new Set(published.map(({ published_as }) => published_as!).filter((id) => !wanted.documents.has(id)))
  for (const ids of chunks([...stale]))
    yield* write(
      parts,
      organization_id,
      destination,
      ids.map((id) => ({ kind: "delete", id }))
    )
  // Recorded as published first, so that whatever a crash leaves behind is removed later.
  for (const part of chunks(movedOf(published, wanted))) yield* repository.publish(organization_id, name, part)
  const now = yield* writeChanged(parts, rule, destination, wanted, written)
  yield* repository.trimQueries(organization_id, name, KEPT_PER_LIMIT * (params.limit ?? 0))
  return now
})
