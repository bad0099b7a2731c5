/**
 * From an execution to what the wire shows: hits with their scores and highlights, groups, facets, the envelope
 * (engine-contract 6.5).
 */
import { parseJson, select, StoredDocument } from "../../documents/mod.ts"
import { ownValue, putAllOwn, putOwn } from "../../documents/own-value.ts"
import { fail, notFound, ok, type Result } from "../../errors.ts"
import type {
  FacetCount,
  FieldValue,
  Filter,
  Hit,
  HitWindow,
  JoinInclude,
  SearchAnswer,
  SearchPlan,
  SortKey,
  TextMatchInfo,
  TextQuery,
  UnionAnswer,
  UnionPlan
} from "../../plan.ts"
import { fieldNamed } from "../../query/query-context.ts"
import { bitsOf, hasBit, setBit } from "../../index/bits.ts"
import type { CollectionReader, SegmentView } from "../../index/reader.ts"
import { AnswerRefused } from "../../budget/answer-budget.ts"
import { lazyHit, partialHit, putPage, storedHit, type FoundHit } from "./answer-json.ts"
import { Allowance, Cutoff, GIVE_WAY, LateQuantum, sortSpending, spend, within } from "../../budget/cutoff.ts"
import { Execution, fixedPlace, organicPlace, type Placed } from "../execution/execution.ts"
import { chooseByNumber, cutByCount, numberOfValue } from "../../compat/facet-cut.ts"
import { compareCounts, countFacets, eachOrdinal, type FacetedSet } from "../facets/facets.ts"
import { FilterEvaluation } from "../filter/filters.ts"
import { scoreAsBigInt } from "../text/field-score.ts"
import { fieldReader, type FieldReader } from "./field-values.ts"
import { Highlighter, markedWords, NO_MARKS } from "../highlight/highlight.ts"
import { relatedDocs, relationOf } from "../filter/joins.ts"
import { interleave, settlePositions } from "../rank/placement.ts"
import type { SearchScope } from "../scope.ts"
import { keyColumns, shownDistance_m } from "../rank/sort-keys.ts"
import { sortRanked, type Ranked } from "../rank/rank.ts"
import { releaseMatches } from "../text/segment-matches.ts"

type Json = Record<string, unknown>
/**
 * For counting what was found, and for making hits of it, when the time is over. With what ordering has, the whole of a
 * search is its `search_cutoff_ms` and fifteen milliseconds.
 */
const FACETS_MIN_ms = 5,
  HITS_MIN_ms = 5
/** The same for a union: merging its lists and making hits. */
const UNION_MIN_ms = 10

/** What was refused on the way is a failure like any other; a defect stays one. */
const withinBudget = <A>(plans: ReadonlyArray<SearchPlan>, run: () => Result<A>): Result<A> => {
  const budget = plans[0]?.budget
  if (budget?.refusal !== undefined) return fail(budget.refusal)
  const held = budget?.held ?? 0
  try {
    return run()
  } catch (error) {
    if (!(error instanceof AnswerRefused)) {
      // Given up, and begun anew elsewhere: what it held is held no more.
      budget?.holdAgain(held)
      throw error
    }
    budget?.refuse(error)
    return fail(error.error)
  }
}
/**
 * NotFound for an unknown collection; Invalid or Overloaded where the answer becomes too large. Runs to the end on the
 * calling thread, unless the allowance has a quantum: then it may throw `GIVE_WAY`. `left_ms`: of what the request may
 * take, if that is less than the plan says.
 */
