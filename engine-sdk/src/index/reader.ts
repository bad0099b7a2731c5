/**
 * What a thread searches: the published segments of one collection with their deletions, and the source of stored
 * documents. A reader changes only between searches (searches are synchronous), by applying the writer's publications.
 */
import type { CollectionSchema } from "../schema.ts"
import { bitsOf, hasBit, setBit, type Bits } from "./bits.ts"
import { passingUtf8, hashBytes } from "./bytes.ts"
import { attachSections, type DerivedSection, type PublishedSections } from "./derived-sections.ts"
import { FieldDictionary } from "./field-dictionary.ts"
import { Segment } from "./segment.ts"
import { attachGraph, graphsOf, VectorGraph, type GraphRecord } from "./vector-graph.ts"
import type { Region, SegmentMeta } from "./sections.ts"

/** Stored documents as JSON text by insertion number; undefined once a document no longer exists. */
interface DocumentSource {
  text(seq: number): string | undefined
}

export interface SegmentView {
  readonly segment: Segment
  deleted: Bits | undefined
  deletedCount: number
}

/** Smaller segments are prepared by the search itself, in less than a millisecond per field. */
export const PREPARED_DOCS_MIN = 1_024
export interface PublishedSegment {
  readonly id: number
  readonly meta: SegmentMeta
  readonly region: Region
  readonly deleted?: ReadonlyArray<number> | Uint32Array
  /** Sections already derived from the segment. */ readonly sections?: ReadonlyArray<DerivedSection>
}
/** One change of a collection; applied atomically, so that no search sees half of it. */
export interface Publication {
  readonly schema?: CollectionSchema
  readonly added: ReadonlyArray<PublishedSegment>
  readonly removed: ReadonlyArray<number>
  readonly deletions: ReadonlyArray<{ readonly segment: number; readonly docs: ReadonlyArray<number> | Uint32Array }>
  /** Graphs of segments that are already published or in `added`. */ readonly graphs?: ReadonlyArray<PublishedGraph>
  /** Sections derived from segments that are already published. */ readonly sections?: ReadonlyArray<PublishedSections>
  readonly early?: EarlyTexts
  /** Everything up to this early batch can be read from the journal. */ readonly readable?: number
}
/** Documents that match before they are on disk: other readers keep the texts until `readable` names the batch. */
export interface EarlyTexts {
  readonly batch: number
  readonly texts: ReadonlyArray<readonly [seq: number, text: string]>
}
export interface PublishedGraph {
  readonly segment: number
  readonly record: GraphRecord
  readonly region: Region | undefined
  /** Why the segment has no graph. */ readonly failure?: string
}

/** A dictionary that has grown by this factor is rebuilt without the values of removed segments. */
const DICTIONARY_GROWTH = 2
const DICTIONARY_SMALL = 1_024

