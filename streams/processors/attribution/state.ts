/**
 * State of one partition of the attribution processor: visits by visitor and collection, searches by query id, and the
 * event ids of 30 days. All of it is derived from the log; `../../state/state.ts` describes how it is stored.
 */
import { type BehaviouralEvent, DEDUPE_WINDOW_HOURS } from "@dowser/log/event-schema"
import { FINGERPRINT_WORDS, shortPrint, type FingerprintKey, narrowKey } from "@dowser/log/fingerprint"
import { FingerprintTable } from "@dowser/log/fingerprint-table"
import { eventIdInto } from "@dowser/log/columns/decode"
import { TURN_MAX } from "../../runner/actor.ts"
import type { Entries, Snapshot } from "../../processor/processor.ts"
import { KeyedState, type StateStore } from "../../state/state.ts"
import { IdBlocks } from "./id-blocks.ts"
import { NOBODY, type Who } from "../../facts/who.ts"
import type { Body } from "./body.ts"
import { QUERY_FORM, VISIT_FORM } from "./stored.ts"
import type { QueryReference, Search, Visit } from "./visit.ts"

/** Interactions waiting for one unknown query id; beyond that they are only attributed by their visit. */
export const PENDING_MAX = 64
const TTL_MS = DEDUPE_WINDOW_HOURS * 3_600_000
/**
 * Weight of the visits kept in memory: two for a visit, some 500 bytes with its key when encoded, and one more for
 * every eight searches and interactions, some 30 bytes each.
 */
const HOT_VISITS_MAX = 100_000
/** Weight of the query ids kept in memory, each with the interactions that wait for it or the evicted search. */
const HOT_QUERIES_MAX = 50_000
/** How far loaded and new values may exceed the sum of both before the state takes a snapshot early. */
const OVER_HOT_MAX = 150_000
/** Stored values checked for expiry per snapshot. */
const EXPIRY_SCAN_MAX = 2_000
/**
 * How much longer than its lifetime a value stays in the store. The record's own time decides what a record may see
 * (`KeyedState.get`); removal only frees space, and must not precede a record that a clock's adjustment delays.
 */
const EXPIRY_SLACK_MS = 86_400_000
const IDS_BYTES_MAX = 256 * 1024 * 1024
const VISITS = "v",
  QUERIES = "q",
  IDS = "i"
/** Words of stored ids that are prefetched together. */
const TOUCHED_WORDS = 1_024 * FINGERPRINT_WORDS
/** Index of an event that is in no record. */
const NOWHERE = -1

const weightOf = (searches: ReadonlyArray<Search>): number => {
  let weight = 0
  for (const { named } of searches) weight += 1 + named.length
  return weight
}

const weightOfVisit = ({ loose, older, searches }: Visit): number => {
  const rested = older === undefined ? 0 : older.searches + older.named + older.loose
  return 2 + ((rested + loose.length + weightOf(searches)) >> 3)
}

export interface AttributionOptions {
  readonly fingerprintKey: FingerprintKey
  /** Memory for event ids; beyond it the oldest are forgotten, and an event repeated after that counts again. */
  readonly idsBytesMax?: number
  /** What stays in memory after a snapshot: searches and interactions of visits, and query ids. */
  readonly hotVisitsMax?: number
  readonly hotQueriesMax?: number
}