export const executeSearch = (
  scope: SearchScope,
  plan: SearchPlan,
  allowance = new Allowance(),
  left_ms = Infinity
): Result<SearchAnswer> => withinBudget([plan], () => answerOf(scope, plan, allowance, left_ms))
const answerOf = (
  scope: SearchScope,
  plan: SearchPlan,
  allowance: Allowance,
  left_ms: number
): Result<SearchAnswer> => {
  const started = performance.now()
  const reader = scope.collection(plan.collection)
  if (reader === undefined) return fail(notFound("Collection not found"))
  if (plan.vector?.likeId !== undefined && reader.locate(plan.vector.likeId) === undefined)
    return fail({
      kind: "Invalid",
      message: "Document id referenced in vector query is not found.",
      parameter: "vector_query"
    })
  const from = plan.offset,
    end = Math.min(plan.offset + plan.limit, plan.hits_max)
  const execution = new Execution(scope, reader, plan, Math.max(from, end), cutoffOf(allowance, plan, left_ms))
  const render = new HitRenderer(execution)
  const facetSets = (): FacetedSet[] => execution.facetedSets
  let answer: SearchAnswer
  if (execution.grouping === undefined && plan.window !== undefined) {
    const organic = execution.rank(plan.window.size).slice(0, plan.window.size).map(organicPlace)
    const fixed = execution.pinned.map((pin) => ({ ...fixedPlace(pin), position: pin.position }))
    answer = envelope(execution, execution.foundDocuments, started, {
      hits: [],
      facet_counts: facetsOf(execution, facetSets(), interleave(organic, fixed, end).slice(from))
    })
    answer.window = new RenderedWindow(
      plan.window.fields,
      new LateQuantum(execution.cutoff),
      organic.map((placed) => ({ placed, render })),
      fixed.map((placed) => ({ placed, render, position: placed.position }))
    )
  } else if (execution.grouping === undefined) {
    const placed = execution.page(from, end)
    const { found, hits } = rendering(execution, () => {
      const found = render.page(placed)
      return { found, hits: found === undefined ? placed.flatMap((one) => render.hit(one) ?? []) : [] }
    })
    answer = envelope(execution, execution.foundDocuments, started, {
      page: found,
      hits,
      facet_counts: facetsOf(execution, facetSets(), placed)
    })
  } else {
    const { groups, total } = execution.groupPage(from, end)
    const grouped = rendering(execution, () =>
      groups.map(({ members, found }) => ({
        group_key: render.groupKey(members[0]),
        hits: members.flatMap((one) => render.hit(one) ?? []),
        found
      }))
    )
    answer = envelope(execution, total, started, {
      found_docs: execution.foundDocuments,
      grouped_hits: grouped,
      facet_counts: facetsOf(
        execution,
        facetSets(),
        groups.flatMap(({ members }) => members)
      )
    })
  }
  if (plan.injected !== undefined) answer.organic = execution.organicDocuments
  releaseMatches(execution.matches)
  return ok(answer)
}

const cutoffOf = (allowance: Allowance, plan: SearchPlan, left_ms: number): Cutoff =>
  new Cutoff(allowance, Math.min(allowance.used_ms() + plan.cutoff_ms, left_ms))
const rendering = <A>(execution: Execution, run: () => A): A => {
  const cutoff = execution.cutoff.atLeast(HITS_MIN_ms)
  const made = within(cutoff, run)
  execution.isCutOff ||= cutoff.isPast
  return made
}

/**
 * `page`: hits that nobody may ever read, in the place of `hits`. Members are put one by one: that is several times
 * cheaper than spreading what is there.
 */
const envelope = (
  execution: Execution,
  found: number,
  started: number,
  parts: Pick<SearchAnswer, "found_docs" | "hits" | "grouped_hits" | "facet_counts"> & {
    readonly page?: ReadonlyArray<FoundHit> | undefined
  }
): SearchAnswer => {
  const { plan, reader } = execution
  const { echo } = plan
  const answer = { facet_counts: parts.facet_counts, found } as SearchAnswer
  if (parts.found_docs !== undefined) answer.found_docs = parts.found_docs
  if (parts.grouped_hits !== undefined) answer.grouped_hits = parts.grouped_hits
  else if (parts.page !== undefined) putPage(answer, parts.page, plan.highlight.v1)
  else answer.hits = parts.hits ?? []
  if (plan.metadata !== undefined) answer.metadata = plan.metadata
  if (echo.offset !== undefined) answer.offset = echo.offset
  if (!echo.excludeOutOf) answer.out_of = reader.documentCount
  if (echo.page !== undefined) answer.page = echo.page
  answer.request_params = { collection_name: plan.collection, first_q: echo.q, per_page: echo.per_page, q: echo.q }
  answer.search_cutoff = execution.isCutOff
  if (!echo.excludeSearchTime) answer.search_time_ms = Math.round(performance.now() - started)
  return answer
}

const facetsOf = (execution: Execution, sets: FacetedSet[], shown: ReadonlyArray<Placed>): FacetCount[] => {
  const { plan, reader, scope } = execution
  if (plan.facets.length === 0) return []
  const cutoff = execution.cutoff.atLeast(FACETS_MIN_ms)
  const counted = within(cutoff, () => countedFacets(scope, reader, plan, sets, shown))
  execution.isCutOff ||= cutoff.isPast
  return counted
}
const countedFacets = (
  scope: SearchScope,
  reader: CollectionReader,
  plan: SearchPlan,
  sets: FacetedSet[],
  shown: ReadonlyArray<Placed>
): FacetCount[] => {
  const own = countFacets(
    reader,
    { ...plan, facets: plan.facets.filter(({ topK, collection }) => !topK && collection === undefined) },
    sets
  )
  const topSets = plan.facets.some(({ topK }) => topK)
    ? sets.map(({ view, groupOf }, s) => {
        const bits = bitsOf(view.segment.docs)
        for (const one of shown) if (one.s === s) setBit(bits, one.doc)
        return { view, bits, groupOf }
      })
    : []
  const top = countFacets(
    reader,
    { ...plan, facets: plan.facets.filter(({ topK, collection }) => topK && collection === undefined) },
    topSets
  )
  let o = 0,
    t = 0
  return plan.facets.map((request) =>
    request.collection !== undefined
      ? joinedFacet(scope, reader, plan, request, sets)
      : request.topK
        ? top[t++]
        : own[o++]
  )
}

