/**
 * What visitors did in one collection, session by session: the only state behind every recommendation. Two ring buffers
 * of typed arrays: events (16 bytes each: item and kind, the previous event of the same item, its session, the previous
 * event of the same session) and sessions (18 bytes each). Links lead from an item to the newest sessions with it, and
 * from a session to its items. Pairs are not counted and stored but read from sessions when requested, so data that is
 * removed (a full ring, a robot, an erased person) is removed from every figure exactly.
 *
 * Numbers of events and sessions only increase (modulo 2^32, 0 means none); a link to an overwritten entry is detected
 * by its age. Adding is O(1); memory is bounded by the two capacities.
 */

/**
 * Kinds of visitor events on a document, from weak to strong.
 *
 * @example
 * ```ts
 * import { KINDS } from "@dowser/engine-sdk/recommend"
 *
 * KINDS.indexOf("purchase") // 3, the `kind` of an event
 * ```
 */
export const KINDS = ["view", "click", "add_to_cart", "purchase"] as const
export type Kind = (typeof KINDS)[number]

const KIND_SHIFT = 28
const ITEM_MASK = 0x0fff_ffff
/** Bytes of each event, each session and each item (without its id). */
const EVENT_BYTES = 16
const SESSION_BYTES = 18
const ITEM_BYTES = 8

const DROPPED = 0x8000
const LINKED = 0x4000
const LENGTH = 0x3fff
const SMALLEST = 64

export interface SessionLogLimits {
  /** Powers of two. */ readonly events: number
  readonly sessions: number
  /** Of one session; with more, it is ignored. At most 16,383. */ readonly sessionEvents: number
}
/** The complete log as it is stored in a snapshot; the arrays are the log's own. */
export interface SessionLogImage {
  readonly eventHead: number
  readonly sessionHead: number
  readonly columns: ReadonlyArray<Uint32Array<ArrayBuffer>>
  readonly marks: Uint16Array<ArrayBuffer>
}

const grown = (of: Uint32Array, length: number): Uint32Array<ArrayBuffer> => {
  const more = new Uint32Array(length)
  more.set(of)
  return more
}

export class SessionLog {
  readonly #limits: SessionLogLimits
  // Events: `item | kind << 28`, and links.
  #item = new Uint32Array(SMALLEST)
  #before = new Uint32Array(SMALLEST)
  #session = new Uint32Array(SMALLEST)
  #inSession = new Uint32Array(SMALLEST)
  // Sessions: newest event, seconds since 1970 of the first and the last event, previous session of the same person.
  #tail = new Uint32Array(SMALLEST)
  #began = new Uint32Array(SMALLEST)
  #ended = new Uint32Array(SMALLEST)
  #previous = new Uint32Array(SMALLEST)
  /** By session: number of events, is a person linked, is it ignored. */ #marks = new Uint16Array(SMALLEST)
  /** By item: newest event, and number of events that count. */ #heads = new Uint32Array(SMALLEST)
  #counts = new Uint32Array(SMALLEST)
  /** Numbers of the newest event and session. */ #eventHead = 0
  #sessionHead = 0

  constructor(limits: SessionLogLimits) {
    this.#limits = limits
  }