export class AttributionState {
  readonly visits: KeyedState<Visit>
  readonly queries: KeyedState<QueryReference>
  readonly #fingerprintKey: FingerprintKey
  readonly #narrowed = new Map<string, FingerprintKey>()
  readonly #ids: FingerprintTable
  /** The result of the last call of `who`: searches of a visit are adjacent, so most calls repeat it. */
  readonly #lastWho: {
    organizationId: string
    anonymous_id: string | undefined
    session_id: string | undefined
    user_id: string | undefined
    network: number | undefined
    who: Who
  } = {
    organizationId: "",
    anonymous_id: undefined,
    session_id: undefined,
    user_id: undefined,
    network: 0,
    who: NOBODY
  }
  readonly #word = new Uint32Array(FINGERPRINT_WORDS)
  /** The entries announced by `ahead`. */
  readonly #next: {
    event: unknown
    from: number
    to: number
    readonly words: Uint32Array
    readonly hasId: Uint8Array
  } = {
    event: undefined,
    from: 0,
    to: 0,
    words: new Uint32Array(TURN_MAX * FINGERPRINT_WORDS),
    hasId: new Uint8Array(TURN_MAX)
  }
  readonly #idBlocks: IdBlocks
  #expiryAt: { visits: string; queries: string } = { visits: "", queries: "" }

  constructor(store: StateStore, options: AttributionOptions) {
    this.#fingerprintKey = options.fingerprintKey
    // A day longer than the window: snapshots store ids by the day, so a restored id looks up to a day older than it
    // is.
    this.#ids = new FingerprintTable({
      windowHours: DEDUPE_WINDOW_HOURS + 24,
      bytesMax: options.idsBytesMax ?? IDS_BYTES_MAX
    })
    this.visits = new KeyedState<Visit>(store, {
      prefix: VISITS,
      ttl_ms: TTL_MS,
      hotMax: options.hotVisitsMax ?? HOT_VISITS_MAX,
      weigh: weightOfVisit,
      form: VISIT_FORM
    })
    this.queries = new KeyedState<QueryReference>(store, {
      prefix: QUERIES,
      ttl_ms: TTL_MS,
      hotMax: options.hotQueriesMax ?? HOT_QUERIES_MAX,
      weigh: ({ pending, settled }) => 1 + pending.length + (settled === undefined ? 0 : weightOf([settled])),
      form: QUERY_FORM
    })
    this.#idBlocks = new IdBlocks(store, IDS, (words, day_at) => {
      for (let from = 0; from < words.length; from += TOUCHED_WORDS) {
        const some = words.subarray(from, from + TOUCHED_WORDS)
        this.#ids.touch(some)
        for (let at = 0; at < some.length; at += FINGERPRINT_WORDS) this.#ids.admit(some, at, day_at)
      }
    })
  }

  /** Prefixes of the keys of an organization's visits and query ids; fingerprints of event ids have none. */
  static prefixesOf(organizationId: string): ReadonlyArray<string> {
    return [VISITS, QUERIES].map((kind) => `${kind}${organizationId}|`)
  }
  forget(organizationId: string): void {
    this.visits.forget(`${organizationId}|`)
    this.queries.forget(`${organizationId}|`)
  }

  #keyOf(organizationId: string): FingerprintKey {
    let key = this.#narrowed.get(organizationId)
    if (key === undefined) {
      if (this.#narrowed.size > 10_000) this.#narrowed.clear()
      this.#narrowed.set(organizationId, (key = narrowKey(this.#fingerprintKey, organizationId)))
    }
    return key
  }

  /**
   * Keyed fingerprints of the searcher; 53 bits, and a collision would only merge two visitors. `network` is from the
   * answer: undefined for older answers that did not report it, where all visitors count as one network; 0 for searches
   * without an answer.
   */
  who(
    organizationId: string,
    {
      anonymous_id,
      session_id,
      user_id
    }: { readonly user_id?: string; readonly anonymous_id?: string; readonly session_id?: string },
    network: number | undefined
  ): Who {
    const last = this.#lastWho
    if (
      network === last.network &&
      session_id === last.session_id &&
      anonymous_id === last.anonymous_id &&
      user_id === last.user_id &&
      organizationId === last.organizationId
    )
      return last.who
    const key = this.#keyOf(organizationId)
    last.organizationId = organizationId
    last.anonymous_id = anonymous_id
    last.session_id = session_id
    last.user_id = user_id
    last.network = network
    const user = this.#print(key, "user ", user_id),
      anonymous = this.#print(key, "anonymous ", anonymous_id),
      session = this.#print(key, "session ", session_id)
    return (last.who = [user, anonymous, session, network ?? (user || anonymous || session)])
  }
  #print(key: FingerprintKey, kind: string, id: string | undefined): number {
    return id === undefined || id === "" ? 0 : shortPrint(key, kind, id)
  }

  /** Far more is in memory than a snapshot would leave there. */
  get isLarge(): boolean {
    return this.visits.weight + this.queries.weight > HOT_VISITS_MAX + HOT_QUERIES_MAX + OVER_HOT_MAX
  }

  /** Looks up the ids of a record's next events together; others are looked up one by one. */
  ahead(entries: Entries<Body>, from: number, to: number): void {
    const next = this.#next,
      body = entries.bodyAt(from)
    if (to - from > TURN_MAX || body.kind !== "event" || body !== entries.bodyAt(to - 1)) return
    const key = this.#keyOf(body.organizationId)
    next.event = undefined
    let at = 0
    for (let index = from; index < to; index++, at += FINGERPRINT_WORDS) {
      entries.bodyAt(index)
      next.hasId[index - from] = eventIdInto(key, body.event, next.words, at) ? 1 : 0
    }
    next.event = body.event
    next.from = from
    next.to = to
    this.#ids.touch(next.words.subarray(0, at))
  }

  /**
   * True for the first event with its id in the window, and for one without id. `index`: the event's index in its
   * record.
   */
  admit(organizationId: string, event: Pick<BehaviouralEvent, "event_id">, now: number, index = NOWHERE): boolean {
    const next = this.#next
    let words: Uint32Array = this.#word,
      at = 0
    // One object represents all events of its record in turn.
    if (event === next.event && index >= next.from && index < next.to) {
      if (next.hasId[index - next.from] === 0) return true
      words = next.words
      at = (index - next.from) * FINGERPRINT_WORDS
    } else if (!eventIdInto(this.#keyOf(organizationId), event, words)) return true
    if (!this.#ids.admit(words, at, now)) return false
    this.#idBlocks.add(words, at, now)
    return true
  }

  /**
   * `watermark`: see `Processor.snapshot`. O(changes since the last one), plus 2,000 stored values checked for expiry.
   */
  snapshot(watermark: number): Snapshot {
    const writes = [
      ...this.visits.takeWrites(),
      ...this.queries.takeWrites(),
      ...this.#idBlocks.takeWrites(watermark - TTL_MS - EXPIRY_SLACK_MS)
    ]
    const visits = this.visits.expired(watermark - EXPIRY_SLACK_MS, this.#expiryAt.visits, EXPIRY_SCAN_MAX)
    const queries = this.queries.expired(watermark - EXPIRY_SLACK_MS, this.#expiryAt.queries, EXPIRY_SCAN_MAX)
    this.#expiryAt = { visits: visits.last, queries: queries.last }
    return {
      writes: [...writes, ...visits.writes, ...queries.writes],
      stored: () => {
        this.visits.passivate()
        this.queries.passivate()
      }
    }
  }
}