/**
 * A facet of another collection: its documents that are related to a match (and pass the join's own filter) are
 * counted.
 */
const joinedFacet = (
  scope: SearchScope,
  reader: CollectionReader,
  plan: SearchPlan,
  request: SearchPlan["facets"][number],
  sets: ReadonlyArray<FacetedSet>
): FacetCount => {
  const other = scope.collection(request.collection!)
  const relation = other === undefined ? undefined : relationOf(reader.schema, other.schema)
  const counts = new Map<string, number>()
  const counted = new Map<SegmentView, Set<number>>()
  if (other !== undefined && relation !== undefined) {
    const allowed = joinFilterBits(scope, other, plan.filter, request.collection!)
    for (const { view, bits } of sets)
      for (let doc = 0; doc < view.segment.docs; doc++) {
        if (!hasBit(bits, doc)) continue
        if (spend(8)) break
        for (const target of relatedDocs(reader, view, doc, other, relation)) {
          const set = allowed?.get(target.view)
          if (set !== undefined && !hasBit(set, target.doc)) continue
          // A related document counts once, however many matches lead to it.
          let seen = counted.get(target.view)
          if (seen === undefined) counted.set(target.view, (seen = new Set()))
          if (seen.has(target.doc)) continue
          seen.add(target.doc)
          const column = target.view.segment.values(request.field)
          if (column !== undefined)
            eachOrdinal(column, target.doc, (ordinal) => {
              const value = column.table.text(ordinal)
              if (!counts.has(value)) plan.budget?.hold(value.length, "facets")
              counts.set(value, (counts.get(value) ?? 0) + 1)
            })
        }
      }
  }
  const numberOf = other === undefined ? undefined : numberOfValue(other, request.field)
  const shown =
    other === undefined || numberOf === undefined
      ? []
      : cutByCount(
          [...counts],
          plan.facetValuesMax,
          ([, count]) => count,
          chooseByNumber(
            other,
            request.field,
            ([value]) => value,
            ([value]) => numberOf(value)
          )
        )
  sortSpending(shown, (a, b) => compareCounts(a[0], a[1], b[0], b[1]))
  return {
    field_name: `${request.collection}(${request.field})`,
    sampled: false,
    counts: shown.map(([value, count]) => ({
      value,
      highlighted: value,
      count,
      facet_filter: `$${request.collection}(${request.field}: \`${value}\`)`
    })),
    stats: { total_values: counts.size }
  }
}
/** Documents of the joined collection that the filter's own join lets through; undefined = all. */
const joinFilterBits = (
  scope: SearchScope,
  other: CollectionReader,
  filter: Filter | undefined,
  collection: string
): Map<SegmentView, Uint32Array> | undefined => {
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

interface WindowEntry {
  readonly placed: Placed
  readonly render: HitRenderer
  readonly more?: Pick<Hit, "search_index" | "collection">
}
/** Hits of a window; documents that are gone by now are left out. */
class RenderedWindow implements HitWindow {
  readonly #entries: ReadonlyArray<WindowEntry & { readonly stored: StoredDocument }>
  readonly organic: ReadonlyArray<Hit>
  readonly ids: ReadonlyArray<string>
  readonly injected: HitWindow["injected"]
  readonly #fields: ReadonlyArray<string>
  readonly #late: LateQuantum
  #kept: ReadonlyMap<string, ReadonlyArray<FieldValue | undefined>> | undefined
  constructor(
    fields: ReadonlyArray<string>,
    late: LateQuantum,
    organic: ReadonlyArray<WindowEntry>,
    injected: ReadonlyArray<WindowEntry & { readonly position: number }>
  ) {
    this.#fields = fields
    this.#late = late
    this.#entries = withStored(organic)
    this.organic = this.#entries.map(({ placed, render, stored, more = {} }) =>
      render.lazyHit(placed, stored, more, late)
    )
    this.ids = this.#entries.map(({ placed, render }) => render.idOf(placed))
    this.injected = withStored(injected).map(({ placed, position, render, stored, more = {} }) => ({
      id: render.idOf(placed),
      hit: render.lazyHit(placed, stored, more, late),
      position
    }))
  }
  value(i: number, field: string): FieldValue | undefined {
    const { placed, render, stored } = this.#entries[i]
    return this.#kept === undefined ? render.value(placed, field, stored) : this.#kept.get(field)?.[i]
  }
  keep(): void {
    if (this.#kept !== undefined) return
    // Vectors are views into a segment.
    const lasting = (value: FieldValue | undefined): FieldValue | undefined =>
      value instanceof Float32Array ? value.slice() : value
    const kept = new Map(
      this.#fields.map((field) => [field, this.#entries.map((_entry, i) => lasting(this.value(i, field)))])
    )
    this.#kept = kept
    try {
      this.#late.run(() => {
        for (const hit of this.organic) void hit.highlight
        for (const { hit } of this.injected) void hit.highlight
      })
    } catch (error) {
      if (error !== GIVE_WAY) throw error
    }
  }
  get isWhole(): boolean {
    return !this.#late.isOver
  }
}
const withStored = <A extends WindowEntry>(entries: ReadonlyArray<A>): Array<A & { readonly stored: StoredDocument }> =>
  entries.flatMap((entry) => {
    const stored = entry.render.stored(entry.placed)
    return stored === undefined ? [] : [{ ...entry, stored }]
  })