  get newestEvent(): number {
    return this.#eventHead
  }
  get sessionEventsMax(): number {
    return this.#limits.sessionEvents
  }
  /** Number of events that are kept. */
  get events(): number {
    return Math.min(this.#eventHead, this.#item.length)
  }
  get sessions(): number {
    return Math.min(this.#sessionHead, this.#tail.length)
  }
  get bytes(): number {
    return this.#item.length * EVENT_BYTES + this.#tail.length * SESSION_BYTES + ITEM_BYTES * this.#heads.length
  }

  hasEvent(event: number): boolean {
    return event !== 0 && (this.#eventHead - event) >>> 0 < this.#item.length
  }
  hasSession(session: number): boolean {
    return session !== 0 && (this.#sessionHead - session) >>> 0 < this.#tail.length
  }

  /** Opens a new session without events. `at`: seconds since 1970. */
  open(at: number): number {
    if (this.#sessionHead + 1 >= this.#tail.length && this.#tail.length < this.#limits.sessions) this.#growSessions()
    const session = (this.#sessionHead = (this.#sessionHead + 1) >>> 0 || 1)
    const place = session & (this.#tail.length - 1)
    this.#detach(this.#tail[place])
    this.#tail[place] = this.#previous[place] = 0
    this.#began[place] = this.#ended[place] = at
    this.#marks[place] = 0
    return session
  }
  /** Sets the previous session of the same person. */
  link(session: number, previous: number): void {
    const place = session & (this.#tail.length - 1)
    this.#previous[place] = previous
    this.#marks[place] |= LINKED
  }
  isLinked(session: number): boolean {
    return (this.#marks[session & (this.#tail.length - 1)] & LINKED) !== 0
  }
  began(session: number): number {
    return this.#began[session & (this.#tail.length - 1)]
  }
  ended(session: number): number {
    return this.#ended[session & (this.#tail.length - 1)]
  }
  previous(session: number): number {
    return this.#previous[session & (this.#tail.length - 1)]
  }

  /**
   * Adds the next event of a session. A repeated event on the same document is merged into one of the stronger kind;
   * one event too many, and the entire session is ignored.
   */
  add(session: number, item: number, kind: number, at: number): void {
    const place = session & (this.#tail.length - 1)
    if (at > this.#ended[place]) this.#ended[place] = at
    const mark = this.#marks[place]
    if ((mark & DROPPED) !== 0) return
    const last = this.#tail[place]
    if (this.hasEvent(last)) {
      const lastPlace = last & (this.#item.length - 1)
      const known = this.#item[lastPlace]
      if ((known & ITEM_MASK) === item) {
        if (kind > known >>> KIND_SHIFT) this.#item[lastPlace] = (item | (kind << KIND_SHIFT)) >>> 0
        return
      }
    }
    const length = (mark & LENGTH) + 1
    if (length > this.#limits.sessionEvents) {
      this.#marks[place] = mark | DROPPED
      this.#detach(last)
      this.#tail[place] = 0
      return
    }
    this.#marks[place] = (mark & ~LENGTH) | length
    this.#tail[place] = this.#append(session, item, kind, last)
  }
  #append(session: number, item: number, kind: number, inSession: number): number {
    if (this.#eventHead + 1 >= this.#item.length && this.#item.length < this.#limits.events) this.#growEvents()
    const event = (this.#eventHead = (this.#eventHead + 1) >>> 0 || 1)
    const place = event & (this.#item.length - 1)
    if (item >= this.#heads.length) {
      const length = 2 ** Math.ceil(Math.log2(item + 1))
      this.#heads = grown(this.#heads, length)
      this.#counts = grown(this.#counts, length)
    }
    if (this.#session[place] !== 0) this.#counts[this.#item[place] & ITEM_MASK]--
    this.#counts[item]++
    this.#item[place] = (item | (kind << KIND_SHIFT)) >>> 0
    this.#before[place] = this.#heads[item]
    this.#session[place] = session
    this.#inSession[place] = inSession
    this.#heads[item] = event
    return event
  }

  /** Removes a session's events, given its newest, from what counts. */
  #detach(newest: number): void {
    for (let event = newest; this.hasEvent(event);) {
      const place = event & (this.#item.length - 1)
      if (this.#session[place] !== 0) this.#counts[this.#item[place] & ITEM_MASK]--
      this.#session[place] = 0
      event = this.#inSession[place]
    }
  }

  /** Number of events of an item that count. */
  countOf(item: number): number {
    return item < this.#counts.length ? this.#counts[item] : 0
  }
  /** Newest event of an item, 0 if there is none. */
  newestOf(item: number): number {
    if (item >= this.#heads.length) return 0
    const event = this.#heads[item]
    return this.hasEvent(event) && (this.#item[event & (this.#item.length - 1)] & ITEM_MASK) === item ? event : 0
  }
  /** The previous event of the same item, 0 if there is none. */
  beforeOf(event: number): number {
    const before = this.#before[event & (this.#item.length - 1)]
    return this.hasEvent(before) ? before : 0
  }
  /** 0 for an event that no longer counts. */
  sessionOf(event: number): number {
    return this.#session[event & (this.#item.length - 1)]
  }
  itemOf(event: number): number {
    return this.#item[event & (this.#item.length - 1)] & ITEM_MASK
  }
  /** Index of `KINDS`. */
  kindOf(event: number): number {
    return this.#item[event & (this.#item.length - 1)] >>> KIND_SHIFT
  }
  /** Reads a session's items (with kinds, if requested), oldest first, from `at` on; returns the end index. */
  read(session: number, into: Uint32Array, at: number, kinds?: Uint8Array): number {
    const mask = this.#item.length - 1
    let end = at
    for (
      let event = this.#tail[session & (this.#tail.length - 1)];
      this.hasEvent(event) && end < into.length;
      event = this.#inSession[event & mask]
    ) {
      const held = this.#item[event & mask]
      if (kinds !== undefined) kinds[end] = held >>> KIND_SHIFT
      into[end++] = held & ITEM_MASK
    }
    into.subarray(at, end).reverse()
    kinds?.subarray(at, end).reverse()
    return end
  }

  #growEvents(): void {
    const length = this.#item.length * 2
    this.#item = grown(this.#item, length)
    this.#before = grown(this.#before, length)
    this.#session = grown(this.#session, length)
    this.#inSession = grown(this.#inSession, length)
  }
  #growSessions(): void {
    const length = this.#tail.length * 2
    this.#tail = grown(this.#tail, length)
    this.#began = grown(this.#began, length)
    this.#ended = grown(this.#ended, length)
    this.#previous = grown(this.#previous, length)
    const marks = new Uint16Array(length)
    marks.set(this.#marks)
    this.#marks = marks
  }

  image(): SessionLogImage {
    return {
      eventHead: this.#eventHead,
      sessionHead: this.#sessionHead,
      columns: [
        this.#item,
        this.#before,
        this.#session,
        this.#inSession,
        this.#tail,
        this.#began,
        this.#ended,
        this.#previous,
        this.#heads,
        this.#counts
      ],
      marks: this.#marks
    }
  }
  static of(limits: SessionLogLimits, { columns, eventHead, marks, sessionHead }: SessionLogImage): SessionLog {
    const log = new SessionLog(limits)
    ;[
      log.#item,
      log.#before,
      log.#session,
      log.#inSession,
      log.#tail,
      log.#began,
      log.#ended,
      log.#previous,
      log.#heads,
      log.#counts
    ] = columns as Array<Uint32Array<ArrayBuffer>>
    log.#marks = marks
    log.#eventHead = eventHead
    log.#sessionHead = sessionHead
    return log
  }
}
