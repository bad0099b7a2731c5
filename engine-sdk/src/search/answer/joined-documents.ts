/**
 * Documents of other collections that a hit shows or a facet counts (`docs/contract/filters.md#joins`): those that are
 * related to the hit and pass the filter's own join.
 */
import { parseJson, select } from "../../documents/mod.ts"
import { ownValue, putAllOwn, putOwn } from "../../documents/own-value.ts"
import type { JoinInclude } from "../../plan.ts"
import type { Filter } from "../../filter.ts"
import { fieldNamed } from "../../query/query-context.ts"
import { REFERRING_ORDERED_MAX, referringOrder } from "../../compat/referring-order.ts"
import { eachBit, hasBit } from "../../index/bits.ts"
import type { CollectionReader, SegmentView } from "../../index/reader.ts"
import type { AnswerBudget } from "../../budget/answer-budget.ts"
import { spend } from "../../budget/cutoff.ts"
import { allowedDocuments, isAllowed, joinedFilter, type AllowedDocuments } from "../filter/join-filter.ts"
import { relatedDocs, relationOf, type Related, type Relation } from "../filter/relations.ts"
import { keyColumns } from "../rank/sort-keys.ts"
import { sortRanked, type Ranked } from "../rank/rank.ts"
import type { SearchScope } from "../scope.ts"
import { noMatches } from "../text/segment-matches.ts"

type Json = Record<string, unknown>

/** What a join shows of another collection, resolved once for all hits. */
interface Joined {
  readonly other: CollectionReader
  readonly views: CollectionReader["views"]
  readonly relation: Relation
  /** The condition that the filter's own joins place on the other collection. */ readonly inner: Filter | undefined
  readonly of: (view: SegmentView, doc: number) => Related[]
}

export class JoinedDocuments {
  private readonly scope: SearchScope
  private readonly budget: AnswerBudget | undefined
  private readonly known = new Map<JoinInclude, Joined>()
  constructor(scope: SearchScope, budget: AnswerBudget | undefined) {
    this.scope = scope
    this.budget = budget
  }

  /** Adds to `into` the documents that are related to the given document and pass the join of `filter`. */
  add(
    into: Json,
    reader: CollectionReader,
    view: SegmentView,
    doc: number,
    join: JoinInclude,
    filter: Filter | undefined
  ): void {
    const joined = this.joined(reader, join, filter)
    if (joined === undefined) return
    const { inner, other, relation } = joined
    let related = joined.of(view, doc)
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
  private joined(reader: CollectionReader, join: JoinInclude, filter: Filter | undefined): Joined | undefined {
    const other = this.scope.collection(join.collection)
    const relation = other === undefined ? undefined : relationOf(reader.schema, other.schema)
    if (other === undefined || relation === undefined) return undefined
    // Hits of a window are read later, when the other collection may have new segments.
    const known = this.known.get(join)
    if (known?.views === other.views) return known
    const joined = joinedBy(this.scope, reader, other, relation, filter)
    this.known.set(join, joined)
    return joined
  }
  /** The fields of the document that the join shows, with its own related documents. */
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
const joinedBy = (
  scope: SearchScope,
  reader: CollectionReader,
  other: CollectionReader,
  relation: Relation,
  filter: Filter | undefined
): Joined => {
  const inner = joinedFilter(filter, relation, other.schema.name)
  const related = (view: SegmentView, doc: number): Related[] => relatedDocs(reader, view, doc, other, relation)
  if (inner === undefined) return { other, views: other.views, relation, inner, of: related }
  const allowed = allowedDocuments(scope, other, inner)
  const referring = relation.isOutgoing ? undefined : referringDocs(reader, other, relation, allowed)
  return {
    other,
    views: other.views,
    relation,
    inner,
    of: (view, doc) =>
      referring === undefined
        ? related(view, doc).filter((one) => isAllowed(allowed, one.view, one.doc))
        : (referring.get(view.segment.seqs[doc]) ?? [])
  }
}
/**
 * Allowed documents that refer to others, grouped by the insertion number of the document they refer to, in the order
 * of the reference engine; undefined if there are too many to order.
 */
const referringDocs = (
  reader: CollectionReader,
  other: CollectionReader,
  relation: Relation,
  allowed: AllowedDocuments
): ReadonlyMap<number, Related[]> | undefined => {
  const passing: Array<{ view: SegmentView; doc: number }> = []
  for (const [view, bits] of allowed)
    eachBit(bits, (doc) => {
      if (passing.length <= REFERRING_ORDERED_MAX && !(view.deleted !== undefined && hasBit(view.deleted, doc)))
        passing.push({ view, doc })
    })
  if (passing.length > REFERRING_ORDERED_MAX) return undefined
  passing.sort((a, b) => a.view.segment.seqs[a.doc] - b.view.segment.seqs[b.doc])
  const there: Relation = { local: relation.foreign, foreign: relation.local, isOutgoing: true }
  const pairs: Related[] = [],
    referred: number[] = []
  for (const { doc, view } of passing)
    for (const target of relatedDocs(other, view, doc, reader, there)) {
      pairs.push({ view, doc, key: target.key })
      referred.push(target.view.segment.seqs[target.doc])
    }
  const found = new Map<number, Related[]>()
  for (const place of referringOrder(referred)) {
    const known = found.get(referred[place])
    if (known === undefined) found.set(referred[place], [pairs[place]])
    else known.push(pairs[place])
  }
  return found
}
/** An array reference stays a list, unless a filter selected one of its targets; a single reference is an object. */
const isList = (reader: CollectionReader, other: CollectionReader, relation: Relation): boolean => {
  const reference = relation.isOutgoing
    ? fieldNamed(reader.schema, relation.local)
    : fieldNamed(other.schema, relation.foreign)
  return reference?.type.endsWith("[]") === true
}
/** Merges the fields of a single document unchanged, and the fields of several as lists. */
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
  const columns = keyColumns(
    { scope, reader: other, distances: undefined, fused: undefined, groupSize: undefined },
    sort,
    other.views.map(noMatches)
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
    return { s, doc, seq: view.segment.seqs[doc], keys: [...keys] }
  })
  const byPlace = new Map(related.map((one) => [`${other.views.indexOf(one.view)} ${one.doc}`, one]))
  return sortRanked(ranked, sort, columns).map((entry) => byPlace.get(`${entry.s} ${entry.doc}`)!)
}
