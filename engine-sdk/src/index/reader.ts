/**
 * What a thread searches: the published segments of one collection with their deletions, and where stored documents come
 * from. A reader changes only between searches (searches are synchronous), by applying publications of the writer.
 */
import type { CollectionSchema } from "../schema.ts"
import { bitsOf, hasBit, setBit, type Bits } from "./bits.ts"
import { encodeUtf8, hashBytes } from "./bytes.ts"
import { Segment } from "./segment.ts"
import { attachGraph, graphsOf, openGraph, type GraphRecord, type NativeIndex } from "./vector-graph.ts"
import type { Region, SegmentMeta } from "./sections.ts"

/** Stored documents as JSON text by insertion number; undefined once a document is gone. */
export interface DocumentSource { text(seq: number): string | undefined }

export interface SegmentView { readonly segment: Segment; deleted: Bits | undefined; deletedCount: number }

/** One step of a collection: applied as a whole, so no search sees half of it. */
export interface Publication {
  readonly schema?: CollectionSchema
  readonly added: ReadonlyArray<{ readonly id: number; readonly meta: SegmentMeta; readonly region: Region; readonly deleted?: ReadonlyArray<number> | Uint32Array }>
  readonly removed: ReadonlyArray<number>
  readonly deletions: ReadonlyArray<{ readonly segment: number; readonly docs: ReadonlyArray<number> | Uint32Array }>
  /** Graphs of segments that are there already or come in `added`. */ readonly graphs?: ReadonlyArray<PublishedGraph>
  readonly early?: EarlyTexts
  /** Everything up to this early batch can be read from the journal. */ readonly readable?: number
}
/** Documents that are found before the disk has them: readers elsewhere keep the texts until `readable` names the batch. */
export interface EarlyTexts { readonly batch: number; readonly texts: ReadonlyArray<readonly [seq: number, text: string]> }
/** Opened from its file, unless publisher and reader share a thread and the graph itself is handed over. */
export interface PublishedGraph { readonly segment: number; readonly record: GraphRecord; readonly file: string | undefined; readonly index?: NativeIndex; /** Why there is none. */ readonly failure?: string }

/** Numbers for the values of one field across segments. It only grows, until the reader starts it anew. */
export class FieldDictionary {
  readonly texts: string[] = []
  private readonly ids = new Map<string, number>()
  private readonly maps = new WeakMap<Segment, Uint32Array>()
  private readonly field: string
  constructor(field: string) { this.field = field }
  /** Number of a value, once a segment that has it was asked for. */
  idOf(text: string): number | undefined { return this.ids.get(text) }
  /** Number of each ordinal of the segment; computed once per segment. */
  ordinalsOf(segment: Segment): Uint32Array | undefined {
    const known = this.maps.get(segment)
    if (known !== undefined) return known
    const table = segment.values(this.field)?.table
    if (table === undefined) return undefined
    const map = new Uint32Array(table.size)
    for (let ordinal = 0; ordinal < table.size; ordinal++) {
      const text = table.text(ordinal)
      let id = this.ids.get(text)
      if (id === undefined) { this.ids.set(text, id = this.texts.length); this.texts.push(text) }
      map[ordinal] = id
    }
    this.maps.set(segment, map)
    return map
  }
}
/** Values that segments of the past left behind are dropped when a dictionary has grown by this factor. */
const DICTIONARY_GROWTH = 2

export class CollectionReader {
  private readonly dictionaries = new Map<string, FieldDictionary>()
  schema: CollectionSchema
  views: SegmentView[] = []
  version = 0
  /** Derived data of the whole collection, by the name of whoever keeps it; what says its bytes is counted. */ readonly derived = new Map<string, unknown>()
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
      for (const { record, index } of graphsOf(segment)) if (index !== undefined) total += record.bytes
    }
    return total
  }
  apply(publication: Publication): void {
    if (publication.schema !== undefined) this.schema = publication.schema
    const removed = this.views.filter(({ segment }) => publication.removed.includes(segment.id))
    if (removed.length > 0) this.views = this.views.filter((view) => !removed.includes(view))
    const kept = this.views.length
    for (const { id, meta, region, deleted } of publication.added) {
      const view: SegmentView = { segment: new Segment(id, meta, region), deleted: undefined, deletedCount: 0 }
      if (deleted !== undefined) markDeleted(view, deleted)
      this.views.push(view)
    }
    // What was derived from a segment may outlive it, except where the schema changed what there is to derive.
    if (publication.schema === undefined) for (const view of removed) for (const derived of view.segment.derived.values()) if (retires(derived)) derived.retire(view, this.views.slice(kept))
    for (const { segment, docs } of publication.deletions) {
      const view = this.views.find((candidate) => candidate.segment.id === segment)
      if (view !== undefined) markDeleted(view, docs)
    }
    for (const { segment, record, file, index, failure } of publication.graphs ?? []) {
      const view = this.views.find((candidate) => candidate.segment.id === segment)
      if (view !== undefined) attachGraph(view.segment, index === undefined && file !== undefined ? openGraph(record, file) : { record, index, failure })
    }
    this.version++
  }
  dictionary(field: string): FieldDictionary {
    let dictionary = this.dictionaries.get(field)
    if (dictionary !== undefined && dictionary.texts.length > 1_024) {
      let most = 0
      for (const { segment } of this.views) most += segment.values(field)?.table.size ?? 0
      if (dictionary.texts.length > most * DICTIONARY_GROWTH) dictionary = undefined
    }
    if (dictionary === undefined) this.dictionaries.set(field, dictionary = new FieldDictionary(field))
    return dictionary
  }
  /** Where a live document of this id is: view and number in it. */
  locate(id: string): { readonly at: number; readonly doc: number } | undefined {
    const key = encodeUtf8(id), hash = hashBytes(key, 0, key.length)
    for (let at = this.views.length - 1; at >= 0; at--) {
      const { segment, deleted } = this.views[at]
      for (const doc of segment.docsOfKey(key, hash)) if (deleted === undefined || !hasBit(deleted, doc)) return { at, doc }
    }
    return undefined
  }
}

/** Derived data that is told when its segment goes: a merge keeps documents, so their words need not be read again. */
export interface Retiring { retire(view: SegmentView, successors: ReadonlyArray<SegmentView>): void }
const retires = (kept: unknown): kept is Retiring => typeof kept === "object" && kept !== null && "retire" in kept

/** Derived data that says how large it is counts as index. */
const bytesOf = (derived: ReadonlyMap<string, unknown>): number => {
  let total = 0
  for (const kept of derived.values()) if (typeof kept === "object" && kept !== null && "bytes" in kept && typeof kept.bytes === "number") total += kept.bytes
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
