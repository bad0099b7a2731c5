/**
 * An immutable segment: documents numbered 0..docs-1 with their insertion numbers, ids and columns. Later changes
 * (deletions) are kept separately in the reader, so that several threads can read one segment.
 */
import { freeSlot, slotOf } from "../slots.ts"
import { decodeUtf8, passingUtf8, hashBytes } from "./bytes.ts"
import { GeoColumn, NumberColumn, SortColumn, TextColumn, ValueColumn, VectorColumn } from "./columns.ts"
import { ListSets } from "./list-sets.ts"
import { radixOrder } from "./radix-order.ts"
import { SectionReader, type Region, type SegmentMeta } from "./sections.ts"
import { firstNotBefore } from "../sorted.ts"
import { StoredSets } from "./stored-sets.ts"

const NONE: number[] = []

export class Segment {
  readonly id: number
  readonly docs: number
  readonly meta: SegmentMeta
  readonly region: Region
  readonly sections: SectionReader
  /** Insertion numbers in document order; not sorted, as updates keep theirs. */ readonly seqs: Uint32Array
  private readonly idBytes: Uint8Array
  private readonly idOffsets: Uint32Array
  private readonly idSlots: Uint32Array
  private readonly columns = new Map<string, unknown>()
  private readonly fieldAt = new Map<string, number>()
  private bySeq: Uint32Array | undefined
  private repeats: Uint8Array | undefined
  private readonly lists: ListSets
  private commonWords: object | undefined
  /** Derived data that lives as long as the segment (join keys, cached counts), by the name of its owner. */
  readonly derived = new Map<string, unknown>()
  constructor(id: number, meta: SegmentMeta, region: Region) {
    this.id = id
    this.meta = meta
    this.region = region
    this.docs = meta.docs
    this.lists = new ListSets(meta.docs)
    this.sections = new SectionReader(meta, region)
    this.seqs = this.sections.u32("seqs")
    this.idBytes = this.sections.u8("ids.bytes")
    this.idOffsets = this.sections.u32("ids.offsets")
    this.idSlots = this.sections.u32("ids.slots")
    meta.fields.forEach((name, at) => this.fieldAt.set(name, at))
  }
  idOf(doc: number): string {
    return decodeUtf8(this.idBytes, this.idOffsets[doc], this.idOffsets[doc + 1])
  }
  /** Every document with this id, newest last (an import may contain one id twice). Expected O(1). */
  docsOfId(id: string): number[] {
    const key = passingUtf8(id)
    return this.docsOfKey(key, hashBytes(key, 0, key.length))
  }
  /** Like `docsOfId`, with the id's bytes and hash precomputed, because one id is looked up in many segments. */
  docsOfKey(key: Uint8Array, hash: number): number[] {
    if (this.docs === 0 || this.idSlots[hash & (this.idSlots.length - 1)] === 0) return NONE
    const found: number[] = []
    slotOf(this.idSlots, hash, (value) => {
      if (this.hasKey(value - 1, key)) found.push(value - 1)
      return false
    })
    return found
  }
  private hasKey(doc: number, key: Uint8Array): boolean {
    const start = this.idOffsets[doc]
    if (this.idOffsets[doc + 1] - start !== key.length) return false
    for (let i = 0; i < key.length; i++) if (this.idBytes[start + i] !== key[i]) return false
    return true
  }
  /** Hash of a document's id, for `docsOfKey`. */
  idHash(doc: number): number {
    return hashBytes(this.idBytes, this.idOffsets[doc], this.idOffsets[doc + 1])
  }
  /** Documents in ascending order of insertion number; computed once. */
  get insertionOrder(): Uint32Array {
    if (this.bySeq !== undefined) return this.bySeq
    const work = this.ordering()
    for (;;) {
      const step = work.next()
      if (step.done === true) return step.value
    }
  }
  /** Adopts an order computed elsewhere, and which fields repeat a value within a document (`derived-sections.ts`). */
  useOrder(order: Uint32Array, repeats: Uint8Array): void {
    this.bySeq = order
    this.repeats = repeats
  }
  /** Adopts sets of common words, or gives them up. */
  useCommonWords(section: { readonly meta: SegmentMeta; readonly region: Region } | undefined): void {
    if (section === this.commonWords) return
    this.commonWords = section
    const arrays = section === undefined ? undefined : new SectionReader(section.meta, section.region)
    this.lists.useStored(
      arrays === undefined ? [] : this.meta.fields.map((_name, at) => StoredSets.of(arrays, at, this.docs))
    )
  }
  /** Like `insertionOrder`, in steps. */
  *ordering(): Generator<void, Uint32Array> {
    return (this.bySeq ??= yield* radixOrder(this.seqs))
  }
  /** Documents with this insertion number (at most a few). */
  docsOfSeq(seq: number): number[] {
    const order = this.insertionOrder
    const found: number[] = []
    let at = firstNotBefore(0, order.length, (index) => this.seqs[order[index]] < seq)
    for (; at < order.length && this.seqs[order[at]] === seq; at++) found.push(order[at])
    return found
  }
  private column<A>(kind: string, field: string, probe: string, make: (prefix: string) => A): A | undefined {
    const key = kind + field
    const known = this.columns.get(key)
    if (known !== undefined) return known as A
    const at = this.fieldAt.get(field)
    if (at === undefined) return undefined
    const prefix = `${kind}${at}.`
    if (!this.sections.has(prefix + probe)) return undefined
    const made = make(prefix)
    this.columns.set(key, made)
    return made
  }
  text(field: string): TextColumn | undefined {
    return this.column(
      "t",
      field,
      "starts",
      (p) => new TextColumn(this.sections, p, this.lists, this.fieldAt.get(field))
    )
  }
  values(field: string): ValueColumn | undefined {
    return this.column("v", field, "table.offsets", (p) => {
      const known = this.repeats?.[this.fieldAt.get(field)!] ?? 0
      return new ValueColumn(this.sections, p, known === 0 ? undefined : known === 2)
    })
  }
  numbers(field: string): NumberColumn | undefined {
    return this.column("n", field, "values", (p) => new NumberColumn(this.sections, p))
  }
  geo(field: string): GeoColumn | undefined {
    return this.column("g", field, "starts", (p) => new GeoColumn(this.sections, p))
  }
  sortKeys(field: string): SortColumn | undefined {
    return this.column("s", field, "ordinals", (p) => new SortColumn(this.sections, p))
  }
  vectors(field: string): VectorColumn | undefined {
    return this.column("e", field, "values", (p) => new VectorColumn(this.sections, p, this.docs))
  }
}

/** Open-addressing slots (document + 1) over the ids, at most two thirds full. Yields every few thousand. */
export function* idSlotsOf(bytes: Uint8Array, offsets: Uint32Array): Generator<void, Uint32Array> {
  const docs = offsets.length - 1
  let size = 4
  while (size * 2 < docs * 3) size *= 2
  const slots = new Uint32Array(size)
  for (let doc = 0; doc < docs; doc++) {
    slots[freeSlot(slots, hashBytes(bytes, offsets[doc], offsets[doc + 1]))] = doc + 1
    if ((doc & 4_095) === 4_095) yield
  }
  return slots
}
