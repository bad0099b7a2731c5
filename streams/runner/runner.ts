/**
 * Runs one processor over one partition: fetch → mailboxes by key → step → flush with offsets in one transaction →
 * snapshot now and then. Whatever fails, the partition restarts from its snapshot: the state is replayed to Postgres'
 * offset with emissions thrown away, and counting goes on from there, so that every entry is counted exactly once.
 *
 *   opening   state from the snapshot, unless that is ahead of Postgres (then from the log's start)
 *   replaying entries between snapshot and offset, emissions suppressed; snapshots on the way, so that a lost state
 *             folder costs time and not memory, and a replay that is cut off goes on where it was
 *   running   fetch, step, flush; the log's hints wake it
 *   failed    an error: back to opening after a backoff; an entry that threw twice is a dead letter from then on. When
 * Postgres refused the batch for good, back at once and with more care (`refusal.ts`): smaller flushes, down to one
 *   record, whose entries are then tried one by one; what is refused becomes a dead letter ended the lease of the
 *   partition is somebody else's (`ownership.ts`): nothing of this life was written since
 */
import { Cause, Clock, Data, Duration, Effect, Option, Queue, Random } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { type AppendedHint, EventLog, type LogRecord } from "@dowser/log/event-log/event-log"
import { Mailboxes } from "./actor.ts"
import { Erasures } from "../erasure/erasures.ts"
import { readTombstones } from "../erasure/tombstones.ts"
import { BYTES_PER_FETCH, fetchInto, RECORDS_PER_FETCH } from "./fetch.ts"
import { makeFolding } from "./folding.ts"
import { readFingerprintKey } from "@dowser/log/fingerprint-key"
import { OffsetStore } from "../offsets/offset-store.ts"
import { commitWith, equalPositions } from "../offsets/offsets.ts"
import { deadLetter, type Outcome } from "./outcome.ts"
import { Intake } from "./intake.ts"
import type { Entries, Place, Processor } from "./processor.ts"
import { encodeRecord, openRecord } from "@dowser/log/record"
import { afterRefusal, afterSuccess, CALM, FlushRefused, isRefused, ISOLATIONS_MAX, refusalReason } from "./refusal.ts"
import { placeKey, type Skipped, WHOLE_RECORD } from "./skipped.ts"
import type { ReplayBoard } from "../replays/board.ts"
import { generationOf, generationWrite } from "../replays/generation.ts"
import { readGeneration, readMirror } from "../replays/runs.ts"
import { makeUnderstudy } from "../replays/understudy.ts"
import type { Positions, StateStore } from "../state/state.ts"
import { deadLettersOf, type Topic } from "@dowser/log/topics"
import { backoff, untilAnswered } from "./until-answered.ts"

export interface RunnerOptions {
  readonly partition: number
  readonly openStore: () => StateStore
  /**
   * Of the lease under which this partition is run, where several processes share the work; the runner ends when it is
   * lost.
   */
  readonly fence?: number
  readonly report?: (progress: Progress) => void
  /** Entries in the mailboxes before fetching stops; not fewer than one record has. */
  readonly entriesMax?: number
  /** Of an organization (`actor.ts`): how much of a shared partition's time it gets while others wait too. */
  readonly weightOf?: (organizationId: string) => number
  readonly recordsPerFetch?: number
  /** Rows of one flush: bounds the transaction, and with it how stale figures get under load. */
  readonly emittedMax?: number
  /** Between two flushes while entries keep coming, at most; 0 for none. */
  readonly flushPauseMax_ms?: number
  readonly snapshotEvery_ms?: number
  /** Entries stepped between two snapshots: bounds what the state holds in memory, above all in a replay. */
  readonly snapshotEntriesMax?: number
  /** The first backoff; later ones double up to 5 s. */
  readonly restartAfter_ms?: number
  /**
   * Where tombstones stand and replays are asked for, and the store that a shadow's state gets. Without it nobody was
   * erased and nothing is replayed: that is for stores without Postgres.
   */
  readonly replays?: {
    readonly board: ReplayBoard
    readonly sql: SqlClient.SqlClient
    readonly openShadowStore: () => StateStore
  }
  /** Tests crash a runner between two of its steps by failing here. */
  readonly probe?: (
    point: "flushed" | "committed" | "snapshot" | "shadowed" | "adopted" | "exchanging"
  ) => Effect.Effect<void>
}

