/**
 * One schedule: a workload, some processes that run the real runner, owners and processors over simulated servers, and
 * everything that goes wrong between them, all drawn from one seed. When the faults have stopped and the log is
 * drained, the sums must equal the oracle's, the dead letters must be exactly the poison, by place, and every bound
 * must hold.
 */
import { Context, Effect, type Exit } from "effect"
import { EVENTS_SCHEMA_VERSION, SERVED_SCHEMA_VERSION } from "../../../log/event-schema.ts"
import { EventLog } from "../../../log/event-log/event-log.ts"
import { type Unit, unitKey } from "../../../streams/offsets/assignment.ts"
import { LeaseStore } from "../../../streams/ownership/lease-store.ts"
import { OffsetStore } from "../../../streams/offsets/offset-store.ts"
import { runOwned } from "../../../streams/ownership/ownership.ts"
import type { Processor } from "../../../streams/processor/processor.ts"
import { makeCounting } from "../../../streams/processors/counting.ts"
import type { Facts } from "../../../streams/facts/facts.ts"
import { RollupSums } from "../../../streams/processors/rollups/emitted.ts"
import { QUERY_MEASURES } from "../../../streams/processors/rollups/tables.ts"
import { makeRetention } from "../../../streams/host/retention.ts"
import { decodeRecord, encodeRecord } from "../../../log/record.ts"
import { type Runnable, runnable } from "../../../streams/processors/runnable.ts"
import type { Progress, RunnerOptions } from "../../../streams/runner/runner.ts"
import type { Positions } from "../../../streams/state/state.ts"
import { BEHAVIOUR_EVENTS, deadLettersOf, SEARCH_SERVED, type Topic } from "../../../log/topics.ts"
import { generate, type OracleInput, oracleRows } from "../attribution-oracle.ts"
import { type DatabaseVariant, SimulatedDatabase } from "./database.ts"
import { type LogVariant, SimulatedLog } from "./log.ts"
import {
  COUNTED,
  drawBatches,
  type Entry,
  expectedSums,
  makeOrders,
  NAMED,
  REDIRECTED,
  RETENTION_MS,
  TTL_MS,
  type Watched
} from "./orders.ts"
import type { Draws } from "./random.ts"
import { type FolderVariant, StateFolder } from "./state-folder.ts"
import { serverTime, SimulatedProcess, World } from "./world.ts"

/** Bugs that can be planted; the simulation must find each. */
export interface Variant extends DatabaseVariant, FolderVariant, LogVariant {
  /** What a replay emits is written with the next flush. */
  readonly emitsInReplay?: boolean
  /** Partitions report that they have counted the whole log. */
  readonly reportsAhead?: boolean
}

export interface Verdict {
  readonly seed: number
  readonly violations: ReadonlyArray<string>
  /** What the schedule consisted of, for a summary over many. */
  readonly seen: Readonly<Record<string, number>>
}

const GROUP = "simulated"
const DRAIN_MAX_MS = 600_000

/** The meaning of a record's bytes. */
interface Stored {
  readonly topic: Topic
  readonly partition: number
  readonly offset: number
  readonly organization: string
  readonly entries: ReadonlyArray<Entry> | undefined
}
interface Work {
  readonly topic: Topic
  readonly organization: string
  readonly entries?: ReadonlyArray<Entry>
  readonly value: Uint8Array
}
interface Subject {
  readonly inputs: ReadonlyArray<Topic>
  readonly work: ReadonlyArray<Work>
  readonly runnable: (process: SimulatedProcess) => Runnable<never>
  readonly expected: (stored: ReadonlyArray<Stored>) => ReadonlyMap<string, number>
}

const counted = (sums: ReadonlyMap<string, number>) => new Map([...sums].filter(([, sum]) => sum !== 0))
const packed = (topic: Topic, organization: string, payload: unknown, schema_version = 1): Uint8Array =>
  encodeRecord({ schema_version, organization_id: organization, occurred_at: 0, payload })

