/**
 * What a visitor did to documents of a collection, as bytes: a row holds the newest dozen or so interactions and is
 * read by personalization. The processor `affinities` writes it; only the engine knows the documents' properties. Pure.
 *
 * An interaction is its kind (a byte), its time (four bytes, seconds), and the document's id preceded by its length (a
 * byte).
 */

export const TAKE_KINDS = ["view", "click", "add_to_cart", "purchase"] as const
export type TakeKind = (typeof TAKE_KINDS)[number]
export interface Take {
  readonly kind: TakeKind
  /** Unix seconds. */ readonly at_s: number
  readonly document: string
}

/**
 * Another id of the row's user, packed like an interaction with the id's print in place of the document's id. What
 * was done under that id until `at_s` belongs to the user too.
 */
interface SeenAs {
  /** Print (`shortPrint`) of the anonymous id or session: the visitor of another row. */ readonly visitor: number
  /** Unix seconds: the last time that both were in one event. */ readonly at_s: number
}

/** Maximum size of a row, some fifteen interactions with short ids; a longer row is cut. */
export const HISTORY_BYTES_MAX = 288
const REMEMBERED_BYTES = 240
/** How many of a user's other ids a row remembers: the most recently seen. */
const SEEN_AS_MAX = 3
/** A document with a longer id is not remembered. */
const ID_BYTES_MAX = 128
const HEAD_BYTES = 6
const LONGEST_S = 2 ** 32 - 1
const SEEN_AS = 255
const PRINT_BYTES = 8

const secondsOf = (at_s: number): number => Math.min(Math.max(0, Math.floor(at_s)), LONGEST_S)
const packed = (kind: number, at_s: number, id: Uint8Array): Uint8Array => {
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + id.length)
  bytes[0] = kind
  bytes.writeUInt32BE(secondsOf(at_s), 1)
  bytes[5] = id.length
  bytes.set(id, HEAD_BYTES)
  return bytes
}
/** Empty if the interaction is not remembered. */
export const packTake = ({ at_s, document, kind }: Take): Uint8Array => {
  const id = Buffer.from(document, "utf8")
  if (id.length === 0 || id.length > ID_BYTES_MAX) return id.subarray(0, 0)
  return packed(TAKE_KINDS.indexOf(kind), at_s, id)
}
const HEX: ReadonlyArray<string> = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"))
/**
 * A packed interaction as hex, the format in which rows are written. With rows found by number and joined as text, a
 * visitor with one event costs the counting process 4.9 µs of CPU instead of 7.8 (`bench -- events --visitors
 * 1000000`).
 */
export const hexOfTake = (take: Take): string => {
  const { document, kind } = take
  if (document === "" || document.length > ID_BYTES_MAX) return ""
  let id = ""
  for (let i = 0; i < document.length; i++) {
    const code = document.charCodeAt(i)
    if (code > 0x7f) return Buffer.from(packTake(take)).toString("hex")
    id += HEX[code]!
  }
  const at = secondsOf(take.at_s)
  return `${HEX[TAKE_KINDS.indexOf(kind)]!}${HEX[at >>> 24]!}${HEX[(at >>> 16) & 255]!}${HEX[(at >>> 8) & 255]!}${HEX[at & 255]!}${HEX[document.length]!}${id}`
}
export const packSeenAs = ({ at_s, visitor }: SeenAs): Uint8Array => {
  const print = Buffer.allocUnsafe(PRINT_BYTES)
  print.writeBigUInt64BE(BigInt(visitor))
  return packed(SEEN_AS, at_s, print)
}

interface Entry {
  readonly kind: number
  readonly at_s: number
  /** All bytes of the row. */ readonly bytes: Buffer
}
/** The entries of a row, in stored order. */
const entriesOf = (row: Uint8Array): ReadonlyArray<Entry> => {
  const bytes = Buffer.from(row.buffer, row.byteOffset, row.byteLength)
  const entries: Array<Entry> = []
  for (let at = 0; at + HEAD_BYTES <= bytes.length;) {
    const end = at + HEAD_BYTES + bytes[at + 5]!
    entries.push({ kind: bytes[at]!, at_s: bytes.readUInt32BE(at + 1), bytes: bytes.subarray(at, end) })
    at = end
  }
  return entries
}

