/**
 * Turns ranked documents into hits: the stored document, highlighted and reduced to the selected fields, with
 * everything that the search knows about it.
 */
import { select, StoredDocument } from "../../documents/mod.ts"
import type { FieldValue, Hit, JoinInclude, SortKey, TextMatchInfo } from "../../plan.ts"
import { fieldNamed } from "../../query/query-context.ts"
import type { SegmentView } from "../../index/reader.ts"
import { spend, type LateQuantum } from "../../budget/cutoff.ts"
import type { Execution } from "../execution/execution.ts"
import type { Placed } from "../execution/placed.ts"
import { eachOrdinal } from "../../index/columns.ts"
import { Highlighter, markedWords } from "../highlight/highlight.ts"
import { NO_MARKS } from "../highlight/marks.ts"
import type { Ranked } from "../rank/rank.ts"
import { shownDistance_m } from "../rank/sort-keys.ts"
import { scoreAsBigInt } from "../text/field-score.ts"
import { lazyHit, partialHit, storedHit } from "./answer-json.ts"
import type { FoundHit } from "./page-text.ts"
import type { SegmentHits } from "./hit-column.ts"
import { fieldReader, type FieldReader } from "./field-values.ts"
import { JoinedDocuments } from "./joined-documents.ts"
import { textMatchInfo } from "./text-match-info.ts"

/** Maximum characters of a text and elements of a list that stages read, because a window has hundreds of hits. */
const VALUE_CHARACTERS_MAX = 4_096,
  VALUE_ELEMENTS_MAX = 256
const shortened = (value: FieldValue | undefined): FieldValue | undefined =>
  typeof value === "string"
    ? value.slice(0, VALUE_CHARACTERS_MAX)
    : Array.isArray(value) && value.length > VALUE_ELEMENTS_MAX && typeof value[0] !== "number"
      ? value.slice(0, VALUE_ELEMENTS_MAX)
      : value

const NO_SCORE = { info: undefined, score: undefined }
/** Turns ranked documents into hits; reads and parses JSON only for those. */
export class HitRenderer {
  private readonly execution: Execution
  /** The views as of the search: hits of a window are read later, when the collection may have other segments. */
  private readonly views: ReadonlyArray<SegmentView>
  private readonly highlighter: Highlighter | undefined
  private readonly showsTextMatch: boolean
  private readonly joins: ReadonlyArray<JoinInclude>
  private readonly joined: JoinedDocuments
  private readonly geoKeys: ReadonlyArray<Extract<SortKey, { kind: "geo" }>>
  private readonly vectorKey: number
  private readonly boostsKey: number
  /** By field and segment. */ private readonly fieldReaders = new Map<string, FieldReader[]>()
  constructor(execution: Execution) {
    this.execution = execution
    this.views = execution.reader.views
    const { plan, scope } = execution
    this.highlighter = highlighterOf(execution)
    this.showsTextMatch = plan.sort.some(({ kind }) => kind === "text_match")
    this.joins = plan.selection.joins
    this.joined = new JoinedDocuments(scope, plan.budget)
    this.geoKeys = plan.sort.filter((key) => key.kind === "geo")
    this.vectorKey = plan.sort.findIndex(({ kind }) => kind === "vector_query")
    this.boostsKey = plan.sort.findIndex(({ kind }) => kind === "boosts")
  }