/** Where a partition stands; counters are of this life of the runner. */
export interface Progress {
  readonly group: string
  readonly partition: number
  readonly committed: Positions
  /** Records between the log's end and what is committed. */
  readonly lag: number
  readonly entries: number
  readonly dropped: number
  readonly deadLetters: number
  readonly restarts: number
  /** Records that retention had removed before they were read. */
  readonly lost: number
  /** The state is still being rebuilt; nothing new is counted until it is. */
  readonly isReplaying: boolean
}

const ENTRIES_MAX = 50_000
/** Of a common event in its record; larger ones are charged in proportion. */
const BYTES_PER_COST = 512
const EMITTED_MAX = 40_000
/**
 * However few rows what is stepped falls into: a flush that waits for a backlog to end keeps figures back and holds all
 * that it stepped.
 */
const FLUSH_EVERY_MS = 1_000
/**
 * While entries keep coming, a flush takes at most about so small a share of the time: many small ones cost more than
 * all else. A figure waits three fifths of a second for that at most, and where little comes and flushes are short,
 * some hundredths.
 */
const FLUSH_SHARE = 1 / 10
const FLUSH_PAUSE_MAX_MS = 600
/**
 * What comes during a pause is read together: a look at the log has its price too, a request where it is on brokers.
 */
const GATHER_MS = 100
const SNAPSHOT_EVERY_MS = 5_000
/** At 1 KB of state an entry at most. A visit that goes on is stored once in so many. */
const SNAPSHOT_ENTRIES_MAX = 150_000
/** Hints may be lost; the log is looked at this often without one. */
const IDLE_POLL = Duration.seconds(1)
/** How long steps run before messages and timers of the thread get a turn. */
const SLICE_MS = 8
const THROWS_MAX = 2
const RESTART_AFTER_MS = 100
const RESTART_AFTER_MAX_MS = 5_000
/** A life this long was not one of a row of failures: the next restart is quick again. */
const HEALTHY_AFTER_MS = 60_000
/** Each failed attempt is logged: a retry for ever must not look like silence. */
const told =
  (what: string) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.tapError(effect, (error) => Effect.logError(`${what}; tried again until it works`, error))
class StepFailed extends Data.TaggedError("StepFailed")<{ readonly place: string; readonly cause: unknown }> {}

/**
 * Entries of one record and organization in its mailbox, and the place of the one that is stepped: entries have no
 * object of their own, of which the collector would copy most before it is over.
 */
class Delivered<Body> implements Place {
  readonly topic: string
  readonly offset: number
  readonly appendedAt: number
  readonly cost: number
  readonly organizationId: string
  readonly entries: Entries<Body>
  /** Those in the record that these are; undefined for all. */
  readonly #indexes: ReadonlyArray<number> | undefined
  index = 0

  constructor(
    { appendedAt, offset }: LogRecord,
    topic: string,
    cost: number,
    organizationId: string,
    entries: Entries<Body>,
    indexes: ReadonlyArray<number> | undefined
  ) {
    this.topic = topic
    this.offset = offset
    this.appendedAt = appendedAt
    this.cost = cost
    this.organizationId = organizationId
    this.entries = entries
    this.#indexes = indexes
  }
  /** Its numbers are the record's. */
  get isWhole(): boolean {
    return this.#indexes === undefined
  }
  get length(): number {
    return this.#indexes === undefined ? this.entries.length : this.#indexes.length
  }
  /** Makes it the place of the entry with this number. */
  moveTo(number: number): void {
    this.index = this.#indexes === undefined ? number : this.#indexes[number]!
  }
  /** Of the entry it stands at, for good. */
  get place(): Place {
    const { appendedAt, index, offset, topic } = this
    return { topic, offset, index, appendedAt }
  }
}