/** The smallest processor with every feature. */
const orders = (
  draws: Draws,
  database: SimulatedDatabase,
  watched: Watched,
  poison: number,
  variant: Variant
): Subject => {
  const hotMax = draws.pick([0, 0, 5, 1_000])
  const work = [
    ...drawBatches(draws, draws.whole(5, 40), poison, "x"),
    ...drawBatches(draws, draws.chance(0.4) ? draws.whole(5, 25) : 0, poison, "y")
  ]
  return {
    inputs: [NAMED, COUNTED],
    work: work.flatMap(({ entries, organization, topic }) => [
      { topic, organization, entries, value: packed(topic, organization, entries) },
      ...(draws.chance(poison / 3) ? [{ topic, organization, value: new Uint8Array([0xc1, 7, 7]) }] : [])
    ]),
    runnable: (process) =>
      runnable(
        planted(
          makeOrders(GROUP, hotMax, watched, (sums) => database.add(process, sums)),
          variant
        )
      ),
    expected: (stored) =>
      counted(
        expectedSums(
          stored.flatMap(({ entries, organization }) => (entries ?? []).map((entry) => ({ organization, entry })))
        )
      )
  }
}

/** The real processor with its real state; only the statement that writes its rows is replaced. */
const attribution = (seed: number, draws: Draws, database: SimulatedDatabase, variant: Variant): Subject => {
  const made = generate(seed, draws.whole(10, 60), Date.UTC(2026, 0, 1))
  // Without an id a copy counts as another event, and in this simulation every record may be stored twice.
  const input: OracleInput = {
    ...made,
    events: made.events.map((event, i) => ({ ...event, event_id: event.event_id ?? `only-${i}` }))
  }
  const cut = <A>(all: ReadonlyArray<A>, pack: (part: ReadonlyArray<A>) => Work): ReadonlyArray<Work> => {
    const parts: Array<Work> = []
    for (let from = 0; from < all.length;) {
      const size = draws.whole(1, 6)
      parts.push(pack(all.slice(from, from + size)))
      from += size
    }
    return parts
  }
  const work = [
    ...cut(input.served, (served) => ({
      topic: SEARCH_SERVED,
      organization: "a",
      entries: [],
      value: packed(SEARCH_SERVED, "", { served }, SERVED_SCHEMA_VERSION)
    })),
    ...cut(input.events, (events) => ({
      topic: BEHAVIOUR_EVENTS,
      organization: "a",
      entries: [],
      value: packed(BEHAVIOUR_EVENTS, made.organizationId, { events }, EVENTS_SCHEMA_VERSION)
    }))
  ]
  const measures = [
    "searches",
    "zero_results",
    "searches_with_click",
    "searches_with_purchase",
    "clicks",
    "add_to_carts",
    "purchases"
  ] as const
  const sumsOf = ({ events, queries }: RollupSums): Map<string, number> => {
    const sums = new Map<string, number>()
    const add = (key: string, amount: number) => void sums.set(key, (sums.get(key) ?? 0) + amount)
    queries.eachInstant((key, _at, row, from) => {
      for (const measure of measures)
        add(`${key[1]}|${key[2]}|${measure}`, row[from + QUERY_MEASURES.indexOf(measure)]!)
    })
    events.eachInstant((_key, _at, row, from) => add("events", row[from]!))
    return sums
  }
  const hot = { hotVisitsMax: draws.pick([0, 2, 1_000]), hotQueriesMax: draws.pick([0, 2, 1_000]) }
  const counting = makeCounting({ fingerprintKey: [1, 2, 3, 4], idsBytesMax: 65_536, ...hot })
  const rollupsOf = ({ emitted }: Facts) => emitted.find((one) => one instanceof RollupSums)!
  return {
    inputs: [SEARCH_SERVED, BEHAVIOUR_EVENTS],
    work,
    runnable: (process) =>
      runnable<unknown, unknown, Facts, never>(
        planted(
          {
            ...counting,
            name: GROUP,
            fold: undefined,
            write: (facts: Facts) =>
              counting.sizeOf(facts) === 0 ? Effect.void : database.add(process, sumsOf(rollupsOf(facts)))
          } as unknown as Processor<unknown, unknown, Facts, never>,
          variant
        )
      ),
    expected: () => {
      const sums = new Map<string, number>()
      for (const [key, row] of oracleRows(input))
        for (const measure of measures) sums.set(`${key}|${measure}`, row[measure])
      sums.set("events", new Set(input.events.map(({ event_id }) => event_id)).size)
      return counted(sums)
    }
  }
}

