/**
 * The condition that a filter places on the documents of another collection (`docs/contract/filters.md#joins`): only
 * documents that pass the filter's own joins are shown with a hit, counted by facets and used by a sort.
 */
import type { Filter } from "../../filter.ts"
import { hasBit, type ReadonlyBits } from "../../index/bits.ts"
import type { CollectionReader, SegmentView } from "../../index/reader.ts"
import type { SearchScope } from "../scope.ts"
import { FilterEvaluation } from "./filters.ts"
import type { Relation } from "./relations.ts"

export type AllowedDocuments = ReadonlyMap<SegmentView, ReadonlyBits>

/** Documents of the other collection that pass its filter. Deleted ones may be among them. */
export const allowedDocuments = (scope: SearchScope, other: CollectionReader, inner: Filter): AllowedDocuments => {
  const evaluation = new FilterEvaluation(scope, other)
  return new Map(other.views.map((view) => [view, evaluation.complete(inner, view)]))
}
/** A segment published after the filter ran has no matching documents. */
export const isAllowed = (allowed: AllowedDocuments, view: SegmentView, doc: number): boolean => {
  const bits = allowed.get(view)
  return bits !== undefined && hasBit(bits, doc)
}
/**
 * The conditions that the joins of a filter place on the other collection; undefined = none. If either of two
 * conditions suffices, the documents that the hit itself refers to are not narrowed, because the hit may match for the
 * other reason. Documents that refer to the hit are included only if a join found them.
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
