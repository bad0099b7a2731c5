/**
 * Question: how many behavioural events does a running program accept, durable and deduplicated, and at what latency?
 * Workload: batches of generated visits (about six events each) with fresh ids and visitors, timed within the
 * `spread` seconds before they are sent, over keep-alive sockets from a separate load process. A closed loop finds
 * the peak; then a fixed arrival rate at 70 % of it uses four times the connections. Excluded: TLS. Read
 * `events_per_processor_s_first_thread` (the accepting thread) and `_all` (all processes of the program, including
 * the embedded Postgres, until the last of these events is counted) before wall-clock rates; `counted_after_s` is the
 * time from the last response until then. With `kafka`, the log is a broker of this run, whose own processor time is
 * not counted, and aggregation is a separate process, which counts in `_all`. With `known`, the program starts over
 * that many ids in sealed runs (about 22 bytes of temporary disk each); `window_share` is the cost of `admit` for new
 * ids, measured alone over the same runs, as a share of the accepting thread's time.
 */
import { Effect } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { generateCatalog } from "../../fixtures/catalog/generate.ts"
import { generateVisitors } from "../../fixtures/events/generate.ts"
import { DedupeWindow } from "../../src/ports/dedupe/dedupe-window.ts"
import { layerEmbedded as layerLog } from "../../log/event-log/lmdb.ts"
import { layerSql } from "../../src/runtime/embedded.ts"
import { startEmbeddedPostgres } from "../../src/runtime/embedded-postgres.ts"
import { readFingerprintKey } from "../../log/fingerprint-key.ts"
import { EVENT_FINGERPRINTS } from "../../log/topics.ts"
import { machine, ownMb, percentiles, processorSeconds, report, round, rssMb, treeSeconds } from "../harness/harness.ts"
import { startInstallation } from "./kafka.ts"
import { admitCost, writeKnownIds } from "../inputs/known-ids.ts"
import { rawLimits } from "./raw-limits.ts"
import { requestBytes, type RunningProgram, runLoad, startServer } from "../harness/program.ts"

const KAFKA_PARTITIONS = 4

export interface EventsOptions {
  readonly batch: number
  readonly seconds: number
  readonly connections: number
  readonly rate: number | undefined
  readonly out: string | undefined
  readonly seed: number
  readonly kafka: boolean
  readonly known: number
  readonly spread: number
  readonly burst: number
}

const INSTANT = "#############"
/** JSON bodies, with markers where `load.ts` inserts fresh numbers and times. */
const batches = (options: EventsOptions, count: number): ReadonlyArray<string> => {
  const products = [...generateCatalog({ seed: options.seed, products: 2000 })]
  const now = Date.now()
  const events = generateVisitors(products, {
    seed: options.seed,
    sessions: count * options.batch,
    collection: "products",
    from: now - 3_600_000,
    to: now,
    run: "bench"
  })
  const made: Array<string> = []
  while (made.length < count) {
    const batch: Array<Record<string, unknown>> = []
    // Not `for … of`: leaving that early would end the generator, and every later batch would be empty.
    while (batch.length < options.batch) {
      const event = events.next()
      if (event.done === true) throw new Error("The generator made too few events for the batches.")
      // Each time a template is sent, visitors, sessions and ids are fresh and times are current (`load.ts`).
      const { anonymous_id, session_id } = event.value
      batch.push({
        ...event.value,
        event_id: `e-@@@@@@@@@@@@-${batch.length}`,
        session_id: `@@@@@@@@@@@@-${session_id}`,
        anonymous_id: `@@@@@@@@@@@@-${anonymous_id}`,
        timestamp: INSTANT
      })
    }
    made.push(JSON.stringify({ events: batch }).replaceAll(`"${INSTANT}"`, INSTANT))
  }
  return made
}

/**
 * Starts a program over known ids: once to create its fingerprint key and API keys, then, after the runs have been
 * written, again over these.
 */