const NO_SCORE = { info: undefined, score: undefined }
/** Turns ranked documents into hits; reads and parses JSON only for those. */
class HitRenderer {
  private readonly execution: Execution
  /** Of the moment of the search: hits of a window are read later, when the reader may have others. */
  private readonly views: ReadonlyArray<SegmentView>
  private readonly highlighter: Highlighter | undefined
  private readonly showsTextMatch: boolean
  private readonly joins: ReadonlyArray<JoinInclude>
  private readonly geoKeys: ReadonlyArray<Extract<SortKey, { kind: "geo" }>>
  private readonly vectorKey: number
  private readonly boostsKey: number
  /** By field and segment. */ private readonly fieldReaders = new Map<string, FieldReader[]>()
  constructor(execution: Execution) {
    this.execution = execution
    this.views = execution.reader.views
    const { plan, reader, scope } = execution
    this.highlighter =
      plan.text === undefined || (plan.text.tokens.length === 0 && plan.text.phrases.length === 0)
        ? undefined
        : execution.relevance === undefined
          ? new Highlighter(
              scope,
              reader.schema,
              plan.highlight,
              plan.selection,
              markedWords(plan.text, execution.combinations),
              plan.text,
              undefined,
              execution.knownTerms,
              plan.budget
            )
          : new Highlighter(
              scope,
              reader.schema,
              plan.highlight,
              plan.selection,
              markedWords({ ...plan.text, tokens: [] }, []),
              plan.text,
              execution.relevance.marker(),
              undefined,
              plan.budget
            )
    this.showsTextMatch = plan.sort.some(({ kind }) => kind === "text_match")
    this.joins = plan.selection.joins
    this.geoKeys = plan.sort.filter((key) => key.kind === "geo")
    this.vectorKey = plan.sort.findIndex(({ kind }) => kind === "vector_query")
    this.boostsKey = plan.sort.findIndex(({ kind }) => kind === "boosts")
  }

  /**
   * The hits of a page that shows whole documents and says nothing of a hit but its score; undefined where there is
   * more to say. Documents that are gone are left out.
   */
  page(placed: ReadonlyArray<Placed>): FoundHit[] | undefined {
    const { execution } = this
    if (
      !this.isWhole ||
      this.geoKeys.length > 0 ||
      this.vectorKey >= 0 ||
      this.boostsKey >= 0 ||
      execution.distances !== undefined ||
      execution.hybrid !== undefined ||
      execution.pinned.length > 0
    )
      return undefined
    const found: FoundHit[] = []
    for (const one of placed) {
      const stored = this.stored(one)
      if (stored === undefined) continue
      const marks = this.highlighter?.marks(stored, this.views[one.s].segment, one.s, one.doc) ?? NO_MARKS
      const { info, score } = this.showsTextMatch ? this.factsOf(one) : NO_SCORE
      found.push({ stored, marks, score, info })
    }
    return found
  }
  /** undefined when the stored document is gone already. */
  hit(placed: Placed): Hit | undefined {
    const stored = this.stored(placed)
    if (stored === undefined) return undefined
    const { document, highlight, highlights } = this.content(placed, stored)
    const hit = this.isWhole ? storedHit(stored, highlight) : partialHit(stored, document!, highlight)
    if (highlights !== undefined) hit.highlights = highlights
    return this.addFacts(hit, placed)
  }
  /** What is stored now: reading it can wait. */
  stored(placed: Placed): StoredDocument | undefined {
    const { reader } = this.execution
    const text = reader.documents.text(this.views[placed.s].segment.seqs[placed.doc])
    if (text === undefined) return undefined
    spend(text.length >>> 3)
    this.execution.plan.budget?.hold(text.length, "documents")
    return new StoredDocument(text)
  }
  /** The same hit for a window: document and highlights are made when they are read, everything else is taken now. */
  lazyHit(
    placed: Placed,
    stored: StoredDocument,
    more: Pick<Hit, "search_index" | "collection">,
    late: LateQuantum
  ): Hit {
    const hit = lazyHit(this.isWhole ? stored : undefined, () => late.run(() => this.content(placed, stored)))
    return Object.assign(this.addFacts(hit, placed), more)
  }

