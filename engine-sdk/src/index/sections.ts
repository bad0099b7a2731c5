/**
 * A segment is one range of bytes with a table of contents: named typed arrays, each aligned to eight bytes. The same
 * bytes are searched in memory, shared with other threads and written to disk, so nothing is ever converted.
 */
import { warn } from "../warning.ts"
import type { LinearMemory } from "./compiled.ts"

type SectionArray =
  | Int8Array
  | Int16Array
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | Int32Array
  | Float32Array
  | Float64Array
  | BigInt64Array
export type Ordinals = Uint8Array | Uint16Array | Uint32Array
/** The narrowest array for numbers up to `most`: facets read these in random order, and less data is cached better. */
export const ordinalArray = (size: number, most: number): Ordinals =>
  most < 0x100 ? new Uint8Array(size) : most < 0x10000 ? new Uint16Array(size) : new Uint32Array(size)
type SectionType = "i8" | "i16" | "u8" | "u16" | "u32" | "i32" | "f32" | "f64" | "i64"
interface SectionEntry {
  readonly name: string
  readonly type: SectionType
  readonly offset: number
  readonly count: number
  /** In the segment's separate file; `offset` counts from its start. */ readonly outside?: true
}
/** Describes what the bytes contain; plain JSON, so it can be sent in messages and stored in file headers. */
export interface SegmentMeta {
  readonly docs: number
  readonly fields: ReadonlyArray<string>
  readonly sections: ReadonlyArray<SectionEntry>
  /** Size of the part in memory. */ readonly bytes: number
  /** The part that is in a separate file. */ readonly outside?: { readonly name: string; readonly bytes: number }
}
/** A range of memory. `buffer` may be shared and may also hold other segments. */
export interface Region {
  readonly buffer: ArrayBufferLike
  readonly offset: number
  readonly length: number
  /** Set if compiled code can read it; its `buffer` is that of the region. */ readonly linear?: LinearMemory
  /** Path of the file with the part of the segment that is not kept in memory. */ readonly outside?: string
}
/** Where sections are stored that are not kept in memory. */
export interface Outside {
  /** Creates a file for this many bytes; undefined if they are too few to justify one. Throws disk errors. */
  create(bytes: number): OutsideFile | undefined
}
export interface OutsideFile {
  readonly name: string
  readonly path: string
  append(bytes: Uint8Array): void
  done(): void
  /** Removes the file. */ giveUp(): void
}
/** Numbers that are produced chunk by chunk, in order, so that they are never all in memory. */
interface Rows {
  readonly width: number
  readonly count: number
  /** Fills `piece`, which is zeroed, with complete rows from this one on. */
  readonly fill: (piece: Float32Array, from: number) => void
}
export type Allocate = (bytes: number) => Region

export const allocatePlain: Allocate = (bytes) => ({ buffer: new ArrayBuffer(bytes), offset: 0, length: bytes })

const ARRAYS: ReadonlyMap<SectionType, new (buffer: ArrayBufferLike, offset: number, length: number) => SectionArray> =
  new Map<SectionType, new (buffer: ArrayBufferLike, offset: number, length: number) => SectionArray>([
    ["i8", Int8Array],
    ["i16", Int16Array],
    ["u8", Uint8Array],
    ["u16", Uint16Array],
    ["u32", Uint32Array],
    ["i32", Int32Array],
    ["f32", Float32Array],
    ["f64", Float64Array],
    ["i64", BigInt64Array]
  ])
const typeOf = (array: SectionArray): SectionType => {
  for (const [type, kind] of ARRAYS) if (array instanceof kind) return type
  throw new Error("no section is of this type")
}

const COPY_BYTES = 524_288
/** Bytes of rows that are written to a file or to memory together. */
const PIECE_BYTES = 131_072

