/** Turns candidates, and the documents among them that the caller may see, into the hits of an answer. Pure. */
import type { Candidate } from "../recommendation-models/live/messages.ts"
import type { HitKind, ModelType } from "../recommendation-models/params.ts"
import type { Recommended } from "./schema.ts"

export type Document = Readonly<Record<string, unknown>>
type RecommendedHit = Recommended["hits"][number]
/** A candidate of the model or of a fallback search, with the kind that its hit gets. */
export type AnyCandidate = Omit<Candidate, "kind"> & { readonly kind: HitKind }

/** A document's values in a field, none or several. */
export const valuesOf = (document: Document, field: string): ReadonlyArray<unknown> => {
  const value = Object.hasOwn(document, field) ? document[field] : undefined
  return Array.isArray(value) ? value : value === undefined ? [] : [value]
}
/**
 * Puts popular documents of a category first, otherwise keeping their order. `category`: the field; without it, or
 * without a seed document, nothing moves.
 */
export const categoryFirst = (
  candidates: ReadonlyArray<AnyCandidate>,
  documents: ReadonlyMap<string, Document>,
  seed: Document | undefined,
  category: string | undefined
): ReadonlyArray<AnyCandidate> => {
  if (seed === undefined || category === undefined) return candidates
  const wanted = new Set(valuesOf(seed, category))
  const first = candidates.findIndex(({ kind }) => kind === "popular")
  if (wanted.size === 0 || first < 0) return candidates
  const isOfIt = ({ id }: AnyCandidate) => {
    const document = documents.get(id)
    return document !== undefined && valuesOf(document, category).some((value) => wanted.has(value))
  }
  const popular = candidates.slice(first)
  return [...candidates.slice(0, first), ...popular.filter(isOfIt), ...popular.filter((each) => !isOfIt(each))]
}

/** Hits in the order of the candidates, for those that exist. */
export const hitsOf = (
  candidates: ReadonlyArray<AnyCandidate>,
  documents: ReadonlyMap<string, Document>,
  limit: number
): ReadonlyArray<RecommendedHit> => {
  const hits: Array<RecommendedHit> = []
  for (const { id, kind, lift, score, source, support } of candidates) {
    if (hits.length >= limit) break
    const document = documents.get(id)
    if (document === undefined) continue
    hits.push({
      document,
      score: Math.round(score * 10_000) / 10_000,
      reason: {
        kind,
        ...(source === undefined ? {} : { source_document_id: source }),
        ...(support === undefined ? {} : { support }),
        ...(lift === undefined ? {} : { lift })
      }
    })
  }
  return hits
}
/** The first kind of hit that is not the model's own. */
export const fallbackOf = (type: ModelType, hits: ReadonlyArray<RecommendedHit>): HitKind | null =>
  hits.find(({ reason }) => reason.kind !== type)?.reason.kind ?? null