/** The interactions of a row, in stored order. */
export const unpackTakes = (row: Uint8Array): ReadonlyArray<Take> =>
  entriesOf(row).flatMap(({ at_s, bytes, kind }) =>
    kind === SEEN_AS ? [] : [{ kind: TAKE_KINDS[kind] ?? "view", at_s, document: bytes.toString("utf8", HEAD_BYTES) }]
  )
/** The most recently seen ids, each once, newest first; within one second ordered by their prints. */
export const unpackSeenAs = (row: Uint8Array): ReadonlyArray<SeenAs> => {
  const last = new Map<number, number>()
  for (const { at_s, bytes, kind } of entriesOf(row)) {
    if (kind !== SEEN_AS || bytes.length !== HEAD_BYTES + PRINT_BYTES) continue
    const visitor = Number(bytes.readBigUInt64BE(HEAD_BYTES))
    last.set(visitor, Math.max(at_s, last.get(visitor) ?? 0))
  }
  return Array.from(last, ([visitor, at_s]) => ({ visitor, at_s }))
    .sort((a, b) => b.at_s - a.at_s || a.visitor - b.visitor)
    .slice(0, SEEN_AS_MAX)
}

/** The newest interactions within 240 bytes, oldest first; those of the same second are ordered by their bytes. */
const newest = (row: Uint8Array): { readonly takes: ReadonlyArray<Entry>; readonly next: Entry | undefined } => {
  const takes = entriesOf(row)
    .filter(({ kind }) => kind !== SEEN_AS)
    .toSorted((a, b) => a.at_s - b.at_s || Buffer.compare(a.bytes, b.bytes))
  let from = takes.length
  for (let left = REMEMBERED_BYTES; from > 0 && takes[from - 1]!.bytes.length <= left; from--)
    left -= takes[from - 1]!.bytes.length
  return { takes: takes.slice(from), next: takes[from - 1] }
}
const rowOf = (row: Uint8Array, takes: ReadonlyArray<Entry>): Uint8Array =>
  Buffer.concat([...unpackSeenAs(row).map(packSeenAs), ...takes.map(({ bytes }) => bytes)])

/** What is read from a row: the newest interactions, preceded by the ids seen last. */
export const remembered = (row: Uint8Array): Uint8Array => rowOf(row, newest(row).takes)
/**
 * The part of a row that is stored: what `remembered` returns, and the newest of the dropped interactions, which
 * marks how far back the row reaches. So flushes and replays store the same history in whatever order and portions
 * interactions arrive: anything older than the mark is dropped in any order.
 */
const cut = (row: Uint8Array): Uint8Array => {
  const { next, takes } = newest(row)
  return rowOf(row, next === undefined ? takes : [next, ...takes])
}
/** The row, cut if it is too long. */
export const trimmed = (row: Uint8Array): Uint8Array => (row.length <= HISTORY_BYTES_MAX ? row : cut(row))

/** The interactions of a row up to a moment. */
const until = (row: Uint8Array, at_s: number): ReadonlyArray<Uint8Array> =>
  entriesOf(remembered(row)).flatMap((entry) => (entry.kind !== SEEN_AS && entry.at_s <= at_s ? [entry.bytes] : []))
/** A user's history together with what was done under ids seen with the user id, until each was last seen with it. */
export const joined = (
  own: ReadonlyArray<Uint8Array>,
  others: ReadonlyArray<{ readonly row: Uint8Array; readonly at_s: number }>
): Uint8Array => remembered(Buffer.concat([...own, ...others.flatMap(({ at_s, row }) => until(row, at_s))]))

/** A history in which some days are replaced: its interactions of those days are dropped, and the new ones added. */
export const replaced = (
  before: Uint8Array,
  isReplaced: (at_s: number) => boolean,
  replayed: Uint8Array
): Uint8Array => {
  const others = entriesOf(before).filter(({ at_s }) => !isReplaced(at_s))
  return cut(Buffer.concat([...others.map(({ bytes }) => bytes), replayed]))
}