const planted = <Body, State, Emitted>(
  processor: Processor<Body, State, Emitted, never>,
  { emitsInReplay }: Variant
): Processor<Body, State, Emitted, never> => {
  if (emitsInReplay !== true) return processor
  // All flushes share one object until it is written, so what the runner discards after a replay stays in it.
  let emitted: Emitted | undefined
  return {
    ...processor,
    newEmitted: (state) => (emitted ??= processor.newEmitted(state)),
    write: (all) =>
      Effect.tap(processor.write(all), () =>
        Effect.sync(() => {
          emitted = undefined
        })
      )
  }
}

/** Runs the schedule of a seed. With `trace`, its story is written there. */
export const runSchedule = async (seed: number, variant: Variant = {}, trace?: Array<string>): Promise<Verdict> => {
  const world = new World(seed, trace)
  const { draws } = world
  const seen: Record<string, number> = {}
  const count = (what: string) => void (seen[what] = (seen[what] ?? 0) + 1)
  /** Each kind of fault is on in only half of the schedules, so that none hides the others. */
  const rate = (max: number): number => (draws.chance(0.5) ? draws.between(max / 20, max) : 0)

  const isAttribution = draws.chance(0.12)
  /** Two bursts with a retention period between them: state expires, and leases are so long that the pause is cheap. */
  const hasPause = !isAttribution && draws.chance(0.12)
  const database = new SimulatedDatabase(world, { before: rate(0.1), after: rate(0.1) }, variant)
  const log = new SimulatedLog(
    world,
    {
      append: rate(0.3),
      twice: rate(0.3),
      read: rate(0.1),
      short: rate(0.4),
      hidden: hasPause ? 0 : rate(0.05),
      gap: rate(0.3),
      hint: rate(1),
      step: rate(0.1)
    },
    variant
  )
  const folderFaults = { commit: rate(0.2), tornBack: rate(0.8), lost: rate(0.5) }
  const watched: Watched = { waiting: 0, waitingMax: 0, emittedMax: 0 }
  const poison = rate(0.1)
  const subject = isAttribution
    ? attribution(seed, draws, database, variant)
    : orders(draws, database, watched, poison, variant)
  count(isAttribution ? "of attribution" : "of orders")

  const members = draws.pick([1, 1, 2, 2, 3])
  const isOwned = members > 1 ? draws.chance(0.9) : draws.chance(0.3)
  const partitions = isAttribution ? 1 : draws.pick([1, 1, 2])
  const lease_ms = hasPause ? draws.whole(8_000, 20_000) : draws.whole(500, 3_000)
  const crashes = draws.chance(0.3) ? draws.between(0.0002, 0.005) : 0
  /** Freezes beyond the lease between stepping and the commit, where they do the most damage. */
  const stalls = isOwned ? rate(0.05) : 0
  const options: Omit<RunnerOptions, "partition" | "fence" | "openStore" | "report"> = {
    entriesMax: draws.whole(4, 40),
    recordsPerFetch: draws.whole(1, 6),
    emittedMax: draws.whole(1, 20),
    snapshotEvery_ms: draws.pick([0, 20, 500, 2_000]),
    snapshotEntriesMax: draws.whole(2, 60),
    restartAfter_ms: draws.whole(1, 50),
    flushPauseMax_ms: draws.pick([0, 50, 500])
  }
  const units = Array.from({ length: partitions }, (_, partition): Unit => ({ group: GROUP, partition }))

  // The front: runs the host's retention by the reports that it has received, and loses these when it restarts.
  const retentionEvery_ms = hasPause ? draws.between(2_000, 40_000) : undefined
  const endsOf = (partition: number): Positions =>
    Object.fromEntries(subject.inputs.map(({ name }) => [name, log.partition(name, partition).end]))
  let front: SimulatedProcess | undefined
  let heard = (_progress: Progress): void => {}
  const launchFront = (): void => {
    if (isOver || retentionEvery_ms === undefined) return
    const process = (front = new SimulatedProcess(world, "front", 0))
    const reports = new Map<string, Positions>()
    heard = ({ committed, group, partition }) =>
      process.deliver(world.latency(), () => void reports.set(unitKey({ group, partition }), committed))
    process.onDeath(() => world.after(draws.between(10, 2_000), launchFront))
    const retention = makeRetention({
      partitions: subject.inputs.flatMap((topic) => units.map(({ partition }) => ({ topic, partition }))),
      readersOf: () => [GROUP],
      committedOf: (group, partition) => reports.get(unitKey({ group, partition }))
    })
    process.start(
      Effect.flatMap(retention, ({ every }) => every(retentionEvery_ms)),
      Context.make(EventLog, log.service(process)),
      (exit) => world.violate(`retention ended by itself: ${String(exit)}`)
    )
  }
  log.judge = (topic, partition, before) => {
    const { records, start } = log.partition(topic, partition)
    if (before <= start) return
    count("trims")
    const counted = database.offsetsOf({ group: GROUP, partition })[topic] ?? 0
    if (before > counted)
      world.violate(`retention removed ${topic}/${partition} up to ${before}, which is counted up to ${counted} only`)
    // A state that is lost must contain what is alive when the partition's oldest uncounted record is stepped, of
    // either topic.
    const committed = database.offsetsOf({ group: GROUP, partition })
    const oldestAt = Math.min(
      serverTime(world),
      ...subject.inputs.flatMap(
        ({ name }) =>
          log.partition(name, partition).records.find(({ offset }) => offset >= (committed[name] ?? 0))?.appendedAt ??
          []
      )
    )
    const young = records.find(({ appendedAt, offset }) => offset < before && appendedAt > oldestAt - TTL_MS)
    if (young !== undefined)
      world.violate(`retention removed ${topic}/${partition}/${young.offset}, which a state that is lost needs`)
  }

  // Processes, and the folders that outlive them.
  const folders = new Map<string, StateFolder>()
  const folderOf = (member: string, unit: Unit): StateFolder => {
    const key = `${member} ${unitKey(unit)}`
    let folder = folders.get(key)
    if (folder === undefined) folders.set(key, (folder = new StateFolder(world, folderFaults, variant)))
    return folder
  }
  const running = new Map<string, SimulatedProcess>()
  let incarnations = 0
  let isOver = false
  const launch = (member: string): void => {
    if (isOver || running.has(member)) return
    const process = new SimulatedProcess(world, `${member}.${++incarnations}`, crashes)
    running.set(member, process)
    count("processes")
    process.onDeath(() => {
      running.delete(member)
      if (isOver) return
      count("crashes")
      for (const unit of units) folderOf(member, unit).crash()
      world.after(draws.between(10, 2_000), () => launch(member))
    })
    const context = Context.mergeAll(
      Context.make(EventLog, log.service(process)),
      Context.make(OffsetStore, database.offsetStore(process)),
      Context.make(LeaseStore, database.leaseStore(process))
    )
    const processor = subject.runnable(process)
    const probe = (point: string) =>
      Effect.suspend(() => {
        if (point !== "flushed" || !world.fails(stalls)) return Effect.void
        count("stalls")
        process.freeze(draws.between(lease_ms, 3 * lease_ms))
        return Effect.yieldNow
      })
    const report = (progress: Progress) =>
      heard(variant.reportsAhead === true ? { ...progress, committed: endsOf(progress.partition) } : progress)
    const openStore = (unit: Unit) => folderOf(member, unit).open(process)
    const program: Effect.Effect<unknown, never, EventLog | LeaseStore | OffsetStore> = isOwned
      ? Effect.scoped(
          runOwned<never>({
            member: process.name,
            processors: [processor],
            visitorPartitions: partitions,
            openStore,
            lease_ms,
            report,
            runner: { ...options, probe }
          })
        )
      : Effect.all(
          units.map((unit) =>
            processor.run({ ...options, partition: unit.partition, openStore: () => openStore(unit), report })
          ),
          { concurrency: "unbounded" }
        )
    process.start(program, context, (exit: Exit.Exit<unknown, unknown>) =>
      world.violate(`${process.name} ended by itself: ${String(exit)}`)
    )
  }

  // The workload, in a separate order for every topic; copies arrive a little later.
  const journal: Array<Stored> = []
  let pending = 0
  const store = ({ entries, organization, topic, value }: Work) => {
    const partition = organization.charCodeAt(0) % partitions
    const [offset] = log.store([{ topic: topic.name, partition, key: organization, value }])
    journal.push({ topic, partition, offset: offset!, organization, entries })
    pending--
  }
  const burst_ms = draws.pick([50, 1_000, 8_000])
  const copies = rate(0.4)
  const isSecond = ({ entries }: Work) => entries?.some((entry) => entry.order.startsWith("y")) === true
  let lastAt = 0
  for (const work of subject.work) {
    const at = draws.between(0, burst_ms) + (isSecond(work) ? (hasPause ? RETENTION_MS + 20_000 : burst_ms) : 0)
    const times = [at, ...(draws.chance(copies) ? [at + draws.between(0, 4_000)] : [])]
    for (const time of times) {
      pending++
      lastAt = Math.max(lastAt, time)
      world.after(time, () => store(work))
    }
  }

  // Faults other than those of single messages.
  const members_ = Array.from({ length: members }, (_, i) => `p${i}`)
  const anyProcess = () => (running.size === 0 ? undefined : draws.pick([...running.values()]))
  const faultsFor_ms = lastAt + draws.between(100, 6_000)
  const at = (what: () => void) => world.after(draws.between(0, faultsFor_ms), what)
  /** Counting stops for longer than the log keeps its records. */
  const standsStill = hasPause && draws.chance(0.3)
  for (const member of members_)
    world.after(
      standsStill
        ? RETENTION_MS + draws.between(5_000, 20_000)
        : draws.chance(0.7)
          ? 0
          : draws.between(0, faultsFor_ms),
      () => launch(member)
    )
  for (let i = draws.pick([0, 0, 1, 2, 4]); i > 0; i--) at(() => anyProcess()?.kill("killed"))
  for (let i = draws.pick([0, 0, 1, 2]); i > 0; i--)
    at(() => {
      count("freezes")
      anyProcess()?.freeze(draws.between(50, 4 * lease_ms + (draws.chance(0.1) ? 12_000 : 0)))
    })
  if (draws.chance(0.06))
    at(() => {
      const restore = database.backup()
      at(() => {
        // Records that the log has dropped since cannot be counted again.
        if (!world.isFaulty || log.topics.some(([, { start }]) => start > 0)) return
        count("restored databases")
        world.tell(() => "the database is restored from a backup")
        for (const process of [...running.values(), ...(front === undefined ? [] : [front])])
          process.kill("everything stops for the restore")
        restore()
      })
    })
  launchFront()
  if (hasPause) for (let i = draws.pick([0, 1, 2]); i > 0; i--) at(() => front?.kill("killed"))

  const isDrained = () =>
    pending === 0 &&
    units.every((unit) => {
      const offsets = database.offsetsOf(unit)
      return subject.inputs.every(({ name }) => (offsets[name] ?? 0) >= log.partition(name, unit.partition).end)
    })
  const drain = async (what: string) => {
    world.isFaulty = false
    for (const member of members_) launch(member)
    for (const process of running.values()) process.thaw()
    if (!(await world.run(isDrained, world.now + DRAIN_MAX_MS)))
      world.violate(
        `${what}: not drained: ${units.map((unit) => `${unitKey(unit)} at ${JSON.stringify(database.offsetsOf(unit))}`).join(", ")} of ${log.topics.map(([key, { end }]) => `${key} ${end}`).join(", ")}`
      )
  }
  const verify = (what: string) => {
    const differs = difference(counted(database.sums), subject.expected(journal))
    if (differs !== undefined) world.violate(`${what}: ${differs}`)
    const letters = new Set(
      subject.inputs
        .flatMap((topic) => log.all(deadLettersOf(topic).name))
        .map(({ value }) => {
          const { index, offset, partition, topic } = decodeRecord(value).payload as {
            readonly topic: string
            readonly partition: number
            readonly offset: number
            readonly index: number
          }
          return `${topic}/${partition}/${offset}/${index}`
        })
    )
    const poisoned = new Set(
      journal.flatMap(({ entries, offset, partition, topic }) =>
        entries === undefined
          ? [`${topic.name}/${partition}/${offset}/-1`]
          : entries.flatMap((entry, index) =>
              entry.kind === "count" && entry.fault !== undefined && entry.fault !== "sent_on"
                ? [`${topic.name}/${partition}/${offset}/${index}`]
                : []
            )
      )
    )
    for (const place of poisoned) if (!letters.has(place)) world.violate(`${what}: ${place} is no dead letter`)
    for (const place of letters)
      if (!poisoned.has(place)) world.violate(`${what}: ${place} is a dead letter and should be counted`)
    const sent = new Set(
      log.all(REDIRECTED).flatMap(({ value }) => decodeRecord(value).payload as ReadonlyArray<string>)
    )
    for (const { entries } of journal)
      for (const entry of entries ?? [])
        if (entry.kind === "count" && entry.fault === "sent_on" && !sent.has(entry.id))
          world.violate(`${what}: ${entry.id} was not sent on`)
    count("dead letters")
    seen["dead letters"]! += poisoned.size - 1
  }

  await world.run(() => false, faultsFor_ms)
  await drain("after the faults")
  verify("after the faults")
  if (draws.chance(0.25) && world.violations.length === 0 && log.topics.every(([, { start }]) => start === 0)) {
    count("rebuilt states")
    isOver = true
    for (const process of [...running.values()]) process.kill("everything stops")
    isOver = false
    for (const folder of folders.values()) folder.lose()
    // An empty record, so that progress is made: the rest is read again for the states alone.
    const [, topic] = subject.inputs
    pending++
    store({
      topic: topic!,
      organization: "a",
      entries: [],
      value: isAttribution ? packed(topic!, "a", { events: [] }, EVENTS_SCHEMA_VERSION) : packed(topic!, "a", [])
    })
    await drain("after losing every state")
    verify("after losing every state")
  }
  // A record is delivered whole, or as far as the mailboxes have room; skipped entries are not reported here.
  if (!isAttribution && poison === 0 && watched.waitingMax > options.entriesMax! + 4)
    world.violate(`${watched.waitingMax} entries waited where ${options.entriesMax} may`)
  const round = 2 * options.recordsPerFetch! * 4 * 2
  if (watched.emittedMax > options.emittedMax! + round + options.entriesMax!)
    world.violate(`a flush had ${watched.emittedMax} sums where ${options.emittedMax} and one round may be`)
  isOver = true
  for (const process of [...world.processes]) process.kill("the schedule is over")
  return { seed, violations: world.violations, seen }
}

const difference = (found: ReadonlyMap<string, number>, expected: ReadonlyMap<string, number>): string | undefined => {
  const keys = [...new Set([...found.keys(), ...expected.keys()])]
    .filter((key) => found.get(key) !== expected.get(key))
    .sort()
  return keys.length === 0
    ? undefined
    : `${keys.length} sums are wrong: ${keys
        .slice(0, 5)
        .map((key) => `${key} is ${found.get(key) ?? 0} and should be ${expected.get(key) ?? 0}`)
        .join("; ")}`
}