export class CollectionReader {
  private readonly dictionaries = new Map<string, FieldDictionary>()
  /** Dictionaries prepared for use after the next merge. */ private readonly nextDictionaries = new Map<
    string,
    FieldDictionary
  >()
  /** Segments that will soon replace others, by number. */ private readonly upcoming = new Map<number, SegmentView>()
  schema: CollectionSchema
  views: SegmentView[] = []
  version = 0
  /** Derived data of the entire collection, by the name of its owner; entries that report their bytes are counted. */
  readonly derived = new Map<string, unknown>()
  readonly documents: DocumentSource
  constructor(schema: CollectionSchema, documents: DocumentSource) {
    this.schema = schema
    this.documents = documents
  }
  get documentCount(): number {
    let total = 0
    for (const view of this.views) total += view.segment.docs - view.deletedCount
    return total
  }
  get indexBytes(): number {
    let total = bytesOf(this.derived)
    for (const { segment } of this.views) {
      total += segment.meta.bytes + bytesOf(segment.derived)
      for (const { record, region } of graphsOf(segment)) if (region !== undefined) total += record.bytes
    }
    return total
  }
  apply(publication: Publication): void {
    if (publication.schema !== undefined) this.schema = publication.schema
    if (publication.removed.length > 0)
      this.views = this.views.filter(({ segment }) => !publication.removed.includes(segment.id))
    let isPrepared = false
    for (const published of publication.added) {
      const { id, deleted } = published
      const view = this.upcoming.get(id) ?? viewOf(published)
      if (this.upcoming.delete(id)) isPrepared = true
      if (deleted !== undefined) markDeleted(view, deleted)
      this.views.push(view)
    }
    if (isPrepared) {
      for (const [field, next] of this.nextDictionaries)
        if (this.isUsable(field, next)) this.dictionaries.set(field, next)
      this.nextDictionaries.clear()
    }
    for (const { segment, docs } of publication.deletions) {
      const view = this.views.find((candidate) => candidate.segment.id === segment)
      if (view !== undefined) markDeleted(view, docs)
    }
    for (const { segment, record, region, failure } of publication.graphs ?? []) {
      const view = this.views.find((candidate) => candidate.segment.id === segment)
      if (view !== undefined) attachGraph(view.segment, new VectorGraph(record, region, failure))
    }
    for (const { segment, sections } of publication.sections ?? []) {
      const view = this.views.find((candidate) => candidate.segment.id === segment)
      if (view !== undefined) attachSections(view.segment, sections)
    }
    this.version++
  }
  /** Announces a segment that is about to replace others; data derived from it before it is published stays with it. */
  expect(upcoming: PublishedSegment): SegmentView {
    const view = viewOf(upcoming)
    this.upcoming.set(upcoming.id, view)
    return view
  }
  /** The announced segment will not be published. */
  unexpect(id: number): void {
    this.upcoming.delete(id)
    this.nextDictionaries.clear()
  }
  /** Prepares, in steps, the dictionaries in use for the segment that replaces `replaced`. */
  *preparingDictionaries(upcoming: SegmentView, replaced: ReadonlyArray<SegmentView>): Generator<void, void> {
    for (const [field, dictionary] of [...this.dictionaries]) {
      const size = upcoming.segment.values(field)?.table.size ?? 0,
        { base } = dictionary
      const isKept =
        base !== undefined &&
        !replaced.some(({ segment }) => segment === base) &&
        (base.values(field)?.table.size ?? 0) >= size
      if (isKept) {
        yield* dictionary.mapping(upcoming.segment)
        continue
      }
      const views = [...this.views.filter((view) => !replaced.includes(view)), upcoming]
      const next = dictionaryOf(views, field)
      for (const { segment } of views) yield* next.mapping(segment)
      this.nextDictionaries.set(field, next)
    }
  }
  /** Maps newly published segments into the dictionaries in use, in steps. */
  *mappingPublished(): Generator<void, void> {
    for (const field of [...this.dictionaries.keys()]) yield* this.mappingField(field)
  }
  /** Maps every segment into the dictionary of a field, in steps. A search in the meantime maps the rest itself. */
  *mappingField(field: string): Generator<void, void> {
    for (const view of [...this.views]) {
      const work = this.dictionary(field).mapping(view.segment)
      while (this.views.includes(view) && work.next().done !== true) yield
    }
  }
  /** Number of values that a search over this field would have to map first. O(1) until the next publication. */
  unmapped(field: string): number {
    const dictionary = this.dictionary(field)
    if (dictionary.version === this.version) return 0
    let values = 0
    for (const { segment } of this.views)
      if (!dictionary.isMapped(segment)) values += segment.values(field)?.table.size ?? 0
    if (values === 0) dictionary.version = this.version
    return values
  }
  dictionary(field: string): FieldDictionary {
    const known = this.dictionaries.get(field)
    if (known !== undefined && this.isUsable(field, known)) return known
    const dictionary = dictionaryOf(this.views, field)
    this.dictionaries.set(field, dictionary)
    return dictionary
  }
  /** Whether its base still exists and it does not hold too many values of removed segments. */
  private isUsable(field: string, { base, size }: FieldDictionary): boolean {
    if (base !== undefined && !this.views.some(({ segment }) => segment === base)) return false
    if (size <= DICTIONARY_SMALL) return true
    let most = 0
    for (const { segment } of this.views) most += segment.values(field)?.table.size ?? 0
    return size <= most * DICTIONARY_GROWTH
  }
  /** The live document with this id: index of its view, and its number in it. */
  locate(id: string): { readonly at: number; readonly doc: number } | undefined {
    const key = passingUtf8(id),
      hash = hashBytes(key, 0, key.length)
    for (let at = this.views.length - 1; at >= 0; at--) {
      const { segment, deleted } = this.views[at]
      for (const doc of segment.docsOfKey(key, hash))
        if (deleted === undefined || !hasBit(deleted, doc)) return { at, doc }
    }
    return undefined
  }
}

const viewOf = ({ id, meta, region, sections }: PublishedSegment): SegmentView => {
  const segment = new Segment(id, meta, region)
  if (sections !== undefined) attachSections(segment, sections)
  return { segment, deleted: undefined, deletedCount: 0 }
}
const dictionaryOf = (views: ReadonlyArray<SegmentView>, field: string): FieldDictionary => {
  const base = largestOf(views, field)
  let others = 0
  for (const { segment } of views) if (segment !== base) others += segment.values(field)?.table.size ?? 0
  return new FieldDictionary(field, base, others)
}
const largestOf = (views: ReadonlyArray<SegmentView>, field: string): Segment | undefined => {
  let best: Segment | undefined,
    most = 0
  for (const { segment } of views) {
    const size = segment.values(field)?.table.size ?? 0
    if (size > most) {
      best = segment
      most = size
    }
  }
  return best
}

/** Derived data that reports its size counts as part of the index. */
const bytesOf = (derived: ReadonlyMap<string, unknown>): number => {
  let total = 0
  for (const kept of derived.values())
    if (typeof kept === "object" && kept !== null && "bytes" in kept && typeof kept.bytes === "number")
      total += kept.bytes
  return total
}

export const markDeleted = (view: SegmentView, docs: ReadonlyArray<number> | Uint32Array): void => {
  if (docs.length === 0) return
  view.deleted ??= bitsOf(view.segment.docs)
  for (const doc of docs) {
    if (hasBit(view.deleted, doc)) continue
    setBit(view.deleted, doc)
    view.deletedCount++
  }
}
