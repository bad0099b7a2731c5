/**
 * What another thread must receive of collections before it can search them: schemas, segments in shared memory,
 * deletions, texts that are not on disk yet.
 */
import { fail, ok, type EngineError, type Result } from "../errors.ts"
import { NO_SECTIONS, sectionsOf } from "../index/derived-sections.ts"
import type { CollectionReader, EarlyTexts, SegmentView } from "../index/reader.ts"
import { graphsOf } from "../index/vector-graph.ts"
import type { CollectionSchema } from "../schema.ts"
import type { Shared, SharedCollection, SharedView, Work } from "./messages.ts"
import type { SharedNow } from "./job.ts"
import type { ThreadContents, KnownCollection, KnownSegment } from "./search-thread.ts"

/** Maximum stemming dictionaries that a thread keeps, in addition to those it needs. */
const DICTIONARIES_MAX = 64
/** When a collection is reopened, segments have the same numbers but different memory, so readers are numbered, too. */
const numberOf = new WeakMap<CollectionReader, number>()
let lastNumber = 0
const readerNumber = (reader: CollectionReader): number => {
  const known = numberOf.get(reader)
  if (known === undefined) numberOf.set(reader, ++lastNumber)
  return known ?? lastNumber
}
interface Entry {
  readonly record: { readonly key: number }
  readonly reader: CollectionReader | undefined
}
const NOT_NOW: EngineError = {
  kind: "Unavailable",
  message: "The collection changed while the search waited; send it again."
}

export class SharedViews {
  private readonly names: ReadonlySet<string>
  private readonly work: Work
  private readonly entryOf: (name: string) => Entry | undefined
  private readonly earlyOf: (key: number) => EarlyTexts["texts"]
  private readonly dictionaries: ReadonlyMap<string, ReadonlyMap<string, string>> | undefined
  private readonly namespace: string
  /** `names`: of all collections that the work may read. */
  constructor(
    namespace: string,
    work: Work,
    names: ReadonlySet<string>,
    entryOf: (name: string) => Entry | undefined,
    earlyOf: (key: number) => EarlyTexts["texts"],
    dictionaries: ReadonlyMap<string, ReadonlyMap<string, string>> | undefined
  ) {
    this.namespace = namespace
    this.work = work
    this.entryOf = entryOf
    this.earlyOf = earlyOf
    this.dictionaries = dictionaries
    this.names = names
  }

  /**
   * Computed when the thread begins. `known` is what the thread has then; the least recently used collections beyond
   * `known_max` are dropped from it. Unavailable if a collection of the search has changed.
   */
  forThread(known: ThreadContents, known_max: number): Result<SharedNow> {
    if (!this.isAsItWas()) return fail(NOT_NOW)
    const collections: SharedCollection[] = [],
      names: Array<readonly [string, number]> = []
    for (const name of this.names) {
      const entry = this.entryOf(name),
        reader = entry?.reader
      // A joined collection that does not exist is left out, so the other thread does not find it either.
      if (entry === undefined || reader === undefined) continue
      const { key } = entry.record
      names.push([name, key])
      const changed = changeOf(key, reader, this.earlyOf(key), known)
      if (changed !== undefined) collections.push(changed)
    }
    const dictionaries = this.dictionariesFor(names, known),
      gone = [...known.gone.splice(0), ...forgotten(known, new Set(names.map(([, key]) => key)), known_max)]
    return ok({
      names,
      shared:
        collections.length === 0 && dictionaries.length === 0 && gone.length === 0
          ? undefined
          : { collections, dictionaries, forgotten: gone }
    })
  }
  private dictionariesFor(
    names: ReadonlyArray<readonly [string, number]>,
    known: ThreadContents
  ): ReadonlyArray<Shared["dictionaries"][number]> {
    const { namespace } = this,
      changed: Array<Shared["dictionaries"][number]> = [],
      needed = new Set<string>()
    for (const [own] of names)
      for (const { stem_dictionary: name } of this.entryOf(own)?.reader?.schema.fields ?? []) {
        if (name === "") continue
        const words = this.dictionaries?.get(name),
          key = dictionaryKey(namespace, name)
        needed.add(key)
        const isKnown = known.dictionaries.get(key)?.words === words
        known.dictionaries.delete(key)
        if (words !== undefined) known.dictionaries.set(key, { namespace, name, words })
        if (!isKnown) changed.push({ namespace, name, words })
      }
    for (const [key, { name, namespace: owner }] of known.dictionaries) {
      if (known.dictionaries.size <= DICTIONARIES_MAX) break
      if (needed.has(key)) continue
      known.dictionaries.delete(key)
      changed.push({ namespace: owner, name, words: undefined })
    }
    return changed
  }
  /** Whether every searched collection is open, with the fields that its plan names. */
  private isAsItWas(): boolean {
    const { work } = this
    const plans = work.kind === "search" ? work.plans : work.kind === "union" ? work.plan.plans : []
    const isOpen = (name: string): boolean => this.entryOf(name)?.reader !== undefined
    if (work.kind === "scan") return isOpen(work.request.collection)
    if (work.kind === "prepare") return isOpen(work.collection)
    return plans.every(
      ({ collection, text }) =>
        isOpen(collection) &&
        (text?.fields ?? []).every(({ field }) => hasField(this.entryOf(collection)!.reader!.schema, field))
    )
  }
}
const hasField = (schema: CollectionSchema, name: string): boolean => schema.fields.some((field) => field.name === name)