  private get isWhole(): boolean {
    const { selection } = this.execution.plan
    return selection.include.length === 0 && selection.exclude.length === 0 && this.joins.length === 0
  }
  /** Document and highlights as the plan selects them; no document where it is shown whole, as it is stored. */
  private content(
    placed: Placed,
    stored: StoredDocument
  ): Partial<Pick<Hit, "document" | "highlights">> & Pick<Hit, "highlight"> {
    const { plan, reader } = this.execution
    const view = this.views[placed.s]
    const marks = this.highlighter?.marks(stored, view.segment, placed.s, placed.doc) ?? NO_MARKS
    const marked = plan.highlight.v1
      ? { highlight: marks.highlight, highlights: marks.highlights }
      : { highlight: marks.highlight }
    if (this.isWhole) return marked
    const document = { ...select(stored.value, plan.selection) }
    for (const join of this.joins) this.addJoined(document, reader, view, placed.doc, join, plan.filter)
    return { ...marked, document }
  }
  /** Everything of a hit that comes from the search itself. */
  private addFacts(hit: Hit, placed: Placed): Hit {
    const { execution } = this
    const { segment } = this.views[placed.s]
    if (placed.isCurated) hit.curated = true
    if (placed.injection?.kind === "pin") hit.pinned = true
    if (placed.injection?.sponsored !== undefined) hit.sponsored = { ...placed.injection.sponsored }
    const geo = this.geoKeys
    if (geo.length > 0)
      hit.geo_distance_meters = Object.fromEntries(
        geo.map((key) => [key.field, shownDistance_m(segment, key, placed.doc)])
      )
    const distance = execution.distances?.[placed.s][placed.doc]
    if (distance !== undefined && !Number.isNaN(distance) && !placed.isCurated) hit.vector_distance = distance
    const { vectorKey } = this
    if (vectorKey >= 0 && placed.ranked !== undefined) hit.vector_distance = -this.keyOf(placed.ranked, vectorKey)
    if (this.showsTextMatch && !placed.isCurated) {
      const { info, score } = this.factsOf(placed)
      hit.text_match = score
      hit.text_match_info = info
    }
    if (execution.hybrid !== undefined && !placed.isCurated)
      hit.hybrid_search_info = { rank_fusion_score: execution.hybrid.fused[placed.s][placed.doc] }
    if (this.boostsKey >= 0 && placed.ranked !== undefined) hit.boosts = this.keyOf(placed.ranked, this.boostsKey)
    return hit
  }
  idOf(placed: Placed): string {
    return this.views[placed.s].segment.idOf(placed.doc)
  }
  /** A field whatever is selected. */
  value(placed: Placed, name: string, stored: StoredDocument): FieldValue | undefined {
    const { reader } = this.execution
    let readers = this.fieldReaders.get(name)
    if (readers === undefined) this.fieldReaders.set(name, (readers = []))
    return shortened(
      (readers[placed.s] ??= fieldReader(this.views[placed.s].segment, name, fieldNamed(reader.schema, name)))(
        placed.doc,
        stored
      )
    )
  }
  private keyOf(ranked: Ranked, k: number): number {
    let at = 0
    for (let i = 0; i < k; i++) at += this.execution.columns[ranked.s][i].width
    return ranked.keys[at]
  }

  private factsOf({ doc, s }: Placed): { readonly score: bigint; readonly info: TextMatchInfo } {
    const { matches, relevance } = this.execution
    const { high, low } = matches[s]
    const facts = this.scoreOf(high[doc], low[doc])
    const info = relevance?.infoOf(facts.score, s, doc)
    return info === undefined ? facts : { score: facts.score, info }
  }
  private shared:
    | { readonly high: number; readonly low: number; readonly score: bigint; readonly info: TextMatchInfo }
    | undefined
  /** Neighbours in an answer often have one score. */
  private scoreOf(high: number, low: number): { readonly score: bigint; readonly info: TextMatchInfo } {
    if (this.shared === undefined || this.shared.high !== high || this.shared.low !== low) {
      const score = scoreAsBigInt(high, low)
      this.shared = { high, low, score, info: textMatchInfo(score, high, low, this.execution.plan.text) }
    }
    return this.shared
  }