/** What goes to `<topic>.dlq`. */
interface Letter {
  readonly topic: Topic
  readonly place: Place
  readonly organizationId: string
  readonly reason: string
  readonly body: unknown
  /** The state never saw it, so a replay must not either. Otherwise its step made it a dead letter, and will again. */
  readonly isSkipped: boolean
}

/** Takes a transaction back that was only a trial; `refused` is what the trial found. */
class TrialOver extends Data.TaggedError("TrialOver")<{
  readonly refused: { readonly place: Place; readonly reason: string } | undefined
}> {}

export const runPartition = Effect.fnUntraced(function* <Body, State, Emitted, Sink>(
  processor: Processor<Body, State, Emitted, Sink>,
  options: RunnerOptions
) {
  const log = yield* EventLog
  const clock = yield* Clock.Clock
  const offsets = yield* OffsetStore
  const { partition } = options
  const unit = { group: processor.name, partition }
  /** How often the step threw at a place, over all lives of this runner. */
  const throws = new Map<string, number>()
  /** Reasons of entries that Postgres refused, until the transaction that passes them has kept that. */
  const refused = new Map<string, string>()
  /**
   * Dead letters appended for a batch whose commit was not confirmed: when it is tried again, they are not sent again.
   */
  const sent = new Set<string>()
  let care = CALM
  const counters = { entries: 0, dropped: 0, deadLetters: 0, restarts: 0, lost: 0 }
  const topics = new Map(processor.inputs.map((topic) => [topic.name, topic]))

  const sendDeadLetter = ({ body, organizationId, place, reason, topic }: Letter) =>
    Effect.suspend(() => {
      if (sent.has(placeKey(place))) return Effect.void
      const value = encodeRecord({
        schema_version: 1,
        organization_id: organizationId,
        occurred_at: place.appendedAt,
        payload: {
          group: processor.name,
          partition,
          topic: place.topic,
          offset: place.offset,
          index: place.index,
          reason,
          body
        }
      })
      return Effect.tap(
        log.append([{ topic: deadLettersOf(topic).name, partition: 0, key: placeKey(place), value }]),
        () =>
          Effect.sync(() => {
            counters.deadLetters++
            sent.add(placeKey(place))
          })
      )
    }).pipe(told("A dead letter could not be appended"), Effect.retry(backoff), Effect.asVoid)

  const life = Effect.gen(function* () {
    const hints = yield* log.subscribe
    const store = yield* Effect.acquireRelease(Effect.sync(options.openStore), (opened) =>
      Effect.promise(() => opened.close())
    )
    let committed: Positions = yield* offsets.offsets(unit)
    // What a commit passed whose answer was lost is not tried again.
    for (const key of sent) if (isPassed(key, committed)) sent.delete(key)
    for (const key of refused.keys()) if (isPassed(key, committed)) refused.delete(key)
    const stored = store.positions()
    if (stored !== undefined && processor.inputs.some(({ name }) => (stored[name] ?? 0) > (committed[name] ?? 0))) {
      // Postgres was restored from an older moment: what the snapshot counted is not counted there.
      yield* Effect.promise(() => store.clear())
    }
    // Somebody exchanged a part of this state since it was stored: what is told of it in Postgres is not in here.
    const { replays } = options
    const {
      erasures: erased,
      generation: raised,
      mirror
    } = replays === undefined
      ? { generation: 0, erasures: new Erasures([], [0, 0, 0, 0]), mirror: undefined }
      : yield* Effect.provideService(
          Effect.gen(function* () {
            return {
              generation: yield* readGeneration(processor.name, partition),
              erasures: new Erasures(yield* readTombstones, yield* readFingerprintKey),
              mirror: yield* readMirror(processor.name, partition)
            }
          }),
          SqlClient.SqlClient,
          replays.sql
        )
    let generation = raised
    let erasures = erased
    if (generationOf(store) < generation) yield* Effect.promise(() => store.clear())
    const starts = yield* Effect.forEach(processor.inputs, ({ name }) =>
      Effect.map(log.bounds(name, partition), ({ startOffset }) => [name, startOffset] as const)
    )
    const skipped = new Map(yield* offsets.skipped(unit, Object.fromEntries(starts)))
    const skipReasonOf = (key: string): string | undefined =>
      skipped.size + refused.size === 0 ? undefined : (skipped.get(key) ?? refused.get(key))
    const state = processor.open(store)
    const mailboxes = new Mailboxes<Delivered<Body>>({
      entriesMax: options.entriesMax ?? ENTRIES_MAX,
      weightOf: options.weightOf
    })
    let emitted = processor.newEmitted(state)
    const intake = new Intake(
      processor.inputs.map(({ name }) => name),
      store.positions() ?? {}
    )
    let letters: Array<Letter> = []
    /** Records taken since the last flush, and the last of them. */
    let records = 0
    let lastRecord = ""
    let snapshotDueAt = clock.currentTimeMillisUnsafe()
    /** Entries settled when the last snapshot was taken. */
    let entriesAtSnapshot = counters.entries
    let isReplaying = true

    const deliver = (topic: Topic, logged: LogRecord): void => {
      const { appendedAt, offset, value } = logged
      let organizationId = ""
      let entries: Entries<Body>
      let hidden: ReadonlySet<number> | undefined
      const whole = { topic: topic.name, offset, index: WHOLE_RECORD, appendedAt }
      const giveUp = (reason: string) =>
        void letters.push({ topic, place: whole, organizationId, reason, body: value, isSkipped: true })
      records++
      lastRecord = `${topic.name}/${offset}`
      try {
        const envelope = openRecord(value)
        organizationId = envelope.organization_id
        const reason = skipReasonOf(placeKey(whole))
        if (reason !== undefined) return giveUp(reason)
        entries = processor.entriesOf(topic.name, envelope)
        if (!erasures.isEmpty) hidden = erasures.hiddenIn(topic.name, partition, offset, envelope)
      } catch (error) {
        return giveUp(`unreadable record: ${String(error)}`)
      }
      // By its bytes: a purchase of a hundred items is stepped and written for longer than a view.
      const cost = Math.max(1, value.length / entries.length / BYTES_PER_COST)
      const put = (key: string, indexes: ReadonlyArray<number> | undefined): void => {
        const batch = new Delivered(logged, topic.name, cost, key, entries, indexes)
        if (mailboxes.deliver(key, batch)) return
        // Full: the step catches up first. A record has the entries of one request or some 500, so this is rare.
        stepAll(Number.POSITIVE_INFINITY)
        mailboxes.deliver(key, batch)
      }
      if (entries.key !== undefined && hidden === undefined) return put(entries.key, undefined)
      const byKey = new Map<string, Array<number>>()
      for (let index = 0; index < entries.length; index++) {
        const key = entries.keyAt(index)
        if (key === undefined || (hidden !== undefined && hidden.has(index))) continue
        const indexes = byKey.get(key)
        if (indexes === undefined) byKey.set(key, [index])
        else indexes.push(index)
      }
      for (const [key, indexes] of byKey) put(key, indexes)
    }

    const settle = (outcome: Outcome, delivered: Delivered<Body>, isSkipped = false): void => {
      counters.entries++
      if (outcome.kind === "drop") counters.dropped++
      else if (outcome.kind === "dead_letter") {
        letters.push({
          topic: topics.get(delivered.topic)!,
          place: delivered.place,
          organizationId: delivered.organizationId,
          reason: outcome.reason,
          body: delivered.entries.keptAt(delivered.index),
          isSkipped
        })
      }
    }
    const redirects: Array<{ readonly topic: string; readonly partition: number; readonly value: Uint8Array }> = []

    function stepOne(delivered: Delivered<Body>): void {
      const failures = throws.size === 0 ? 0 : (throws.get(placeKey(delivered)) ?? 0)
      if (failures >= THROWS_MAX) return settle(deadLetter("the step keeps failing on this entry"), delivered, true)
      const reason = skipped.size + refused.size === 0 ? undefined : skipReasonOf(placeKey(delivered))
      if (reason !== undefined) return settle(deadLetter(reason), delivered, true)
      let outcome: Outcome
      try {
        outcome = processor.step(state, delivered.entries.bodyAt(delivered.index), delivered, emitted)
      } catch (cause) {
        const key = placeKey(delivered)
        throws.set(key, failures + 1)
        throw new StepFailed({ place: key, cause })
      }
      if (outcome.kind === "redirect") redirects.push(outcome)
      settle(outcome, delivered)
    }

    let aheadFailure: unknown
    function lookAhead(entries: Entries<Body>, from: number, to: number): void {
      try {
        processor.ahead?.(state, entries, from, to)
      } catch (error) {
        // Where bytes cannot be read, the entry whose they are fails when it is stepped, with its place. Told in any
        // case.
        aheadFailure ??= error
      }
    }

    function stepRange(delivered: Delivered<Body>, from: number, to: number): void {
      if (delivered.isWhole) lookAhead(delivered.entries, from, to)
      for (let number = from; number < to; number++) {
        delivered.moveTo(number)
        stepOne(delivered)
      }
    }

    /** Steps until the mailboxes are empty or the slice is over; true when they are empty. */
    function stepAll(until: number): boolean {
      for (;;) {
        if (!mailboxes.takeTurn(stepRange)) return true
        if (clock.currentTimeMillisUnsafe() >= until) return mailboxes.size === 0
      }
    }
    const runSteps = Effect.gen(function* () {
      for (;;) {
        const isEmpty = yield* Effect.try({
          try: () => stepAll(clock.currentTimeMillisUnsafe() + SLICE_MS),
          catch: (error) => error as StepFailed
        })
        if (aheadFailure !== undefined)
          yield* Effect.logWarning(
            `Looking ahead failed in ${processor.name}; its entries are stepped without`,
            aheadFailure
          )
        aheadFailure = undefined
        if (isEmpty) return
        yield* Effect.sleep(0)
      }
    })

    /**
     * Reads what is there, at most up to `limits`, and delivers it in the log's time: whether anything came, and so
     * much that more may be there.
     */
    const fetch = Effect.fnUntraced(function* (limits: Positions | undefined) {
      counters.lost += yield* fetchInto(log, intake, processor.inputs, partition, limits, options.recordsPerFetch)
      let came = 0,
        bytes = 0
      while (!mailboxes.isFull && records < care.recordsMax) {
        const taken = intake.take()
        if (taken === undefined) break
        deliver(topics.get(taken.topic)!, taken.record)
        came++
        bytes += taken.record.value.length
      }
      return {
        cameAny: came > 0,
        cameMuch: 2 * came >= (options.recordsPerFetch ?? RECORDS_PER_FETCH) || 2 * bytes >= BYTES_PER_FETCH
      }
    })

    const report = Effect.gen(function* () {
      const ends = yield* endsOf(log, processor.inputs, partition)
      const lag = ends.reduce((sum, { endOffset, name }) => sum + Math.max(0, endOffset - (committed[name] ?? 0)), 0)
      options.report?.({ group: processor.name, partition, committed, lag, ...counters, isReplaying })
    })

    const flush = Effect.gen(function* () {
      const target = intake.reached
      yield* options.probe?.("flushed") ?? Effect.void
      const passed = letters
        .filter(({ isSkipped }) => isSkipped)
        .map(({ place, reason }): Skipped => ({ topic: place.topic, offset: place.offset, index: place.index, reason }))
      const write = Effect.gen(function* () {
        yield* offsets.skip(unit, passed)
        if (processor.sizeOf(emitted) > 0) {
          yield* processor.write(emitted)
          if (understudy !== undefined) yield* understudy.writeMirrored(emitted)
        }
        // Once Postgres has taken what is counted, and before the offsets pass what is not.
        yield* Effect.forEach(letters, sendDeadLetter, { discard: true })
        if (redirects.length > 0)
          yield* log.append(redirects).pipe(told("Redirected entries could not be appended"), Effect.retry(backoff))
        redirects.length = 0
      })
      yield* untilAnswered(commitWith(processor.name, partition, committed, target, write, options.fence)).pipe(
        Effect.catchIf(
          (error) => error._tag === "SqlError" && isRefused(error),
          (error) => {
            care = afterRefusal(records, lastRecord)
            return Effect.fail(
              new FlushRefused({
                message: `a flush of ${records} records: ${refusalReason(error as SqlError.SqlError)}`
              })
            )
          }
        )
      )
      for (const { place } of letters) {
        sent.delete(placeKey(place))
        refused.delete(placeKey(place))
      }
      // Whoever reads these places again steps over them as well.
      for (const place of passed) skipped.set(placeKey(place), place.reason)
      letters = []
      const size = processor.sizeOf(emitted)
      emitted = processor.newEmitted(state, emitted)
      committed = target
      records = 0
      if (care !== CALM) care = afterSuccess(care)
      yield* folding.wrote(size)
      yield* options.probe?.("committed") ?? Effect.void
    })

    /**
     * The record at hand was refused alone. Steps its entries one by one and writes what each emits, in a transaction
     * that is taken back, until Postgres refuses one; that one is passed over from now on. The life ends with it.
     */
    const isolate = Effect.gen(function* () {
      const parts: Array<{ readonly place: Place; readonly emitted: Emitted }> = []
      yield* Effect.try({
        try: () => {
          const stepApart = (delivered: Delivered<Body>, from: number, to: number): void => {
            for (let number = from; number < to; number++) {
              emitted = processor.newEmitted(state)
              delivered.moveTo(number)
              stepOne(delivered)
              parts.push({ place: delivered.place, emitted })
            }
          }
          while (mailboxes.takeTurn(stepApart)) {
            // All of the one record that is there.
          }
        },
        catch: (error) => error as StepFailed
      })
      const trial = Effect.gen(function* () {
        for (const { emitted, place } of parts) {
          if (processor.sizeOf(emitted) === 0) continue
          const failure = yield* Effect.match(processor.write(emitted), {
            onSuccess: () => undefined,
            onFailure: (error) => error
          })
          if (failure !== undefined)
            return yield* isRefused(failure)
              ? new TrialOver({ refused: { place, reason: refusalReason(failure) } })
              : failure
        }
        return yield* new TrialOver({ refused: undefined })
      })
      const over = yield* untilAnswered(offsets.transaction(trial)).pipe(Effect.catchTag("TrialOver", Effect.succeed))
      const first = parts[0]?.place
      care = { recordsMax: 1 }
      if (first === undefined) return
      const ofRecord = [...refused.keys()].filter((key) => key.startsWith(`${first.topic}/${first.offset}/`))
      const isOneMore = over.refused !== undefined && ofRecord.length < ISOLATIONS_MAX
      const found = isOneMore
        ? over.refused
        : // Each passes alone and all together do not, or too many do not: the record is given up whole.
          {
            place: { topic: first.topic, offset: first.offset, appendedAt: first.appendedAt, index: WHOLE_RECORD },
            reason: over.refused?.reason ?? "Postgres refuses what this record counts, though none of its entries alone"
          }
      if (!isOneMore) ofRecord.forEach((key) => refused.delete(key))
      refused.set(placeKey(found.place), found.reason)
      return yield* new FlushRefused({ message: `${placeKey(found.place)} becomes a dead letter: ${found.reason}` })
    })

    /** Stores the state as it stands at `positions`, up to which everything has been stepped. */
    const snapshotAt = Effect.fnUntraced(function* (positions: Positions) {
      const taken = processor.snapshot(state, intake.watermark)
      yield* Effect.promise(() =>
        store.commit(
          generationOf(store) === generation ? taken.writes : [...taken.writes, generationWrite(generation)],
          positions
        )
      )
      taken.stored()
      entriesAtSnapshot = counters.entries
      snapshotDueAt = clock.currentTimeMillisUnsafe() + (options.snapshotEvery_ms ?? SNAPSHOT_EVERY_MS)
      yield* options.probe?.("snapshot") ?? Effect.void
    })

    const understudy =
      replays === undefined
        ? undefined
        : yield* makeUnderstudy({
            ...replays,
            processor,
            partition,
            fence: options.fence,
            mirror,
            isSkipped: (place) => skipReasonOf(place) !== undefined,
            probe: (point) => options.probe?.(point) ?? Effect.void,
            live: {
              state,
              store,
              snapshot: snapshotAt,
              adopted: (adopted, next) => {
                erasures = adopted
                generation = next
              }
            }
          })

    const isStateLarge = () =>
      counters.entries - entriesAtSnapshot >= (options.snapshotEntriesMax ?? SNAPSHOT_ENTRIES_MAX) ||
      processor.isLarge?.(state) === true

    // Replaying: what Postgres has counted is stepped again for the state's sake only.
    for (
      let reached = intake.reached;
      processor.inputs.some(({ name }) => (reached[name] ?? 0) < (committed[name] ?? 0));
      reached = intake.reached
    ) {
      yield* fetch(committed)
      yield* runSteps
      emitted = processor.newEmitted(state, emitted)
      letters = []
      records = 0
      redirects.length = 0
      if (!isStateLarge()) continue
      yield* snapshotAt(intake.reached)
      yield* report
    }
    // More lives will begin here until the poison is found.
    if (care !== CALM && counters.entries > entriesAtSnapshot) yield* snapshotAt(committed)
    isReplaying = false
    yield* report

    const folding = yield* makeFolding(processor)
    let isSnapshotDue = false
    let isLearning = false
    let pausedUntil = 0
    let flushDueAt = clock.currentTimeMillisUnsafe() + FLUSH_EVERY_MS
    for (;;) {
      const { cameAny, cameMuch } = yield* fetch(undefined)
      if (cameAny && care.isolates === lastRecord) yield* isolate
      yield* runSteps
      const isFlushDue =
        processor.sizeOf(emitted) >= (options.emittedMax ?? EMITTED_MAX) ||
        clock.currentTimeMillisUnsafe() >= flushDueAt ||
        isStateLarge()
      if (records > 0 && records < care.recordsMax && !isFlushDue && !mailboxes.isFull) {
        const pause_ms = care !== CALM || isLearning ? 0 : pausedUntil - clock.currentTimeMillisUnsafe()
        // More is waiting, or may come: one larger transaction is cheaper than two, and the bounds keep figures fresh
        // and memory small.
        if (cameAny && (pause_ms > 0 ? cameMuch : yield* isBehind(log, processor.inputs, partition, intake.reached)))
          continue
        if (pause_ms > 0) {
          const gather_ms = Math.min(GATHER_MS, pause_ms)
          yield* Effect.andThen(
            Effect.sleep(gather_ms),
            waitForHint(hints, processor.inputs, partition, Duration.millis(pause_ms - gather_ms))
          )
          continue
        }
      }
      if (!equalPositions(intake.reached, committed)) {
        const began = clock.currentTimeMillisUnsafe()
        yield* flush
        const ended = clock.currentTimeMillisUnsafe()
        pausedUntil = ended + Math.min(options.flushPauseMax_ms ?? FLUSH_PAUSE_MAX_MS, (ended - began) / FLUSH_SHARE)
        yield* report
        isSnapshotDue = true
      }
      flushDueAt = clock.currentTimeMillisUnsafe() + FLUSH_EVERY_MS
      if (isSnapshotDue && (care !== CALM || isStateLarge() || clock.currentTimeMillisUnsafe() >= snapshotDueAt)) {
        yield* snapshotAt(committed)
        isSnapshotDue = false
      }
      isLearning =
        understudy !== undefined &&
        equalPositions(intake.reached, committed) &&
        (yield* understudy.turn(committed, !cameAny))
      if (!cameAny && !isLearning)
        yield* waitForHint(
          hints,
          processor.inputs,
          partition,
          isSnapshotDue
            ? Duration.min(IDLE_POLL, Duration.millis(Math.max(1, snapshotDueAt - clock.currentTimeMillisUnsafe())))
            : IDLE_POLL
        )
      else yield* Effect.sleep(0)
    }
  })

  // Supervised: a life that ends in an error is followed by the next after a backoff, for ever.
  const restartAfter_ms = options.restartAfter_ms ?? RESTART_AFTER_MS
  for (let delay_ms = restartAfter_ms; ; delay_ms = Math.min(delay_ms * 2, RESTART_AFTER_MAX_MS)) {
    const bornAt = clock.currentTimeMillisUnsafe()
    const cause = yield* Effect.flip(Effect.sandbox(Effect.scoped(life)))
    // Another process counts on from the last flush; what this life did since is nobody's.
    if (Cause.findErrorOption(cause).pipe(Option.exists((error) => error._tag === "LeaseLost"))) return
    const refusal = Cause.findErrorOption(cause).pipe(Option.filter((error) => error._tag === "FlushRefused"))
    if (refusal._tag === "Some") {
      // Each of them halves the batch or passes an entry over, so the pause does not grow.
      yield* Effect.logWarning(
        `Processor ${processor.name}/${partition} goes on with more care after ${refusal.value.message}`
      )
      yield* Effect.sleep(restartAfter_ms)
      continue
    }
    counters.restarts++
    yield* Effect.logError(`Processor ${processor.name}/${partition} restarts`, cause)
    if (clock.currentTimeMillisUnsafe() - bornAt > HEALTHY_AFTER_MS) delay_ms = restartAfter_ms
    yield* Effect.sleep(delay_ms * (0.5 + (yield* Random.next)))
  }
})

