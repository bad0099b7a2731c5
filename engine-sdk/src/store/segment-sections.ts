/**
 * What the writing thread derives from segments for all searching threads (`index/derived-sections.ts`): counts of
 * facet values, sets of common words, and indexes of the units that relevance searches requested. A merged segment has
 * them before it replaces others; new segments get them after a period without writes, or immediately if a search
 * waits.
 *
 * requested (by searches, or found in the snapshot) -> made in slices -> attached and published. If a merge removes the
 * segment in the meantime, or the collection closes, the work ends.
 */
import { hasBit } from "../index/bits.ts"
import { lacksCommonWords, makingCommonWords } from "../index/making-sets.ts"
import {
  attachSections,
  sectionsOf,
  type DerivedSection,
  type PublishedSections,
  type SectionToPut
} from "../index/derived-sections.ts"
import { GONE } from "../index/merge.ts"
import type { SegmentView } from "../index/reader.ts"
import type { Allocate, Region } from "../index/sections.ts"
import { Segment } from "../index/segment.ts"
import type { RelevanceUnit } from "../plan.ts"
import type { CollectionSchema } from "../schema.ts"
import { makingCounts, missingCounts } from "../search/facets/facet-sections.ts"
import { AskedUnits, INLINE_DOCS } from "../search/relevance/prepare.ts"
import { buildingUnits, type WordSource } from "../search/relevance/unit-building.ts"
import { missingDocs } from "../search/relevance/unit-columns.ts"
import { attachedUnit, isUnitSection, putUnit, sectionNameOf } from "../search/relevance/unit-sections.ts"
import { inSlices, nextTurn } from "../turns.ts"

const SLICE_MS = 0.5,
  WRITING_SLICE_MS = 0.25
/** Time without writes before sections are built for new segments. */
const QUIET_MS = 300
/** A collection that changes faster than it can be read is searched with the sections it has. */
const ROUNDS_MAX = 4
/** Documents between two chances to yield, less one. */
const STEP_MASK = 16_383

interface Owner {
  readonly views: () => ReadonlyArray<SegmentView>
  readonly schema: () => CollectionSchema
  readonly text: (seq: number) => string | undefined
  readonly isWriting: () => boolean
  readonly takeNumber: () => number
  readonly allocate: Allocate
  readonly release: (region: Region) => void
  /** `dropped`: memory that readers use until they receive the publication. */
  readonly publish: (sections: PublishedSections, dropped: ReadonlyArray<Region>) => void
  /** Resolves when everything published so far has been sent to readers. */ readonly sent: () => Promise<void>
  /** Runs work in the background. */ readonly behind: (work: Promise<void>) => Promise<void>
}
/** Segments that were merged, and the new numbers of their documents. */
interface MergedFrom {
  readonly views: ReadonlyArray<SegmentView>
  readonly moved: ReadonlyArray<Uint32Array>
}

export class SegmentSections {
  private readonly owner: Owner
  private readonly asked = new AskedUnits()
  private running: Promise<void> | undefined
  private timer: ReturnType<typeof setTimeout> | undefined
  private isClosed = false
  constructor(owner: Owner) {
    this.owner = owner
  }
  /** Units to store in the snapshot. */
  get askedUnits(): ReadonlyArray<ReadonlyArray<RelevanceUnit>> {
    return this.asked.all
  }
  /** Restores the requests of a snapshot. */
  remember(asked: ReadonlyArray<ReadonlyArray<RelevanceUnit>>): void {
    for (const units of asked) this.asked.note(units)
  }
  /** Resolves when the current segments have the units, except for a few documents, or will not get them. */
  async ask(units: ReadonlyArray<RelevanceUnit>): Promise<void> {
    this.asked.note(units)
    for (let round = 0; round < ROUNDS_MAX && !this.isClosed; round++) {
      if (missingDocs(this.owner.views(), units) <= INLINE_DOCS) break
      await this.run()
    }
    await this.owner.sent()
  }
  /** Called after a change; builds what is missing after a delay. */
  schedule(): void {
    clearTimeout(this.timer)
    if (this.isClosed || !this.isAnyMissing()) return
    this.timer = setTimeout(() => {
      if (this.owner.isWriting()) this.schedule()
      else void this.owner.behind(this.run())
    }, QUIET_MS)
    ;(this.timer as { unref?: () => void }).unref?.()
  }
  /** Includes small segments that a search could read itself, because all threads must count the same documents. */
  private isAnyMissing(): boolean {
    const views = this.owner.views(),
      schema = this.owner.schema()
    return (
      views.some((view) => lacksCommonWords(view.segment) || missingCounts(view, schema).length > 0) ||
      missingDocs(views, this.wanted()) > 0
    )
  }
  /** Stops the work in progress. */
  async close(): Promise<void> {
    this.isClosed = true
    clearTimeout(this.timer)
    // The failure is reported to the caller that started it.
    await this.running?.catch(() => {})
  }