  /** Values of the group fields with their JSON types; missing ones are skipped (9.6). */
  groupKey(placed: Placed): unknown[] {
    const { plan, reader } = this.execution
    const { segment } = this.views[placed.s]
    return plan.group!.fields.flatMap((name) => {
      const field = reader.schema.fields.find((candidate) => candidate.name === name)
      const column = segment.values(name)
      if (field === undefined || column === undefined) return []
      const values: unknown[] = []
      eachOrdinal(column, placed.doc, (ordinal) => {
        const text = column.table.text(ordinal)
        values.push(
          /^(int|float)/.test(field.type) ? Number(text) : field.type.startsWith("bool") ? text === "true" : text
        )
      })
      if (values.length === 0) return []
      return [column.single === undefined ? values : values[0]]
    })
  }

  // ---- joined documents
  // ----------------------------------------------------------------------------------------------

  private addJoined(
    into: Json,
    reader: CollectionReader,
    view: SegmentView,
    doc: number,
    join: JoinInclude,
    filter: Filter | undefined
  ): void {
    const { scope } = this.execution
    const other = scope.collection(join.collection)
    const relation = other === undefined ? undefined : relationOf(reader.schema, other.schema)
    if (other === undefined || relation === undefined) return
    const name = join.alias ?? join.collection
    const inner = innerFilter(filter, join.collection)
    let related = relatedDocs(reader, view, doc, other, relation)
    if (inner !== undefined) {
      const allowed = joinFilterBits(scope, other, filter, join.collection)!
      related = related.filter((one) => hasBit(allowed.get(one.view)!, one.doc))
    }
    const count = related.length
    if (join.sort !== undefined && join.sort.length > 0) related = sortRelated(scope, other, related, join.sort)
    if (join.limit !== undefined && join.limit > 0) related = related.slice(0, join.limit)
    const documents = related.flatMap((one) => {
      const text = other.documents.text(one.view.segment.seqs[one.doc])
      if (text === undefined || spend(text.length)) return []
      this.execution.plan.budget?.hold(text.length, "joins")
      const shown: Json = { ...select(parseJson(text) as Json, { include: join.fields, exclude: join.exclude ?? [] }) }
      for (const deeper of join.joins) this.addJoined(shown, other, one.view, one.doc, deeper, inner)
      return [shown]
    })
    // A reference that is an array keeps its list, unless a filter picked one of its targets; anything single is an
    // object.
    const reference = relation.isOutgoing
      ? fieldNamed(reader.schema, relation.local)
      : fieldNamed(other.schema, relation.foreign)
    const isMany = reference?.type.endsWith("[]") === true && !(relation.isOutgoing && inner !== undefined)
    const isList = join.strategy === "nest_array" || isMany || documents.length > 1
    if (join.relatedDocsCount !== undefined && isList) putOwn(into, join.relatedDocsCount, count)
    if (documents.length === 0) return
    if (join.strategy === "merge") {
      if (documents.length === 1 && !isMany) putAllOwn(into, documents[0])
      else
        for (const key of new Set(documents.flatMap((one) => Object.keys(one))))
          putOwn(
            into,
            key,
            documents.map((one) => ownValue(one, key))
          )
      return
    }
    putOwn(into, name, isList ? documents : documents[0])
  }
}

/** Characters of a text, and elements of a list, that stages look at: a window has hundreds of hits. */
const VALUE_CHARACTERS_MAX = 4_096,
  VALUE_ELEMENTS_MAX = 256
const shortened = (value: FieldValue | undefined): FieldValue | undefined =>
  typeof value === "string"
    ? value.slice(0, VALUE_CHARACTERS_MAX)
    : Array.isArray(value) && value.length > VALUE_ELEMENTS_MAX && typeof value[0] !== "number"
      ? value.slice(0, VALUE_ELEMENTS_MAX)
      : value
const TWO_8 = 0x100,
  TWO_11 = 0x800,
  TWO_19 = 0x80000,
  TWO_21 = 0x200000,
  TWO_24 = 0x1000000,
  TWO_27 = 0x8000000,
  TWO_29 = 0x20000000
/** The parts of a score (5.5), out of its upper and lower half; only a sum needs more than a double holds. */
const textMatchInfo = (score: bigint, high: number, low: number, text: TextQuery | undefined): TextMatchInfo => {
  const tokens = Math.floor(high / TWO_27)
  const type = text?.textMatchType ?? "max_score"
  const best =
    type === "max_weight"
      ? (high % TWO_19) * TWO_29 + Math.floor(low / 8)
      : (high % TWO_27) * TWO_21 + Math.floor(low / TWO_11)
  const isNone = type === "sum_score" ? high % TWO_27 === 0 && low < 8 : best === 0
  const typos = type === "sum_score" ? Number((score >> 27n) & 0xffn) : Math.floor(best / TWO_24) % TWO_8
  return {
    best_field_score: type === "sum_score" ? ((score & ((1n << 59n) - 1n)) >> 3n).toString() : String(best),
    best_field_weight:
      type === "sum_score" ? 0 : type === "max_weight" ? Math.floor(high / TWO_19) % TWO_8 : (low >>> 3) % TWO_8,
    fields_matched: low & 7,
    num_tokens_dropped: Math.max(0, (text?.tokens.length ?? 0) - tokens),
    score: score.toString(),
    tokens_matched: tokens,
    typo_prefix_score: isNone ? 0 : 255 - typos
  }
}