  /**
   * The hits of a page that shows entire documents and, of each hit, only the score; undefined if the page shows more.
   * Documents that no longer exist are left out.
   */
  page(placed: ReadonlyArray<Placed>): FoundHit[] | undefined {
    const { execution } = this
    if (
      !this.isWhole ||
      this.geoKeys.length > 0 ||
      this.vectorKey >= 0 ||
      this.boostsKey >= 0 ||
      execution.matched.distances !== undefined ||
      execution.matched.hybrid !== undefined ||
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
  /** undefined if the stored document no longer exists. */
  hit(placed: Placed): Hit | undefined {
    const stored = this.stored(placed)
    if (stored === undefined) return undefined
    const { document, highlight, highlights } = this.content(placed, stored)
    const hit = this.isWhole ? storedHit(stored, highlight) : partialHit(stored, document!, highlight)
    if (highlights !== undefined) hit.highlights = highlights
    return this.addFacts(hit, placed)
  }
  /** Captures the document as stored now, so that it can be read later. */
  stored(placed: Placed): StoredDocument | undefined {
    const { reader } = this.execution
    const text = reader.documents.text(this.views[placed.s].segment.seqs[placed.doc])
    if (text === undefined) return undefined
    spend(text.length >>> 3)
    this.execution.plan.budget?.hold(text.length, "documents")
    return new StoredDocument(text)
  }
  /**
   * Like `hit`, for a window: the document and its highlights are made when they are read; everything else is captured
   * now.
   */
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
  /** Document and highlights as the plan selects them; without the document if it is shown unchanged, as stored. */
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
    for (const join of this.joins) this.joined.add(document, reader, view, placed.doc, join, plan.filter)
    return { ...marked, document }
  }
  /** Everything about a hit that comes from the search itself. */
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
    const distance = execution.matched.distances?.[placed.s][placed.doc]
    if (distance !== undefined && !Number.isNaN(distance) && !placed.isCurated) hit.vector_distance = distance
    const { vectorKey } = this
    if (vectorKey >= 0 && placed.ranked !== undefined) hit.vector_distance = -this.keyOf(placed.ranked, vectorKey)
    if (this.showsTextMatch && !placed.isCurated) {
      const { info, score } = this.factsOf(placed)
      hit.text_match = score
      hit.text_match_info = info
    }
    if (execution.matched.hybrid !== undefined && !placed.isCurated)
      hit.hybrid_search_info = { rank_fusion_score: execution.matched.hybrid.fused[placed.s][placed.doc] }
    if (this.boostsKey >= 0 && placed.ranked !== undefined) hit.boosts = this.keyOf(placed.ranked, this.boostsKey)
    return hit
  }
  idOf(placed: Placed): string {
    return this.views[placed.s].segment.idOf(placed.doc)
  }
  /** The segment of a document, for callers that read a field of many hits. */
  segmentHits({ s }: Placed): SegmentHits {
    const { segment } = this.views[s]
    return { segment, fieldNamed: (name) => fieldNamed(this.execution.reader.schema, name), docs: [], hits: [] }
  }
  /** The value of a field, whether or not the field is selected. */
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
    const { matched, matches } = this.execution
    const { high, low } = matches[s]
    const facts = this.scoreOf(high[doc], low[doc])
    const info = matched.relevance?.infoOf(facts.score, s, doc)
    return info === undefined ? facts : { score: facts.score, info }
  }
  private shared:
    | { readonly high: number; readonly low: number; readonly score: bigint; readonly info: TextMatchInfo }
    | undefined
  /** Neighbouring hits in an answer often have the same score. */
  private scoreOf(high: number, low: number): { readonly score: bigint; readonly info: TextMatchInfo } {
    if (this.shared === undefined || this.shared.high !== high || this.shared.low !== low) {
      const score = scoreAsBigInt(high, low)
      this.shared = { high, low, score, info: textMatchInfo(score, high, low, this.execution.plan.text) }
    }
    return this.shared
  }

  /** Values of the group fields with their JSON types; missing ones are skipped. */
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
}

/** Undefined if the query has no words. A named ranking reports its own match. */
const highlighterOf = ({ matched, plan, reader, scope }: Execution): Highlighter | undefined => {
  const { text } = plan
  if (text === undefined || (text.tokens.length === 0 && text.phrases.length === 0)) return undefined
  const { combinations, knownTerms, relevance } = matched
  return new Highlighter(
    scope,
    reader.schema,
    plan.highlight,
    plan.selection,
    relevance === undefined ? markedWords(text, combinations) : markedWords({ ...text, tokens: [] }, []),
    text,
    plan.echo.q,
    relevance?.marker(),
    relevance === undefined ? knownTerms : undefined,
    plan.budget
  )
}
