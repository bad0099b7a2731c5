/**
 * Entities for a caller with access to only a part of the collection. Figures, communities, times and spellings come
 * from all documents, including hidden ones, so an entity is rebuilt from the documents that the caller's own search
 * finds, and one that none of them names does not exist. For an entity of many documents, only the first of them are
 * searched; if it is not found there it is not shown, which reveals nothing.
 */
import { type CollectionInfo, fail, type Hit, ok, type Result } from "@dowser/engine-sdk"
import {
  mayName,
  type OperationContext,
  prepareSearch,
  Reach,
  readSearch,
  runSearch,
  seenFieldsOf
} from "@dowser/engine-sdk/operations"
import type { Caller } from "../identity/caller.ts"
import { restrictionsOf } from "../identity/restrictions.ts"
import { profiled, type ProfileStepParts } from "../profiles/profile-step.ts"
import { keyOf, foldedWords } from "./building/keys.ts"
import { type DocumentRead, type EntityFields, longTexts, mentionsOf, TERM } from "./building/mentions.ts"
import { entityFieldsOf } from "./entity-fields.ts"
import type { StoredEntity } from "./graphs-repository.ts"

const PAGE = 250

interface Asking {
  readonly parts: ProfileStepParts
  readonly context: OperationContext
  readonly caller: Caller
  readonly collection: CollectionInfo
}
/** Fields with entities that the caller may read. */
const readableFields = ({ caller, collection }: Pick<Asking, "caller" | "collection">): EntityFields => {
  const seen = seenFieldsOf(restrictionsOf(caller), (name) => name)
  const { facets, texts } = entityFieldsOf(collection)
  const mayRead = (name: string) => mayName(seen, name)
  return { facets: facets.filter(mayRead), texts: texts.filter(mayRead) }
}

/** The documents that the caller finds, with the fields that the caller may read. */
const visibleDocuments = async (
  { caller, collection, context, parts }: Asking,
  ids: ReadonlyArray<string>
): Promise<Result<ReadonlyArray<Hit>>> => {
  const reach = new Reach(context, restrictionsOf(caller))
  const asked = { q: "*", per_page: PAGE, enable_curations: false }
  const read = readSearch(context, collection.schema.name, asked, reach.restrictions)
  const step = read.ok ? profiled(parts, { context, caller, request: read.value, fields: reach.fields }) : read
  const planned = step.ok ? await prepareSearch(context, step.value.request, reach) : step
  if (!planned.ok) return planned
  const { plan } = planned.value
  const only = { kind: "ids", ids } as const
  const filter = plan.filter === undefined ? only : ({ kind: "and", left: only, right: plan.filter } as const)
  const found = await runSearch(context, {
    ...planned.value,
    plan: { ...plan, filter, offset: 0, limit: PAGE, group: undefined }
  })
  return found.ok ? ok(found.value.answer.hits ?? []) : fail(found.error)
}

interface Seen {
  /** Number of documents by spelling. */ readonly written: Map<string, number>
  readonly documents: Array<string>
}
const named = (seen: Map<string, Seen>, name: string, text: string, id: string): void => {
  const known = seen.get(name) ?? { written: new Map<string, number>(), documents: [] }
  seen.set(name, known)
  known.written.set(text, (known.written.get(text) ?? 0) + 1)
  if (known.documents.at(-1) !== id) known.documents.push(id)
}

/**
 * In the order of the rows, each as it appears in the visible documents. `sameAs` maps a key to the representative of
 * its synonyms.
 */
export const visibleEntities = async (
  asking: Asking,
  rows: ReadonlyArray<StoredEntity>,
  sameAs: ReadonlyMap<string, string>,
  generated_at: number
): Promise<Result<ReadonlyArray<StoredEntity>>> => {
  const fields = readableFields(asking)
  const facets = new Set(fields.facets)
  const candidates = rows.filter(({ type }) => facets.has(type) || (type === TERM && fields.texts.length > 0))
  const ids = [...new Set(candidates.flatMap(({ source_doc_ids }) => source_doc_ids))]
  const terms = candidates.filter(({ type }) => type === TERM)
  const seen = new Map<string, Seen>()
  for (let at = 0; at < ids.length; at += PAGE) {
    const found = await visibleDocuments(asking, ids.slice(at, at + PAGE))
    if (!found.ok) return found
    for (const { document } of found.value) look(document as DocumentRead, fields, sameAs, terms, seen)
  }
  return ok(
    candidates.flatMap((row): ReadonlyArray<StoredEntity> => {
      const own = seen.get(`${row.type}\u0000${row.key}`)
      if (own === undefined) return []
      const [name, ...aliases] = [...own.written]
        .sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
        .map(([text]) => text)
      const sources = new Set(own.documents)
      return [
        {
          ...row,
          name: name!,
          aliases,
          description: row.type,
          source_doc_ids: row.source_doc_ids.filter((id) => sources.has(id)),
          community_id: "",
          created_at: generated_at,
          updated_at: generated_at
        }
      ]
    })
  )
}
const look = (
  document: DocumentRead,
  fields: EntityFields,
  sameAs: ReadonlyMap<string, string>,
  terms: ReadonlyArray<StoredEntity>,
  seen: Map<string, Seen>
): void => {
  const id = String(document.id)
  mentionsOf(document, fields, (type, text) => {
    const key = keyOf(text)
    if (key !== undefined) named(seen, `${type}\u0000${sameAs.get(key) ?? key}`, text, id)
  })
  const own = terms.filter(({ source_doc_ids }) => source_doc_ids.includes(id))
  if (own.length === 0) return
  // Terms that are not capitalised are searched for as words.
  const words = ` ${longTexts(document, fields)
    .map((text) => foldedWords(text).join(" "))
    .join("  ")} `
  for (const { key } of own)
    if (!seen.get(`${TERM}\u0000${key}`)?.documents.includes(id) && words.includes(` ${key} `))
      named(seen, `${TERM}\u0000${key}`, key, id)
}