/** An array that is filled in its final memory, in steps. */
interface LaterPart {
  readonly name: string
  readonly count: number
  /** `array` has arbitrary content. */ readonly fill: (array: Uint32Array) => Generator<void, void>
}
export class SectionWriter {
  private readonly parts: Array<{ name: string; array: SectionArray }> = []
  private readonly later: LaterPart[] = []
  private readonly rows: Array<Rows & { readonly name: string }> = []
  put(name: string, array: SectionArray): void {
    this.parts.push({ name, array })
  }
  /** Adds an array that is made when its memory exists, because a copy of it would be large. */
  putLater(name: string, count: number, fill: LaterPart["fill"]): void {
    this.later.push({ name, count, fill })
  }
  /** Adds numbers that may be in a file; those of one segment are either all in the file or all in memory. */
  putRows(name: string, rows: Rows): void {
    this.rows.push({ name, ...rows })
  }
  /** Copies every part into memory from `allocate`. Cost: one pass over the bytes. */
  finish(docs: number, fields: ReadonlyArray<string>, allocate: Allocate): { meta: SegmentMeta; region: Region } {
    const work = this.finishing(docs, fields, allocate)
    for (;;) {
      const step = work.next()
      if (step.done === true) return step.value
    }
  }
  /**
   * Like `finish`, yielding after every half megabyte. A caller that starts it must run it to the end, because memory
   * and file are reserved from the first step on. If the file cannot be written, everything is in memory.
   */
  *finishing(
    docs: number,
    fields: ReadonlyArray<string>,
    allocate: Allocate,
    outside?: Outside
  ): Generator<void, { meta: SegmentMeta; region: Region }> {
    const file = yield* this.writingRows(outside)
    const sections: SectionEntry[] = []
    let at = 0
    for (const { name, array } of this.parts) {
      sections.push({ name, type: typeOf(array), offset: at, count: array.length })
      at = (at + array.byteLength + 7) & ~7
    }
    const laterFrom = at
    for (const { count, name } of this.later) {
      sections.push({ name, type: "u32", offset: at, count })
      at = (at + count * 4 + 7) & ~7
    }
    const inside = at
    if (file === undefined)
      for (const { count, name, width } of this.rows) {
        sections.push({ name, type: "f32", offset: at, count: count * width })
        at = (at + count * width * 4 + 7) & ~7
      }
    const region = allocate(Math.max(8, at))
    const bytes = new Uint8Array(region.buffer as ArrayBuffer, region.offset, region.length)
    // Counted over all parts, because a merge has hundreds of a few hundred kilobytes each.
    let copied = 0
    for (let i = 0; i < this.parts.length; i++) {
      const { array } = this.parts[i]
      for (let from = 0; from < array.byteLength;) {
        const count = Math.min(COPY_BYTES - copied, array.byteLength - from)
        bytes.set(
          new Uint8Array(array.buffer as ArrayBuffer, array.byteOffset + from, count),
          sections[i].offset + from
        )
        from += count
        copied += count
        if (copied < COPY_BYTES) continue
        copied = 0
        yield
      }
    }
    let laterAt = laterFrom
    for (const { count, fill } of this.later) {
      yield* fill(new Uint32Array(region.buffer as ArrayBuffer, region.offset + laterAt, count))
      laterAt = (laterAt + count * 4 + 7) & ~7
    }
    if (file === undefined) {
      for (let from = inside, i = 0; i < this.rows.length; i++) {
        for (const piece of piecesOf(this.rows[i])) {
          bytes.set(piece, from)
          from += piece.length
          yield
        }
        from = (from + 7) & ~7
      }
      return { meta: { docs, fields, sections, bytes: at }, region }
    }
    const { name, path, bytes: written } = file
    return {
      meta: { docs, fields, sections: [...sections, ...file.sections], bytes: at, outside: { name, bytes: written } },
      region: { ...region, outside: path }
    }
  }
  /** undefined if the rows are to be in memory. */
  private *writingRows(
    outside: Outside | undefined
  ): Generator<
    void,
    | { readonly name: string; readonly path: string; readonly bytes: number; readonly sections: SectionEntry[] }
    | undefined
  > {
    const sections: SectionEntry[] = []
    let bytes = 0
    for (const { count, name, width } of this.rows) {
      sections.push({ name, type: "f32", offset: bytes, count: count * width, outside: true })
      bytes += count * width * 4
    }
    let file: OutsideFile | undefined
    try {
      file = bytes === 0 ? undefined : outside?.create(bytes)
      if (file === undefined) return undefined
      for (const rows of this.rows)
        for (const piece of piecesOf(rows)) {
          file.append(piece)
          yield
        }
      file.done()
      return { name: file.name, path: file.path, bytes, sections }
    } catch (error) {
      file?.giveUp()
      warn("vectors stay in memory, because the disk does not take them", error)
      return undefined
    }
  }
}
/** Each chunk is valid until the next one is requested. */
function* piecesOf({ count, fill, width }: Rows): Generator<Uint8Array, void> {
  const rows = Math.max(1, Math.floor(PIECE_BYTES / (4 * width))),
    piece = new Float32Array(Math.min(rows, count) * width)
  for (let from = 0; from < count; from += rows) {
    const part = piece.subarray(0, Math.min(rows, count - from) * width)
    part.fill(0)
    fill(part, from)
    yield new Uint8Array(part.buffer, 0, part.byteLength)
  }
}