const sortRelated = (
  scope: SearchScope,
  other: CollectionReader,
  related: Array<{ view: SegmentView; doc: number; key: string }>,
  sort: NonNullable<JoinInclude["sort"]>
): Array<{ view: SegmentView; doc: number; key: string }> => {
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

// ---- union (6.10) --------------------------------------------------------------------------------------------------

/** Hits among which a union looks for repetitions, at least. */
const UNION_WINDOW = 250

/**
 * One ranked list over several plans; ties go by plan, then newest first. As `executeSearch` for the rest; the time is
 * the longest that one of the plans says.
 */
export const executeUnion = (
  scope: SearchScope,
  union: UnionPlan,
  allowance = new Allowance(),
  left_ms = Infinity
): Result<UnionAnswer> => withinBudget(union.plans, () => unionOf(scope, union, allowance, left_ms))
const unionOf = (scope: SearchScope, union: UnionPlan, allowance: Allowance, left_ms: number): Result<UnionAnswer> => {
  const most_ms = union.plans.reduce((most, { cutoff_ms }) => Math.max(most, cutoff_ms), 0)
  const started = performance.now()
  const end = Math.min(union.offset + union.limit, union.hits_max)
  const executions: Execution[] = []
  const begun_ms = allowance.used_ms()
  for (const plan of union.plans) {
    const reader = scope.collection(plan.collection)
    if (reader === undefined) return fail(notFound(`\`${plan.collection}\` collection not found.`))
    executions.push(
      new Execution(scope, reader, plan, Infinity, cutoffOf(allowance, plan, Math.min(left_ms, most_ms + begun_ms)))
    )
  }
  // All lists are there: what is made of them has its few milliseconds in any case.
  const cutoff = new Cutoff(allowance, Math.min(begun_ms + most_ms, left_ms)).atLeast(UNION_MIN_ms)
  const answer = within(cutoff, () => mergedUnion(executions, union, end, started))
  if (cutoff.isPast) answer.search_cutoff = true
  for (const { matches } of executions) releaseMatches(matches)
  return ok(answer)
}
const mergedUnion = (
  executions: ReadonlyArray<Execution>,
  union: UnionPlan,
  end: number,
  started: number
): UnionAnswer => {
  const grouped = executions.every(({ grouping }) => grouping !== undefined)
  const renderers = executions.map((execution) => new HitRenderer(execution))
  const reach = Math.max(end, union.window?.size ?? 0)
  // Removing duplicates needs the whole list of each plan, as `found` shrinks with them.
  const lists = executions.map((execution, at) => {
    const size = Math.max(
      1,
      union.removeDuplicates || grouped ? execution.foundDocuments : Math.min(execution.foundDocuments, reach)
    )
    return execution.rank(size).map((ranked): UnionPlaced => ({ at, placed: organicPlace(ranked) }))
  })
  const keyOf = ({ at, placed }: UnionPlaced): string =>
    `${executions[at].plan.collection}\n${executions[at].reader.views[placed.s].segment.seqs[placed.doc]}`
  const { fixed, repeated } = fixedOf(executions, keyOf)
  const seen = new Set<string>()
  const counted = new Set<string>()
  for (const one of fixed)
    if (one.placed.injection !== undefined) {
      seen.add(keyOf(one))
      counted.add(keyOf(one))
    }
  let removed = repeated
  const unique = mergeLists(executions, lists).filter((one) => {
    if (!union.removeDuplicates || grouped) return true
    spend(16)
    const key = keyOf(one)
    if (seen.has(key)) {
      // Decision: `found` shrinks only by repetitions of the best hits, as recorded.
      if (counted.has(key)) removed++
      return false
    }
    if (seen.size < Math.max(UNION_WINDOW, end)) counted.add(key)
    seen.add(key)
    return true
  })
  const moreOf = (at: number): Pick<Hit, "search_index" | "collection"> => ({
    collection: executions[at].plan.collection,
    search_index: at
  })
  const show = ({ at, placed }: UnionPlaced): Hit[] => {
    const hit = renderers[at].hit(placed)
    return hit === undefined ? [] : [{ ...hit, ...moreOf(at) }]
  }
  const collections = new Map(executions.map(({ plan, reader }) => [plan.collection, reader.documentCount]))
  const answer: UnionAnswer = {
    found: executions.reduce((total, execution) => total + execution.foundDocuments, 0) - removed,
    ...(grouped
      ? {}
      : { hits: union.window === undefined ? interleave(unique, fixed, end).slice(union.offset).flatMap(show) : [] }),
    ...(union.echoOffset === undefined ? {} : { offset: union.echoOffset }),
    out_of: [...collections.values()].reduce((total, n) => total + n, 0),
    ...(union.page === undefined ? {} : { page: union.page }),
    search_cutoff: executions.some(({ isCutOff }) => isCutOff),
    search_time_ms: Math.round(performance.now() - started),
    union_request_params: executions.map((execution) => ({
      collection_name: execution.plan.collection,
      first_q: execution.plan.echo.q,
      found: execution.foundDocuments,
      per_page: execution.plan.echo.per_page,
      q: execution.plan.echo.q
    }))
  }
  if (executions.some(({ plan }) => plan.injected !== undefined))
    answer.organic = executions.map((execution) => execution.organicDocuments)
  if (!grouped && union.window !== undefined) {
    const entryOf = ({ at, placed }: UnionPlaced): WindowEntry => ({ placed, render: renderers[at], more: moreOf(at) })
    answer.window = new RenderedWindow(
      union.window.fields,
      new LateQuantum(executions[0].cutoff),
      unique.slice(0, union.window.size).map(entryOf),
      fixed.map((one) => ({ ...entryOf(one), position: one.position }))
    )
  }
  if (grouped) {
    const groups = new Map<string, { key: unknown[]; members: Array<{ at: number; placed: Placed }>; found: number }>()
    for (const one of interleave(unique, fixed, Infinity)) {
      spend(64)
      const key = renderers[one.at].groupKey(one.placed)
      const text = JSON.stringify(key)
      let group = groups.get(text)
      if (group === undefined) groups.set(text, (group = { key, members: [], found: 0 }))
      group.found++
      if (group.members.length < executions[one.at].plan.group!.limit) group.members.push(one)
    }
    answer.found = groups.size
    answer.grouped_hits = [...groups.values()]
      .slice(union.offset, end)
      .map(({ key, members, found }) => ({ group_key: key, found, hits: members.flatMap(show) }))
  }
  return answer
}
interface UnionPlaced {
  readonly at: number
  readonly placed: Placed
}
/**
 * What does not stand where its rank says: injected hits at their positions, the first plan's first, then curated ones
 * in front of everything, as recorded. A document that several plans inject is shown and counted once (`repeated`: how
 * often not).
 */
const fixedOf = (
  executions: ReadonlyArray<Execution>,
  keyOf: (one: UnionPlaced) => string
): { readonly fixed: ReadonlyArray<UnionPlaced & { readonly position: number }>; readonly repeated: number } => {
  const all = executions.flatMap((execution, at) =>
    execution.pinned.map((pin) => ({ at, placed: fixedPlace(pin), position: pin.position }))
  )
  const shown = new Set<string>()
  const injected = all.filter((one) => one.placed.injection !== undefined)
  const once = injected.filter((one) => !shown.has(keyOf(one)) && shown.add(keyOf(one)).size > 0)
  const curated = all.filter((one) => one.placed.injection === undefined).map((one, i) => ({ ...one, position: i + 1 }))
  return { fixed: settlePositions([...once, ...curated]), repeated: injected.length - once.length }
}
/** One list in the order of the sort keys. */
const mergeLists = (
  executions: ReadonlyArray<Execution>,
  lists: ReadonlyArray<ReadonlyArray<UnionPlaced>>
): UnionPlaced[] => {
  const all = lists.flat()
  const keysOf = executions.map(({ plan }) => plan.sort)
  const texts = new Map<Placed, Array<string | undefined>>()
  for (const { at, placed } of all) {
    spend(16)
    texts.set(
      placed,
      executions[at].columns[placed.s].map((column) => column.text?.(placed.doc))
    )
  }
  return sortSpending(all, (a, b) => {
    const x = a.placed.ranked!,
      y = b.placed.ranked!
    let at = 0
    for (let k = 0; k < keysOf[a.at].length; k++) {
      const s = texts.get(a.placed)![k],
        t = texts.get(b.placed)![k]
      const { width } = executions[a.at].columns[x.s][k]
      if (s !== undefined && t !== undefined) {
        if (s !== t) return (s < t ? -1 : 1) * (keysOf[a.at][k].order === "desc" ? -1 : 1)
      } else for (let i = at; i < at + width; i++) if (x.keys[i] !== y.keys[i]) return y.keys[i] > x.keys[i] ? 1 : -1
      at += width
    }
    return a.at - b.at || y.seq - x.seq
  })
}
