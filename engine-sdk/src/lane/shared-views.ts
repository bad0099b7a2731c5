/**
 * What another thread must be told of collections before it can search them: schemas, segments in shared memory,
 * deletions, texts that no disk has yet.
 */
import { fail, ok, type EngineError, type Result } from "../errors.ts"
import type { CollectionReader, EarlyTexts, SegmentView } from "../index/reader.ts"
import { graphsOf } from "../index/vector-graph.ts"
import type { CollectionSchema } from "../schema.ts"
import type { SharedCollection, SharedView, ToLane, Work } from "./messages.ts"
import type { Known } from "./search-lane.ts"

/** Collections that a thread keeps, beside those it is searching. */
const KNOWN_MAX = 8
interface Entry {
  readonly record: { readonly key: number }
  readonly reader: CollectionReader | undefined
}
const NOT_NOW: EngineError = {
  kind: "Unavailable",
  message: "The collection changed while the search waited; send it again."
}

/** Names of collections anywhere in a plan: joins stand in filters, sort keys, includes and facets. */
const collectionsIn = (value: unknown, into: Set<string>): void => {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return
  if (Array.isArray(value)) {
    if (typeof value[0] === "object") for (const item of value) collectionsIn(item, into)
    return
  }
  for (const [name, inner] of Object.entries(value)) {
    if (name === "collection" && typeof inner === "string") into.add(inner)
    else if (name !== "metadata") collectionsIn(inner, into)
  }
}

export class SharedViews {
  readonly names: ReadonlyArray<string>
  private readonly work: Work
  private readonly entryOf: (name: string) => Entry | undefined
  private readonly earlyOf: (key: number) => EarlyTexts["texts"]
  private readonly dictionaries: ReadonlyMap<string, ReadonlyMap<string, string>> | undefined
  private readonly namespace: string
  constructor(
    namespace: string,
    work: Work,
    entryOf: (name: string) => Entry | undefined,
    earlyOf: (key: number) => EarlyTexts["texts"],
    dictionaries: ReadonlyMap<string, ReadonlyMap<string, string>> | undefined
  ) {
    this.namespace = namespace
    this.work = work
    this.entryOf = entryOf
    this.earlyOf = earlyOf
    this.dictionaries = dictionaries
    const names = new Set<string>()
    collectionsIn(work, names)
    this.names = [...names]
  }

  /**
   * At the moment at which the thread begins; `known` is what it has then. Unavailable where a collection of the search
   * is not as it was.
   */
  forThread(known: Known): Result<Pick<ToLane, "collections" | "dictionaries" | "forgotten">> {
    const collections: SharedCollection[] = [],
      dictionaries: Array<ToLane["dictionaries"][number]> = []
    for (const name of this.names) {
      const entry = this.entryOf(name),
        reader = entry?.reader
      // A joined collection that is not there is none for a search here either.
      if (entry !== undefined && reader !== undefined)
        collections.push(sharedCollection(entry.record.key, name, reader, this.earlyOf(entry.record.key), known))
    }
    if (!this.isAsItWas()) return fail(NOT_NOW)
    for (const name of new Set(
      collections.flatMap(
        ({ name: own }) =>
          this.entryOf(own)?.reader?.schema.fields.flatMap(({ stem_dictionary }) =>
            stem_dictionary === "" ? [] : [stem_dictionary]
          ) ?? []
      )
    )) {
      const words = this.dictionaries?.get(name),
        key = `${this.namespace}\n${name}`
      if (known.dictionaries.get(key) === words) continue
      known.dictionaries.set(key, words)
      dictionaries.push({ name, words })
    }
    return ok({ collections, dictionaries, forgotten: forgotten(known, new Set(collections.map(({ key }) => key))) })
  }
  /** Every collection that is searched is open, with the fields that its plan names. */
  private isAsItWas(): boolean {
    const { work } = this
    const plans = work.kind === "search" ? work.plans : work.kind === "union" ? work.plan.plans : []
    const isOpen = (name: string): boolean => this.entryOf(name)?.reader !== undefined
    if (work.kind === "scan") return isOpen(work.request.collection)
    return plans.every(
      ({ collection, text }) =>
        isOpen(collection) &&
        (text?.fields ?? []).every(({ field }) => hasField(this.entryOf(collection)!.reader!.schema, field))
    )
  }
}
const hasField = (schema: CollectionSchema, name: string): boolean => schema.fields.some((field) => field.name === name)

const sharedCollection = (
  key: number,
  name: string,
  reader: CollectionReader,
  early: EarlyTexts["texts"],
  known: Known
): SharedCollection => {
  const before = known.collections.get(key)
  const views = reader.views.map((view) => sharedView(view, before?.segments.get(view.segment.id)))
  known.collections.delete(key)
  known.collections.set(key, {
    schema: reader.schema,
    segments: new Map(reader.views.map(({ deletedCount, segment }) => [segment.id, deletedCount]))
  })
  return { key, name, ...(before?.schema === reader.schema ? {} : { schema: reader.schema }), views, early }
}
/** `deletedBefore`: deletions that the thread knows of; undefined where it does not have the segment. */
const sharedView = ({ deleted, deletedCount, segment }: SegmentView, deletedBefore: number | undefined): SharedView => {
  const { buffer, length, offset } = segment.region
  return {
    id: segment.id,
    ...(deletedBefore === undefined
      ? { segment: { meta: segment.meta, buffer: buffer as SharedArrayBuffer, offset, length } }
      : {}),
    ...(deleted === undefined || deletedBefore === deletedCount
      ? {}
      : { deleted: { bits: deleted.slice(), count: deletedCount } }),
    graphs: graphsOf(segment).flatMap(({ file, record }) => (file === undefined ? [] : [{ record, file }]))
  }
}
/** The least recently used ones that the thread is to let go of. */
const forgotten = ({ collections }: Known, needed: ReadonlySet<number>): number[] => {
  const keys: number[] = []
  for (const key of collections.keys()) {
    if (collections.size <= KNOWN_MAX) break
    if (needed.has(key)) continue
    collections.delete(key)
    keys.push(key)
  }
  return keys
}
