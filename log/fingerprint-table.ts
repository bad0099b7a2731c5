/**
 * A set of 128-bit fingerprints with the hour each was last admitted, in open-addressing segments of fixed size behind
 * a directory (extendible hashing, Fagin et al. 1979). It grows by splitting one segment of 4,096 slots at a time, so
 * no insertion ever waits for a table to double. Entries older than the window are dropped when their segment is full.
 */
import { FINGERPRINT_WORDS } from "./fingerprint.ts"

const SLOTS = 4_096
const MASK = SLOTS - 1
const FILLED_MAX = SLOTS * 0.8
/** A segment that expiry brings below this keeps its size; a fuller one is split, or it would soon be full again. */
const FILLED_AFTER_EXPIRY_MAX = SLOTS * 0.6
/**
 * A segment's words: all fingerprints, then their stamps (hour and turn, 16 bits each). They are separate because the
 * most common look-up, a miss, reads only fingerprints; four of them share a cache line and none straddles two.
 */
const STAMPS = SLOTS * FINGERPRINT_WORDS
export const SEGMENT_BYTES = (STAMPS + SLOTS) * 4
/** Hours are counted from here, so that they fit into 16 bits until 2031; 0 means no hour, 1 a forgotten slot. */
const EPOCH_HOURS = Date.UTC(2024, 0, 1) / 3_600_000 - 2
/** A time (ms) as the hour that tables and sealed runs store. */
export const hourOf = (now: number): number => Math.floor(now / 3_600_000) - EPOCH_HOURS
const FORGOTTEN = 1

interface Segment {
  readonly words: Uint32Array
  readonly depth: number
  filled: number
  /** No slot's hour is below this. */
  oldest: number
}

const hourAt = ({ words }: Segment, slot: number): number => words[STAMPS + slot]! >>> 16
/** The order of arrival: an hour may bring more ids than the table holds, and the newest must not be dropped. */
const turnAt = ({ words }: Segment, slot: number): number => words[STAMPS + slot]! & 0xffff
const setHour = (segment: Segment, slot: number, hour: number): void => {
  segment.words[STAMPS + slot] = (hour << 16) | turnAt(segment, slot)
  if (hour < segment.oldest) segment.oldest = hour
}

interface FingerprintTableOptions {
  readonly windowHours: number
  /** At this bound a full segment drops the oldest quarter of its ids, which count as new again. */
  readonly bytesMax: number
  /** Expected ids, up to which no segment is split. A segment allocates memory only on first use. Default: none. */
  readonly ids?: number
}

export class FingerprintTable {
  readonly #windowHours: number
  readonly #segmentsMax: number
  readonly #depthFirst: number
  #directory: Array<Segment | undefined>
  #depth: number
  #segments = 0
  #dropped = 0
  /** Words for the next segments: empty ones, and those that `clear` released. */
  readonly #empty: Array<Uint32Array> = []
  #cleared: Array<Uint32Array> = []
  // oxlint-disable-next-line no-unused-private-class-members -- see `touch`
  #touched = 0