/** The arrays of a segment by name, as views without copies. */
export class SectionReader {
  private readonly entries = new Map<string, SectionEntry>()
  readonly meta: SegmentMeta
  readonly region: Region
  constructor(meta: SegmentMeta, region: Region) {
    this.meta = meta
    this.region = region
    for (const entry of meta.sections) this.entries.set(entry.name, entry)
  }
  has(name: string): boolean {
    return this.entries.has(name)
  }
  isOfShorts(name: string): boolean {
    return this.entries.get(name)?.type === "u16"
  }
  /** Numbers in the segment's separate file: where they start, and how many; undefined if they are in memory. */
  outside(name: string): { readonly path: string; readonly start_bytes: number; readonly count: number } | undefined {
    const entry = this.entries.get(name)
    if (entry?.outside !== true) return undefined
    const { outside: path } = this.region
    if (path === undefined) throw new Error(`nobody said where the file with ${name} is`)
    return { path, start_bytes: entry.offset, count: entry.count }
  }
  private at(name: string, type: SectionType): SectionEntry {
    const entry = this.entries.get(name)
    if (entry === undefined || entry.type !== type || entry.outside === true)
      throw new Error(`segment section ${name} is not ${type}`)
    return entry
  }
  private view<A>(
    name: string,
    type: SectionType,
    make: new (buffer: ArrayBufferLike, offset: number, length: number) => A
  ): A {
    const entry = this.at(name, type)
    return new make(this.region.buffer, this.region.offset + entry.offset, entry.count)
  }
  i8(name: string): Int8Array {
    return this.view(name, "i8", Int8Array)
  }
  i16(name: string): Int16Array {
    return this.view(name, "i16", Int16Array)
  }
  u8(name: string): Uint8Array {
    return this.view(name, "u8", Uint8Array)
  }
  u16(name: string): Uint16Array {
    return this.view(name, "u16", Uint16Array)
  }
  u32(name: string): Uint32Array {
    return this.view(name, "u32", Uint32Array)
  }
  i32(name: string): Int32Array {
    return this.view(name, "i32", Int32Array)
  }
  f32(name: string): Float32Array {
    return this.view(name, "f32", Float32Array)
  }
  f64(name: string): Float64Array {
    return this.view(name, "f64", Float64Array)
  }
  i64(name: string): BigInt64Array {
    return this.view(name, "i64", BigInt64Array)
  }
  /** The array in the type in which it was written. */
  array(name: string): SectionArray {
    const type = this.entries.get(name)?.type ?? "u8"
    return this.view<SectionArray>(name, type, ARRAYS.get(type)!)
  }
  /** Ordinals in the width that their count needed. */
  ordinals(name: string): Ordinals {
    const type = this.entries.get(name)?.type
    return type === "u8" ? this.u8(name) : type === "u16" ? this.u16(name) : this.u32(name)
  }
  /** Numbers in whatever width they were stored. */
  numbers(name: string): Int32Array | Float32Array | Float64Array | Uint8Array {
    const entry = this.entries.get(name)
    if (entry === undefined) throw new Error(`segment section ${name} is missing`)
    switch (entry.type) {
      case "i32":
        return this.view(name, "i32", Int32Array)
      case "f32":
        return this.view(name, "f32", Float32Array)
      case "f64":
        return this.view(name, "f64", Float64Array)
      case "u8":
        return this.view(name, "u8", Uint8Array)
      default:
        throw new Error(`segment section ${name} holds no plain numbers`)
    }
  }
}
