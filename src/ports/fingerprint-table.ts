/**
 * A set of 128-bit fingerprints with the hour each was last admitted, in open-addressing segments of fixed size behind
 * a directory (extendible hashing, Fagin et al. 1979). It grows by splitting one segment of 4,096 slots at a time, so
 * no insertion ever waits for a table to double; what is older than the window is forgotten when its segment fills up.
 */
import { FINGERPRINT_WORDS } from "./fingerprint.ts"

const SLOTS = 4_096
const MASK = SLOTS - 1
const FILLED_MAX = SLOTS * 0.8
/** A segment that expiry brings below this keeps its size; above it, it splits at once rather than again soon. */
const FILLED_AFTER_EXPIRY_MAX = SLOTS * 0.6
/** Four words, then its hour and its turn (16 bits each): side by side, since whoever looks at a slot waits for memory once. */
const SLOT_WORDS = FINGERPRINT_WORDS + 1
const STAMP = FINGERPRINT_WORDS
export const SEGMENT_BYTES = SLOTS * SLOT_WORDS * 4
/** Hours are counted from here, so that they fit 16 bits until 2031; 0 marks an empty slot, 1 a forgotten one. */
const EPOCH_HOURS = Date.UTC(2024, 0, 1) / 3_600_000 - 2
/** The hour of a time (ms), as tables and sealed runs keep it. */
export const hourOf = (now: number): number => Math.floor(now / 3_600_000) - EPOCH_HOURS
const EMPTY = 0
const FORGOTTEN = 1

interface Segment {
  readonly slots: Uint32Array
  depth: number
  filled: number
}

const newSegment = (depth: number): Segment => ({ slots: new Uint32Array(SLOTS * SLOT_WORDS), depth, filled: 0 })
/** Of the slot that begins at a place. */
const hourAt = ({ slots }: Segment, at: number): number => slots[at + STAMP]! >>> 16
/** In which order they came: an hour may bring more than the table holds, and what came a moment ago must not go. */
const turnAt = ({ slots }: Segment, at: number): number => slots[at + STAMP]! & 0xffff
const setHour = (segment: Segment, at: number, hour: number): void => {
  segment.slots[at + STAMP] = (hour << 16) | turnAt(segment, at)
}

export interface FingerprintTableOptions {
  readonly windowHours: number
  /** At the bound a full segment drops a quarter of its ids, those that came first: they are taken for new again. */
  readonly bytesMax: number
}

export class FingerprintTable {
  readonly #windowHours: number
  readonly #segmentsMax: number
  #directory: Array<Segment> = [newSegment(0)]
  #depth = 0
  #segments = 1
  #dropped = 0

  constructor(options: FingerprintTableOptions) {
    this.#windowHours = options.windowHours
    this.#segmentsMax = Math.max(1, Math.floor(options.bytesMax / SEGMENT_BYTES))
  }

  get bytes(): number {
    return this.#segments * SEGMENT_BYTES
  }
  /** Fingerprints dropped before their time because the table had reached its bound. */
  get dropped(): number {
    return this.#dropped
  }

  /**
   * True when the fingerprint at `words[at]` was not in the window; it is now, from `now` (ms) on. A fingerprint
   * already there keeps its first hour: a window is measured from the first time an id is seen.
   */
  admit(words: Uint32Array, at: number, now: number): boolean {
    const hour = hourOf(now)
    const oldest = Math.max(FORGOTTEN + 1, hour - this.#windowHours)
    let segment = this.#segmentOf(words[at]!)
    if (segment.filled >= FILLED_MAX) {
      this.#makeRoom(segment, oldest)
      segment = this.#segmentOf(words[at]!)
    }
    const found = find(segment, words, at)
    if (found >= 0) {
      if (hourAt(segment, found) >= oldest) return false
      setHour(segment, found, hour)
      return true
    }
    putAt(segment, ~found, words, at, hour)
    return true
  }

  /** Whether the fingerprint is in the window; changes nothing. */
  has(words: Uint32Array, at: number, now: number): boolean {
    const segment = this.#segmentOf(words[at]!)
    const found = find(segment, words, at)
    return found >= 0 && hourAt(segment, found) >= Math.max(FORGOTTEN + 1, hourOf(now) - this.#windowHours)
  }

  /** Takes an admission back, as if it had not happened. */
  forget(words: Uint32Array, at: number): void {
    const segment = this.#segmentOf(words[at]!)
    const found = find(segment, words, at)
    if (found >= 0) setHour(segment, found, FORGOTTEN)
  }

  #segmentOf(word: number): Segment {
    return this.#directory[this.#depth === 0 ? 0 : word >>> (32 - this.#depth)]!
  }

  #makeRoom(segment: Segment, oldest: number): void {
    rebuild(segment, oldest)
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
    const halves = [newSegment(depth), newSegment(depth)] as const
    for (const at of inTurn(segment, FORGOTTEN + 1)) put(halves[(segment.slots[at]! >>> (32 - depth)) & 1]!, segment.slots, at, hourAt(segment, at))
    for (let i = 0; i < this.#directory.length; i++) {
      if (this.#directory[i] === segment) this.#directory[i] = halves[(i >>> (this.#depth - depth)) & 1]!
    }
    this.#segments++
  }
}

/** Where the slot of a fingerprint begins, or the complement (negative) of the empty one where it would stand. */
const find = ({ slots }: Segment, words: Uint32Array, at: number): number => {
  for (let slot = words[at + 1]! & MASK;; slot = (slot + 1) & MASK) {
    const held = slot * SLOT_WORDS
    if (slots[held + STAMP]! >>> 16 === EMPTY) return ~held
    if (slots[held] === words[at] && slots[held + 1] === words[at + 1] && slots[held + 2] === words[at + 2] && slots[held + 3] === words[at + 3]) return held
  }
}

const put = (segment: Segment, words: Uint32Array, at: number, hour: number): void => {
  let held = (words[at + 1]! & MASK) * SLOT_WORDS
  while (hourAt(segment, held) !== EMPTY) held = (held + SLOT_WORDS) % segment.slots.length
  putAt(segment, held, words, at, hour)
}
const putAt = (segment: Segment, held: number, words: Uint32Array, at: number, hour: number): void => {
  const { slots } = segment
  for (let i = 0; i < FINGERPRINT_WORDS; i++) slots[held + i] = words[at + i]!
  slots[held + STAMP] = (hour << 16) | segment.filled++
}

/** Where slots with what is from `oldest` on begin, in the order it came; good until the next call. Each was filled at most `SLOTS` turns after a rebuild, so turns are below that and no two are equal. */
const inTurn = (segment: Segment, oldest: number): Int32Array => {
  byTurn.fill(-1)
  for (let at = 0; at < segment.slots.length; at += SLOT_WORDS) {
    const hour = hourAt(segment, at)
    if (hour > FORGOTTEN && hour >= oldest) byTurn[turnAt(segment, at)] = at
  }
  let kept = 0
  for (let turn = 0; turn < SLOTS; turn++) if (byTurn[turn]! >= 0) byTurn[kept++] = byTurn[turn]!
  return byTurn.subarray(0, kept)
}
const byTurn = new Int32Array(SLOTS)

/** Keeps only what is from `oldest` on, at most the last `most` of it, and closes the gaps that linear probing would stumble over. */
const rebuild = (segment: Segment, oldest: number, most = SLOTS): void => {
  const kept = inTurn(segment, oldest).subarray(-Math.floor(most))
  const before = { ...segment, slots: segment.slots.slice() }
  segment.slots.fill(0)
  segment.filled = 0
  for (const at of kept) put(segment, before.slots, at, hourAt(before, at))
}