const startKnown = async (count: number) => {
  const folder = mkdtempSync(join(tmpdir(), "dowser-bench-known-"))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  try {
    const first = await startServer([], folder)
    await first.stop()
    const data = join(folder, "data")
    const postgres = await startEmbeddedPostgres(join(data, "postgres"))
    const key = await Effect.runPromise(
      Effect.ensuring(
        Effect.provide(readFingerprintKey, layerSql(postgres)),
        Effect.promise(() => postgres.stop())
      )
    )
    const runs = { folder: join(data, "dedupe"), key, topic: EVENT_FINGERPRINTS.name }
    const began = performance.now()
    const cost = await Effect.runPromise(
      Effect.andThen(
        writeKnownIds({ ...runs, count }),
        Effect.suspend(() => {
          const written_s = round((performance.now() - began) / 1_000, 1)
          return Effect.map(Effect.provide(admitCost(count), DedupeWindow.layerSealed(runs)), (figures) => ({
            known_ids: count,
            known_written_s: written_s,
            ...figures
          }))
        })
      ).pipe(Effect.provide(layerLog({ path: join(data, "log") })))
    )
    const starting = performance.now()
    const server = await startServer([], folder)
    return {
      figures: { ...cost, start_s: round((performance.now() - starting) / 1_000, 2) },
      server: { ...server, full_key: first.full_key, search_key: first.search_key },
      stop: () => server.stop().finally(remove)
    }
  } catch (error) {
    remove()
    throw error
  }
}

const tenths = (all: ReadonlyArray<number>): ReadonlyArray<ReadonlyArray<number>> => {
  const parts = Math.min(10, all.length)
  return Array.from({ length: parts }, (_, i) =>
    all.slice(Math.floor((i * all.length) / parts), Math.floor(((i + 1) * all.length) / parts))
  )
}
const BURST_S_MAX = 120
/** At a fixed rate, a request is due whether or not others were answered: such senders do not share connections. */
const FIXED_CONNECTIONS_PER = 4
const COUNTED_WITHIN_MS = 300_000
/** Waits until the overview reports as many events as were accepted. */
const untilCounted = async (
  { base, full_key }: Pick<RunningProgram, "base" | "full_key">,
  accepted: number
): Promise<void> => {
  const day = (at: number) => new Date(at).toISOString().slice(0, 10)
  const path = `/analytics/metrics/overview?from=${day(Date.now() - 2 * 86_400_000)}&to=${day(Date.now() + 86_400_000)}`
  for (
    const ends = performance.now() + COUNTED_WITHIN_MS;
    performance.now() < ends;
    await new Promise((settle) => setTimeout(settle, 100))
  ) {
    const { events } = (await (await fetch(`${base}${path}`, { headers: { "x-svc-api-key": full_key } })).json()) as {
      readonly events: number
    }
    if (events >= accepted) return
  }
  throw new Error(`What was accepted is not counted within ${COUNTED_WITHIN_MS / 1_000} s.`)
}