  constructor({ bytesMax, ids = 0, windowHours }: FingerprintTableOptions) {
    this.#windowHours = windowHours
    this.#segmentsMax = Math.max(1, Math.floor(bytesMax / SEGMENT_BYTES))
    this.#depth = this.#depthFirst = Math.max(
      0,
      Math.min(Math.ceil(Math.log2(ids / FILLED_MAX)), Math.floor(Math.log2(this.#segmentsMax)))
    )
    this.#directory = emptyDirectory(this.#depth)
  }

  get bytes(): number {
    return (this.#segments + this.#empty.length + this.#cleared.length) * SEGMENT_BYTES
  }
  /** Fingerprints dropped early because the table had reached its bound. */
  get dropped(): number {
    return this.#dropped
  }

  /**
   * Returns true if the fingerprint at `words[at]` was not in the window, and adds it as of `now` (ms). A fingerprint
   * that is already there keeps its first hour, because the window is measured from the first time an id is seen.
   */
  admit(words: Uint32Array, at: number, now: number): boolean {
    const hour = hourOf(now)
    const oldest = Math.max(FORGOTTEN + 1, hour - this.#windowHours)
    const index = this.#indexOf(words[at]!)
    let segment = this.#directory[index] ?? (this.#directory[index] = this.#newSegment(this.#depth))
    if (segment.filled >= FILLED_MAX) {
      this.#makeRoom(segment, oldest)
      segment = this.#directory[this.#indexOf(words[at]!)]!
    }
    const found = find(segment.words, words, at)
    if (found >= 0) {
      if (hourAt(segment, found) >= oldest) return false
      setHour(segment, found, hour)
      return true
    }
    put(segment, ~found, words, at, hour)
    return true
  }

  /** Whether the fingerprint is in the window; changes nothing. */
  has(words: Uint32Array, at: number, now: number): boolean {
    const segment = this.#directory[this.#indexOf(words[at]!)]
    if (segment === undefined) return false
    const found = find(segment.words, words, at)
    return found >= 0 && hourAt(segment, found) >= Math.max(FORGOTTEN + 1, hourOf(now) - this.#windowHours)
  }

  /**
   * Prefetches the slots and stamps of all these fingerprints into the processor's cache together: a look-up waits for
   * memory, and a branch on its result keeps the next one from overlapping. Pays off for hundreds to thousands of them.
   */
  touch(words: Uint32Array): void {
    let sum = 0
    for (let at = 0; at < words.length; at += FINGERPRINT_WORDS) {
      const segment = this.#directory[this.#indexOf(words[at]!)]
      if (segment === undefined) continue
      const slot = words[at + 1]! & MASK
      sum ^= segment.words[slot * FINGERPRINT_WORDS]! ^ segment.words[STAMPS + slot]!
    }
    // Stored, because otherwise the compiler would remove the unused reads.
    this.#touched = sum
  }

  /** Undoes an admission. */
  forget(words: Uint32Array, at: number): void {
    const segment = this.#directory[this.#indexOf(words[at]!)]
    if (segment === undefined) return
    const found = find(segment.words, words, at)
    if (found >= 0) setHour(segment, found, FORGOTTEN)
  }

  /** Forgets everything but keeps the allocated memory. */
  clear(): void {
    this.#cleared = [...new Set(this.#directory)]
      .flatMap((segment) => (segment === undefined ? [] : [segment.words]))
      .slice(0, 2 ** this.#depthFirst - this.#empty.length)
    this.#depth = this.#depthFirst
    this.#directory = emptyDirectory(this.#depth)
    this.#segments = 0
  }

  /**
   * Allocates this many of the expected segments in advance, 10 to 40 µs each, so that the first caller need not wait
   * for it.
   */
  prepare(segments: number): void {
    for (let made = 0; made < segments && this.#segments + this.#empty.length < 2 ** this.#depthFirst; made++)
      this.#empty.push(this.#emptyWords())
  }
  #emptyWords(): Uint32Array {
    return this.#cleared.pop()?.fill(0) ?? new Uint32Array(SEGMENT_BYTES / 4)
  }

  #indexOf(word: number): number {
    return this.#depth === 0 ? 0 : word >>> (32 - this.#depth)
  }
  #newSegment(depth: number): Segment {
    this.#segments++
    return { words: this.#empty.pop() ?? this.#emptyWords(), depth, filled: 0, oldest: Infinity }
  }

  #makeRoom(segment: Segment, oldest: number): void {
    if (segment.oldest < oldest) rebuild(segment, oldest)
    if (segment.filled < FILLED_AFTER_EXPIRY_MAX) return
    if (this.#segments < this.#segmentsMax && segment.depth < 32) return this.#split(segment)
    const before = segment.filled
    rebuild(segment, oldest, FILLED_AFTER_EXPIRY_MAX)
    this.#dropped += before - segment.filled
  }

  #split(segment: Segment): void {
    if (segment.depth === this.#depth) {
      this.#directory = this.#directory.flatMap((held) => [held, held])
      this.#depth++
    }
    const depth = segment.depth + 1
    const halves = [this.#newSegment(depth), this.#newSegment(depth)] as const
    const { words } = segment
    for (const slot of inTurn(segment, FORGOTTEN + 1)) {
      const at = slot * FINGERPRINT_WORDS
      const half = halves[(words[at]! >>> (32 - depth)) & 1]!
      put(half, ~find(half.words, words, at), words, at, hourAt(segment, slot))
    }
    // The segment's directory entries are adjacent.
    const first = this.#directory.indexOf(segment),
      places = 2 ** (this.#depth - segment.depth)
    for (let i = 0; i < places; i++) this.#directory[first + i] = halves[2 * i < places ? 0 : 1]
    this.#segments--
  }
}
const emptyDirectory = (depth: number): Array<Segment | undefined> =>
  Array.from({ length: 2 ** depth }, () => undefined)

/**
 * The last word as slots store it, because a zero word marks an empty slot. Two fingerprints that become equal by this
 * differ in one bit of 128.
 */
const lastOf = (words: Uint32Array, at: number): number => words[at + 3]! || 1

/** The slot of a fingerprint, or the complement (negative) of the empty slot where it belongs. */
const find = (slots: Uint32Array, words: Uint32Array, at: number): number => {
  const last = lastOf(words, at)
  for (let slot = words[at + 1]! & MASK; ; slot = (slot + 1) & MASK) {
    const held = slot * FINGERPRINT_WORDS
    const there = slots[held + 3]!
    if (there === 0) return ~slot
    if (
      there === last &&
      slots[held] === words[at] &&
      slots[held + 1] === words[at + 1] &&
      slots[held + 2] === words[at + 2]
    )
      return slot
  }
}

const put = (segment: Segment, slot: number, words: Uint32Array, at: number, hour: number): void => {
  const held = slot * FINGERPRINT_WORDS
  const slots = segment.words
  slots[held] = words[at]!
  slots[held + 1] = words[at + 1]!
  slots[held + 2] = words[at + 2]!
  slots[held + 3] = lastOf(words, at)
  slots[STAMPS + slot] = (hour << 16) | segment.filled++
  if (hour < segment.oldest) segment.oldest = hour
}

/**
 * Slots holding entries from `oldest` on, in order of arrival; valid until the next call. Each was filled at most
 * `SLOTS` turns after a rebuild, so turns are below that and no two are equal.
 */
const inTurn = (segment: Segment, oldest: number): Int32Array => {
  byTurn.fill(-1)
  for (let slot = 0; slot < SLOTS; slot++) {
    const hour = hourAt(segment, slot)
    if (hour > FORGOTTEN && hour >= oldest) byTurn[turnAt(segment, slot)] = slot
  }
  let kept = 0
  for (let turn = 0; turn < SLOTS; turn++) if (byTurn[turn]! >= 0) byTurn[kept++] = byTurn[turn]!
  return byTurn.subarray(0, kept)
}
const byTurn = new Int32Array(SLOTS)

/**
 * Keeps only entries from `oldest` on, at most the last `most` of them, and closes gaps, which would break linear
 * probing.
 */
const rebuild = (segment: Segment, oldest: number, most = SLOTS): void => {
  const kept = inTurn(segment, oldest).subarray(-Math.floor(most))
  const before = { ...segment, words: segment.words.slice() }
  segment.words.fill(0)
  segment.filled = 0
  segment.oldest = Infinity
  for (const slot of kept) {
    const at = slot * FINGERPRINT_WORDS
    put(segment, ~find(segment.words, before.words, at), before.words, at, hourAt(before, slot))
  }
}