  /** The requested units, each once; without units of fields that do not exist (any more). */
  private wanted(): ReadonlyArray<RelevanceUnit> {
    const { fields } = this.owner.schema(),
      units = new Map<string, RelevanceUnit>()
    for (const list of this.asked.all)
      for (const unit of list)
        if (
          unit.prefix !== undefined ||
          fields.some(({ locale, name }) => name === unit.name && locale === unit.locale)
        )
          units.set(sectionNameOf(unit), unit)
    return [...units.values()]
  }
  private isKept(section: DerivedSection, wanted: ReadonlyArray<RelevanceUnit>): boolean {
    return !isUnitSection(section.name) || wanted.some((unit) => sectionNameOf(unit) === section.name)
  }
  /** One at a time; concurrent callers wait for the same run. */
  private run(): Promise<void> {
    return (this.running ??= this.makeMissing().finally(() => {
      this.running = undefined
    }))
  }
  private async makeMissing(): Promise<void> {
    for (const view of [...this.owner.views()].sort((a, b) => b.segment.docs - a.segment.docs)) {
      const isStale = (): boolean => this.isClosed || !this.owner.views().includes(view)
      if (isStale()) continue
      const { segment } = view
      const words = { ...this.words(segment), isGone: (doc: number) => isDeleted(view, doc) },
        units = this.wanted().filter((unit) => attachedUnit(segment, unit) === undefined),
        missing = { units, fields: missingCounts(view, this.owner.schema()), words: lacksCommonWords(segment) }
      if (units.length + missing.fields.length === 0 && !missing.words) continue
      // Small segments take less than a slice each, and there may be dozens.
      await nextTurn()
      const made = await this.inSlices(unless(isStale, making(view, words, missing)))
      if (made === undefined) continue
      const sections = await this.inSlices(this.putting(made))
      if (isStale()) for (const { region } of sections) this.owner.release(region)
      else this.attach(segment, sections)
    }
  }
  private inSlices<A>(work: Generator<void, A>): Promise<A> {
    return inSlices(work, () => (this.owner.isWriting() ? WRITING_SLICE_MS : SLICE_MS))
  }
  private words(segment: Segment): Pick<WordSource, "segment" | "schema" | "text"> {
    const { schema, text } = this.owner
    return { segment, schema: schema(), text }
  }
  private *putting(made: ReadonlyArray<SectionToPut>): Generator<void, ReadonlyArray<DerivedSection>> {
    const sections: DerivedSection[] = []
    for (const { name, put } of made)
      sections.push({ name, id: this.owner.takeNumber(), ...(yield* put(this.owner.allocate)) })
    return sections
  }
  private attach(segment: Segment, made: ReadonlyArray<DerivedSection>): void {
    const wanted = this.wanted(),
      before = [...sectionsOf(segment).values()],
      sections = [...before.filter((section) => this.isKept(section, wanted)), ...made]
    attachSections(segment, sections)
    this.owner.publish(
      { segment: segment.id, sections },
      before.flatMap((section) => (sections.includes(section) ? [] : [section.region]))
    )
  }

  /**
   * Builds sections for a segment that replaces those it was merged from. `isPassing`: it will soon be merged again;
   * sections that none of its sources has are then not built.
   */
  *ofMerged(
    id: number,
    { meta, region }: Pick<DerivedSection, "meta" | "region">,
    { moved, views }: MergedFrom,
    isPassing: boolean
  ): Generator<void, ReadonlyArray<DerivedSection>> {
    const wanted = this.wanted(),
      segment = new Segment(id, meta, region),
      view = { segment, deleted: undefined, deletedCount: 0 }
    const isWorth =
      !isPassing || views.some((source) => wanted.some((unit) => attachedUnit(source.segment, unit) !== undefined))
    const missing = {
      units: isWorth ? wanted : [],
      fields: isPassing ? [] : missingCounts(view, this.owner.schema()),
      words: !isPassing && lacksCommonWords(segment)
    }
    if (meta.docs === 0 || (missing.units.length + missing.fields.length === 0 && !missing.words)) return []
    const fromSource = new Uint16Array(meta.docs),
      fromDoc = new Uint32Array(meta.docs)
    for (let s = 0; s < moved.length; s++)
      for (let doc = 0; doc < moved[s].length; doc++) {
        if ((doc & STEP_MASK) === STEP_MASK) yield
        const to = moved[s][doc]
        if (to === GONE) continue
        fromSource[to] = s
        fromDoc[to] = doc
      }
    const words: WordSource = {
      ...this.words(segment),
      isGone: (doc) => isDeleted(views[fromSource[doc]], fromDoc[doc]),
      before: (doc) => ({ segment: views[fromSource[doc]].segment, doc: fromDoc[doc] }),
      unitOf: attachedUnit
    }
    return yield* this.putting(yield* making(view, words, missing))
  }
}

/** Sections that a segment lacks. */
interface Missing {
  readonly units: ReadonlyArray<RelevanceUnit>
  /** Facet fields without counts. */ readonly fields: ReadonlyArray<string>
  /** Whether it has no sets of common words. */ readonly words: boolean
}
function* making(view: SegmentView, words: WordSource, missing: Missing): Generator<void, ReadonlyArray<SectionToPut>> {
  const { fields, units } = missing
  const counts = yield* makingCounts(view, fields),
    common = missing.words ? [yield* makingCommonWords(view.segment)] : [],
    indexes = units.length === 0 ? [] : yield* buildingUnits(words, units)
  return [
    ...counts,
    ...common,
    ...indexes.map((index, i) => ({
      name: sectionNameOf(units[i]),
      put: (allocate: Allocate) => putUnit(index, allocate)
    }))
  ]
}
const isDeleted = ({ deleted }: SegmentView, doc: number): boolean => deleted !== undefined && hasBit(deleted, doc)
/** Runs the work, but abandons it (undefined) as soon as it is no longer needed. */
function* unless<A>(isStale: () => boolean, work: Generator<void, A>): Generator<void, A | undefined> {
  for (;;) {
    if (isStale()) return undefined
    const step = work.next()
    if (step.done === true) return step.value
    yield
  }
}
