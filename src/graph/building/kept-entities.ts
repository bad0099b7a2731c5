/**
 * Selects entities among the named things: those named by enough documents, but not by so many that they are
 * meaningless. Their order depends only on the documents; the documents of each are ordered by id.
 */
import { TERM } from "./mentions.ts"
import type { EntityCounts, NamedEntities } from "./entity-counts.ts"

/** Limit as a share of the documents; what more of them name is not distinctive. Small collections are exempt. */
const SHARE_MAX = 0.3,
  EVER_ALLOWED = 20

/** The minimum number of documents that name an entity: in a large collection, two may be a mistake. */
export const leastDocuments = (documents: number): number => (documents < 1_000 ? 2 : documents < 10_000 ? 3 : 5)

export interface KeptEntities {
  readonly count: number
  readonly type: ReadonlyArray<string>
  readonly key: ReadonlyArray<string>
  /** Spellings, the most frequent first. */ readonly writings: ReadonlyArray<ReadonlyArray<string>>
  /** Documents of entity `e`, by id: `documents` from `starts[e]` to `starts[e + 1]`. */
  readonly starts: Int32Array
  readonly documents: Int32Array
  /** How much a type's values distinguish documents, 0..1: values of a specification are few, so each says little. */
  readonly weight: ReadonlyMap<string, number>
  /** Ids of documents by their numbers here, sorted. */ readonly documentIds: ReadonlyArray<string>
  readonly prices: ReadonlyArray<number | undefined>
}

/** A one-word term is a duplicate if a longer term occurs in at least this share as many documents. */
const SAME_SHARE = 0.8
/**
 * Whether an entity duplicates another: a term that is also the value of a field, or that is nearly always part of a
 * longer one (`Alm` of `Alm & Acker`).
 */
const againOf = (counts: EntityCounts): ((entity: number) => boolean) => {
  const values = new Set<string>()
  const longer = new Map<string, number>()
  for (const [entity, type] of counts.types.entries()) {
    const key = counts.keys[entity]!
    if (type !== TERM) values.add(key)
    const words = key.split(" ")
    if (words.length > 1)
      for (const word of words) longer.set(word, Math.max(longer.get(word) ?? 0, counts.documentsOf(entity)))
  }
  return (entity) => {
    if (counts.types[entity] !== TERM) return false
    const key = counts.keys[entity]!
    return values.has(key) || (longer.get(key) ?? 0) >= SAME_SHARE * counts.documentsOf(entity)
  }
}

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
const weights = (counts: EntityCounts): ReadonlyMap<string, number> => {
  const values = new Map<string, number>()
  for (const type of counts.types) values.set(type, (values.get(type) ?? 0) + 1)
  const all = Math.log(1 + counts.documents.length)
  return new Map(Array.from(values, ([type, n]) => [type, Math.min(1, Math.log(1 + n) / all)]))
}

/** `entitiesMax` keeps the entities with the most documents. */
export const keptEntities = (
  counts: EntityCounts,
  { named, starts }: NamedEntities,
  entitiesMax: number
): KeptEntities => {
  const total = counts.documents.length
  const [least, most] = [leastDocuments(total), Math.max(EVER_ALLOWED, SHARE_MAX * total)]
  const isAgain = againOf(counts)
  const chosen = counts.types
    .map((_, entity) => entity)
    .filter((entity) => counts.documentsOf(entity) >= least && counts.documentsOf(entity) <= most && !isAgain(entity))
    .sort(
      (a, b) =>
        counts.documentsOf(b) - counts.documentsOf(a) ||
        order(counts.types[a]!, counts.types[b]!) ||
        order(counts.keys[a]!, counts.keys[b]!)
    )
    .slice(0, entitiesMax)
  const place = new Int32Array(counts.types.length).fill(-1)
  for (const [i, entity] of chosen.entries()) place[entity] = i
  const byId = counts.documents
    .map((_, document) => document)
    .sort((a, b) => order(counts.documents[a]!, counts.documents[b]!))
  const from = new Int32Array(chosen.length + 1)
  for (const [i, entity] of chosen.entries()) from[i + 1] = from[i]! + counts.documentsOf(entity)
  const at = from.slice()
  const documents = new Int32Array(from[chosen.length]!)
  for (const [number, document] of byId.entries())
    for (let n = starts[document]!; n < starts[document + 1]!; n++) {
      const i = place[named.at(n)]!
      if (i >= 0) documents[at[i]!++] = number
    }
  const writings = counts.writings()
  return {
    count: chosen.length,
    type: chosen.map((entity) => counts.types[entity]!),
    key: chosen.map((entity) => counts.keys[entity]!),
    writings: chosen.map((entity) => writings[entity]!),
    starts: from,
    documents,
    weight: weights(counts),
    documentIds: byId.map((document) => counts.documents[document]!),
    prices: byId.map((document) => counts.prices[document])
  }
}

/** Entities of each document, from the documents of each entity. */
export const entitiesByDocument = ({ count, documentIds, documents, starts }: KeptEntities): NamedArray => {
  const from = new Int32Array(documentIds.length + 1)
  for (const document of documents) from[document + 1]!++
  for (let d = 0; d < documentIds.length; d++) from[d + 1]! += from[d]!
  const at = from.slice()
  const entities = new Int32Array(documents.length)
  for (let e = 0; e < count; e++) for (let n = starts[e]!; n < starts[e + 1]!; n++) entities[at[documents[n]!]!++] = e
  return { starts: from, entities }
}
export interface NamedArray {
  readonly starts: Int32Array
  readonly entities: Int32Array
}