export const benchEvents = async (options: EventsOptions): Promise<void> => {
  if (options.kafka && options.known > 0) throw new Error("--known is for the embedded log only.")
  const bodies = batches(options, 64)
  const limits = await rawLimits(
    bodies.map((body) => Buffer.from(body.replaceAll(INSTANT, String(Date.now())))),
    options.batch
  )
  const installation = options.kafka ? await startInstallation(KAFKA_PARTITIONS) : undefined
  const known = options.known > 0 ? await startKnown(options.known) : undefined
  const server = installation?.server ?? known?.server ?? (await startServer())
  const processorSecondsNow = () => {
    const { firstThread } = processorSeconds(server.pid)
    const streams = installation === undefined ? 0 : processorSeconds(installation.streamsPid).process
    return { firstThread, process: treeSeconds(server.pid) + streams, streams }
  }
  try {
    const requests = bodies.map((body) => requestBytes("POST", "/v1/events", server.search_key, body))
    const common = { host: "127.0.0.1", port: server.port, requests, unique: true, spread_ms: options.spread * 1_000 }
    const warm = await runLoad({ ...common, connections: options.connections, seconds: 3, rate: 0 })
    await untilCounted(server, warm.accepted)
    const before = processorSecondsNow()
    const peak = await runLoad({
      ...common,
      connections: options.connections,
      rate: 0,
      uniqueFrom: 100_000_000,
      ...(options.burst > 0
        ? { seconds: BURST_S_MAX, requestsMax: Math.ceil(options.burst / options.batch) }
        : { seconds: options.seconds })
    })
    const after = processorSecondsNow()
    const rssPeak = rssMb(server.pid)
    const counting = performance.now()
    await untilCounted(server, warm.accepted + peak.accepted)
    const counted_after_s = round((performance.now() - counting) / 1_000, 1)
    const whenCounted = processorSecondsNow()
    const rate = options.rate ?? Math.max(1, Math.floor((0.7 * peak.answered) / peak.seconds))
    const memory: Array<number> = [],
      own: Array<number> = []
    const sampling = setInterval(() => {
      memory.push(rssMb(server.pid))
      own.push(ownMb(server.pid))
    }, 1_000)
    const fixed = await runLoad({
      ...common,
      connections: FIXED_CONNECTIONS_PER * options.connections,
      seconds: options.seconds,
      rate,
      uniqueFrom: 200_000_000
    }).finally(() => clearInterval(sampling))
    const median = (some: ReadonlyArray<number>) => Math.round([...some].sort((a, b) => a - b)[some.length >> 1] ?? 0)
    const paces = {
      fixed_p99_ms_by_tenth: tenths(fixed.latencies_ms)
        .map((some) => Math.round(percentiles([...some]).p99_ms))
        .join(" "),
      fixed_loop_us_by_tenth: tenths(fixed.loop_us).map(median).join(" "),
      peak_loop_us: median(peak.loop_us)
    }
    report(
      "events",
      {
        machine: machine(),
        log: options.kafka ? "kafka" : "embedded",
        rss_mb: rssPeak,
        batch: options.batch,
        ...limits,
        accepted_events_per_s: Math.round(peak.accepted / peak.seconds),
        events_per_processor_s_first_thread: Math.round(
          peak.accepted / Math.max(0.01, after.firstThread - before.firstThread)
        ),
        events_per_processor_s_all: Math.round(peak.accepted / Math.max(0.01, whenCounted.process - before.process)),
        counted_after_s,
        ...(known === undefined
          ? {}
          : {
              ...known.figures,
              window_share: round(
                (known.figures.new_id_ns * peak.accepted) / 1e9 / Math.max(0.01, after.firstThread - before.firstThread)
              )
            }),
        ...(installation === undefined
          ? {}
          : {
              events_per_processor_s_streams: Math.round(
                peak.accepted / Math.max(0.01, whenCounted.streams - before.streams)
              )
            }),
        peak: percentiles(peak.latencies_ms as Array<number>),
        statuses: peak.statuses,
        fixed_rate_requests_per_s: rate,
        fixed: percentiles(fixed.latencies_ms as Array<number>),
        fixed_load_late: percentiles(fixed.late_ms as Array<number>),
        // In order of time, each with the load's fixed-loop duration at that time, which shows the machine's speed.
        ...paces,
        fixed_statuses: fixed.statuses,
        // For each tenth of the time, because the first tenths would show a warm-up and the later ones growth.
        fixed_own_mb: tenths(own)
          .map((some) => Math.max(...some))
          .join(" "),
        // Includes the mapped pages of the log.
        fixed_rss_mb: tenths(memory)
          .map((some) => Math.max(...some))
          .join(" "),
        fixed_accepted_events_per_s: Math.round(fixed.accepted / fixed.seconds),
        load_processor_s: round(peak.processor_s)
      },
      options.out
    )
  } finally {
    await (installation ?? known ?? server).stop()
  }
}
