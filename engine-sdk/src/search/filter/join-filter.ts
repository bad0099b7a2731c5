/**
 * What a filter says of the documents of another collection (`docs/contract/filters.md#joins`): those that its own
 * joins let through are shown with a hit, counted by facets and looked at by a sort.
 */
import type { Filter } from "../../filter.ts"
import { hasBit, type ReadonlyBits } from "../../index/bits.ts"
import type { CollectionReader, SegmentView } from "../../index/reader.ts"
import type { SearchScope } from "../scope.ts"
import { FilterEvaluation } from "./filters.ts"
import type { Relation } from "./relations.ts"

export type AllowedDocuments = ReadonlyMap<SegmentView, ReadonlyBits>

/** Documents of the other collection that a filter of it lets through. Deleted ones may be among them. */
export const allowedDocuments = (scope: SearchScope, other: CollectionReader, inner: Filter): AllowedDocuments => {
  const evaluation = new FilterEvaluation(scope, other)
  return new Map(other.views.map((view) => [view, evaluation.complete(inner, view)]))
}
/** A segment that came after the filter was asked has none of them. */
export const isAllowed = (allowed: AllowedDocuments, view: SegmentView, doc: number): boolean => {
  const bits = allowed.get(view)
  return bits !== undefined && hasBit(bits, doc)
}
/**
 * The conditions that the joins of a filter make on the other collection; undefined = none. Where one of two conditions
 * is enough, a document that the hit refers to itself is not narrowed: the hit may be here for another reason and
 * refers to it all the same. Documents that refer to the hit are there only as far as a join found them.
 */
export const joinedFilter = (
  filter: Filter | undefined,
  relation: Relation,
  collection: string
): Filter | undefined => {
  if (filter?.kind === "join") return filter.collection === collection ? filter.filter : undefined
  if (filter?.kind !== "and" && (filter?.kind !== "or" || relation.isOutgoing)) return undefined
  const left = joinedFilter(filter.left, relation, collection),
    right = joinedFilter(filter.right, relation, collection)
  return left !== undefined && right !== undefined ? { kind: filter.kind, left, right } : (left ?? right)
}