/** Whether the offsets have passed a place (`placeKey`). */
const isPassed = (key: string, committed: Positions): boolean => {
  const [topic, offset] = key.split("/")
  return Number(offset) < (committed[topic!] ?? 0)
}

/** Asked for side by side: a log on brokers answers them together. */
const endsOf = (log: EventLog["Service"], inputs: ReadonlyArray<Topic>, partition: number) =>
  Effect.forEach(
    inputs,
    ({ name }) => Effect.map(log.bounds(name, partition), ({ endOffset }) => ({ name, endOffset })),
    { concurrency: "unbounded" }
  )

const isBehind = (log: EventLog["Service"], inputs: ReadonlyArray<Topic>, partition: number, reached: Positions) =>
  Effect.map(endsOf(log, inputs, partition), (ends) =>
    ends.some(({ endOffset, name }) => endOffset > (reached[name] ?? 0))
  )

/**
 * Returns at the first hint of these inputs, or after `atMost`. Others' are passed over: each would cost a look at the
 * log.
 */
const waitForHint = (
  hints: Queue.Dequeue<AppendedHint>,
  inputs: ReadonlyArray<Topic>,
  partition: number,
  atMost: Duration.Duration
) =>
  Effect.andThen(
    Effect.timeoutOption(
      Effect.repeat(Queue.take(hints), {
        until: (hint) => hint.partition === partition && inputs.some(({ name }) => name === hint.topic)
      }),
      atMost
    ),
    Effect.ignore(Queue.clear(hints))
  )