const dictionaryKey = (namespace: string, name: string): string => JSON.stringify([namespace, name])

/** The changes to send; undefined if the thread has the collection's current state. */
const changeOf = (
  key: number,
  reader: CollectionReader,
  early: EarlyTexts["texts"],
  known: ThreadContents
): SharedCollection | undefined => {
  const number = readerNumber(reader),
    sent = known.collections.get(key)
  const before: KnownCollection | undefined = sent?.reader === number ? sent : undefined
  const isSame =
    before?.version === reader.version && before.schema === reader.schema && !before.hasEarly && early.length === 0
  // The most recently used is last.
  known.collections.delete(key)
  known.collections.set(
    key,
    isSame
      ? before
      : {
          reader: number,
          version: reader.version,
          schema: reader.schema,
          segments: new Map(
            reader.views.map(({ deletedCount, segment }) => [
              segment.id,
              { deletedCount, sections: sectionsOf(segment) }
            ])
          ),
          hasEarly: early.length > 0,
          usedAt: performance.now()
        }
  )
  if (isSame) {
    before.usedAt = performance.now()
    return undefined
  }
  return {
    key,
    isNew: before === undefined,
    ...(before?.schema === reader.schema ? {} : { schema: reader.schema }),
    views: reader.views.map((view) => sharedView(view, before?.segments.get(view.segment.id))),
    early
  }
}
/** `before`: what the thread has of the segment; undefined if it does not have it. */
const sharedView = ({ deleted, deletedCount, segment }: SegmentView, before: KnownSegment | undefined): SharedView => {
  const { buffer, length, offset, outside } = segment.region,
    sections = sectionsOf(segment)
  return {
    id: segment.id,
    ...(before === undefined
      ? {
          segment: {
            meta: segment.meta,
            buffer: buffer as SharedArrayBuffer,
            offset,
            length,
            ...(outside === undefined ? {} : { outside })
          }
        }
      : {}),
    ...(deleted === undefined || before?.deletedCount === deletedCount
      ? {}
      : { deleted: { bits: deleted.slice().buffer as ArrayBuffer, count: deletedCount } }),
    ...(sections === (before?.sections ?? NO_SECTIONS) ? {} : { sections: [...sections.values()] }),
    graphs: graphsOf(segment).flatMap(({ record, region }) => (region === undefined ? [] : [{ record, region }]))
  }
}
/** The least recently used collections, which the thread must drop. */
const forgotten = ({ collections }: ThreadContents, needed: ReadonlySet<number>, known_max: number): number[] => {
  const keys: number[] = []
  for (const key of collections.keys()) {
    if (collections.size <= known_max) break
    if (needed.has(key)) continue
    collections.delete(key)
    keys.push(key)
  }
  return keys
}
