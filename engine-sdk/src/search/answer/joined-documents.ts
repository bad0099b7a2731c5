/**
 * Documents of other collections that a hit shows, or that a facet counts (engine-contract 7.8): those that are related
 * to it and pass the filter's own join.
 */
import { parseJson, select } from "../../documents/mod.ts"
import { ownValue, putAllOwn, putOwn } from "../../documents/own-value.ts"
import type { Filter, JoinInclude } from "../../plan.ts"
import { fieldNamed } from "../../query/query-context.ts"
import { hasBit, type ReadonlyBits } from "../../index/bits.ts"
import type { CollectionReader, SegmentView } from "../../index/reader.ts"
import type { AnswerBudget } from "../../budget/answer-budget.ts"
import { spend } from "../../budget/cutoff.ts"
import { FilterEvaluation } from "../filter/filters.ts"
import { relatedDocs, relationOf, type Related, type Relation } from "../filter/relations.ts"
import { keyColumns } from "../rank/sort-keys.ts"
import { sortRanked, type Ranked } from "../rank/rank.ts"
import type { SearchScope } from "../scope.ts"

type Json = Record<string, unknown>

/** Documents of the joined collection that the filter's own join lets through; undefined = all. */
export const joinFilterBits = (
  scope: SearchScope,
  other: CollectionReader,
  filter: Filter | undefined,
  collection: string
): ReadonlyMap<SegmentView, ReadonlyBits> | undefined => {
  const inner = innerFilter(filter, collection)
  if (inner === undefined) return undefined
  const evaluation = new FilterEvaluation(scope, other)
  return new Map(other.views.map((view) => [view, evaluation.complete(inner, view)]))
}
const innerFilter = (filter: Filter | undefined, collection: string): Filter | undefined => {
  if (filter === undefined) return undefined
  if (filter.kind === "join" && filter.collection === collection) return filter.filter
  if (filter.kind === "join") return undefined
  // Under an `or` a document may be here for another reason: nothing is narrowed.
  if (filter.kind !== "and") return undefined
  const left = innerFilter(filter.left, collection),
    right = innerFilter(filter.right, collection)
  return left !== undefined && right !== undefined ? { kind: "and", left, right } : (left ?? right)
}

export class JoinedDocuments {
  private readonly scope: SearchScope
  private readonly budget: AnswerBudget | undefined
  constructor(scope: SearchScope, budget: AnswerBudget | undefined) {
    this.scope = scope
    this.budget = budget
  }

  /** Puts what is related to the document, and passes the join of `filter`, into `into`. */
  add(
    into: Json,
    reader: CollectionReader,
    view: SegmentView,
    doc: number,
    join: JoinInclude,
    filter: Filter | undefined
  ): void {
    const other = this.scope.collection(join.collection)
    const relation = other === undefined ? undefined : relationOf(reader.schema, other.schema)
    if (other === undefined || relation === undefined) return
    const inner = innerFilter(filter, join.collection)
    let related = relatedDocs(reader, view, doc, other, relation)
    if (inner !== undefined) {
      const allowed = joinFilterBits(this.scope, other, filter, join.collection)!
      related = related.filter((one) => hasBit(allowed.get(one.view)!, one.doc))
    }
    const count = related.length
    if (join.sort !== undefined && join.sort.length > 0) related = sortRelated(this.scope, other, related, join.sort)
    if (join.limit !== undefined && join.limit > 0) related = related.slice(0, join.limit)
    const documents = related.flatMap((one) => this.shown(other, one, join, inner))
    const isMany = isList(reader, other, relation) && !(relation.isOutgoing && inner !== undefined)
    const isNested = join.strategy === "nest_array" || isMany || documents.length > 1
    if (join.relatedDocsCount !== undefined && isNested) putOwn(into, join.relatedDocsCount, count)
    if (documents.length === 0) return
    if (join.strategy === "merge") merge(into, documents, isMany)
    else putOwn(into, join.alias ?? join.collection, isNested ? documents : documents[0])
  }
  /** The fields of a document that the join shows, with what is related to it in turn. */
  private shown(
    other: CollectionReader,
    { doc, view }: Related,
    join: JoinInclude,
    filter: Filter | undefined
  ): Json[] {
    const text = other.documents.text(view.segment.seqs[doc])
    if (text === undefined || spend(text.length)) return []
    this.budget?.hold(text.length, "joins")
    const shown: Json = { ...select(parseJson(text) as Json, { include: join.fields, exclude: join.exclude ?? [] }) }
    for (const deeper of join.joins) this.add(shown, other, view, doc, deeper, filter)
    return [shown]
  }
}
/**
 * A reference that is an array keeps its list, unless a filter picked one of its targets; anything single is an object.
 */
const isList = (reader: CollectionReader, other: CollectionReader, relation: Relation): boolean => {
  const reference = relation.isOutgoing
    ? fieldNamed(reader.schema, relation.local)
    : fieldNamed(other.schema, relation.foreign)
  return reference?.type.endsWith("[]") === true
}
/** Fields of the only document as they are, of several as lists. */
const merge = (into: Json, documents: ReadonlyArray<Json>, isMany: boolean): void => {
  if (documents.length === 1 && !isMany) putAllOwn(into, documents[0])
  else
    for (const key of new Set(documents.flatMap((one) => Object.keys(one))))
      putOwn(
        into,
        key,
        documents.map((one) => ownValue(one, key))
      )
}

const sortRelated = (
  scope: SearchScope,
  other: CollectionReader,
  related: Related[],
  sort: NonNullable<JoinInclude["sort"]>
): Related[] => {
  const matches = other.views.map((view) => ({
    view,
    allowed: undefined,
    found: new Uint32Array(0),
    scored: new Uint32Array(0),
    high: new Float64Array(0),
    low: new Float64Array(0),
    count: 0
  }))
  const columns = keyColumns(
    { scope, reader: other, distances: undefined, fused: undefined, groupSize: undefined },
    sort,
    matches
  )
  const ranked: Ranked[] = related.map(({ view, doc }) => {
    const s = other.views.indexOf(view)
    const width = columns[s].reduce((sum, column) => sum + column.width, 0)
    const keys = new Float64Array(width)
    let at = 0
    for (const column of columns[s]) {
      column.write(doc, keys, at)
      at += column.width
    }
    return { s, doc, seq: view.segment.seqs[doc], keys }
  })
  const byPlace = new Map(related.map((one) => [`${other.views.indexOf(one.view)} ${one.doc}`, one]))
  return sortRanked(ranked, sort, columns).map((entry) => byPlace.get(`${entry.s} ${entry.doc}`)!)
}
