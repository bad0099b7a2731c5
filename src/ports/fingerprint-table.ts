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
/** Bytes of one segment: four words, an hour and a turn a slot. */
export const SEGMENT_BYTES = SLOTS * (FINGERPRINT_WORDS * 4 + 2 + 2)
/** Hours are counted from here, so that they fit 16 bits until 2031; 0 marks an empty slot, 1 a forgotten one. */
const EPOCH_HOURS = Date.UTC(2024, 0, 1) / 3_600_000 - 2
/** The hour of a time (ms), as tables and sealed runs keep it. */
export const hourOf = (now: number): number => Math.floor(now / 3_600_000) - EPOCH_HOURS
const EMPTY = 0
const FORGOTTEN = 1

interface Segment {
  readonly words: Uint32Array
  readonly hours: Uint16Array
  /** In which order they came. An hour may bring more than the table holds, and what came a moment ago must not go. */
  readonly turns: Uint16Array
  depth: number
  filled: number
}

const newSegment = (depth: number): Segment => ({ words: new Uint32Array(SLOTS * FINGERPRINT_WORDS), hours: new Uint16Array(SLOTS), turns: new Uint16Array(SLOTS), depth, filled: 0 })

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
      if (segment.hours[found]! >= oldest) return false
      segment.hours[found] = hour
      return true
    }
    putAt(segment, ~found, words, at, hour)
    return true
  }

  /** Whether the fingerprint is in the window; changes nothing. */
  has(words: Uint32Array, at: number, now: number): boolean {
    const segment = this.#segmentOf(words[at]!)
    const found = find(segment, words, at)
    return found >= 0 && segment.hours[found]! >= Math.max(FORGOTTEN + 1, hourOf(now) - this.#windowHours)
  }

  /** Takes an admission back, as if it had not happened. */
  forget(words: Uint32Array, at: number): void {
    const segment = this.#segmentOf(words[at]!)
    const found = find(segment, words, at)
    if (found >= 0) segment.hours[found] = FORGOTTEN
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
    for (const slot of inTurn(segment, FORGOTTEN + 1)) {
      const hour = segment.hours[slot]!
      const word = slot * FINGERPRINT_WORDS
      put(halves[(segment.words[word]! >>> (32 - depth)) & 1]!, segment.words, word, hour)
    }
    for (let i = 0; i < this.#directory.length; i++) {
      if (this.#directory[i] === segment) this.#directory[i] = halves[(i >>> (this.#depth - depth)) & 1]!
    }
    this.#segments++
  }
}

/** Its slot, or the complement (negative) of the empty one where it would stand. */
const find = (segment: Segment, words: Uint32Array, at: number): number => {
  const held = segment.words
  let slot = words[at + 1]! & MASK
  for (; segment.hours[slot] !== EMPTY; slot = (slot + 1) & MASK) {
    const word = slot * FINGERPRINT_WORDS
    if (held[word] === words[at] && held[word + 1] === words[at + 1] && held[word + 2] === words[at + 2] && held[word + 3] === words[at + 3]) return slot
  }
  return ~slot
}

const put = (segment: Segment, words: Uint32Array, at: number, hour: number): void => {
  let slot = words[at + 1]! & MASK
  while (segment.hours[slot] !== EMPTY) slot = (slot + 1) & MASK
  putAt(segment, slot, words, at, hour)
}
const putAt = (segment: Segment, slot: number, words: Uint32Array, at: number, hour: number): void => {
  const word = slot * FINGERPRINT_WORDS
  for (let i = 0; i < FINGERPRINT_WORDS; i++) segment.words[word + i] = words[at + i]!
  segment.hours[slot] = hour
  segment.turns[slot] = segment.filled++
}

/** Slots with what is from `oldest` on, in the order it came; good until the next call. Each was filled at most `SLOTS` turns after a rebuild, so turns are below that and no two are equal. */
const inTurn = ({ hours, turns }: Segment, oldest: number): Int32Array => {
  byTurn.fill(-1)
  for (let slot = 0; slot < SLOTS; slot++) if (hours[slot]! > FORGOTTEN && hours[slot]! >= oldest) byTurn[turns[slot]!] = slot
  let kept = 0
  for (let turn = 0; turn < SLOTS; turn++) if (byTurn[turn]! >= 0) byTurn[kept++] = byTurn[turn]!
  return byTurn.subarray(0, kept)
}
const byTurn = new Int32Array(SLOTS)

/** Keeps only what is from `oldest` on, at most the last `most` of it, and closes the gaps that linear probing would stumble over. */
const rebuild = (segment: Segment, oldest: number, most = SLOTS): void => {
  const kept = inTurn(segment, oldest).subarray(-Math.floor(most))
  const words = segment.words.slice()
  const hours = segment.hours.slice()
  segment.hours.fill(EMPTY)
  segment.filled = 0
  for (const slot of kept) put(segment, words, slot * FINGERPRINT_WORDS, hours[slot]!)
}
