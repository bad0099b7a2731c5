/**
 * Question: how many behavioural events does a running program accept, durable and deduplicated, and at what latency?
 * Workload: batches of generated events with fresh ids over keep-alive sockets from a load process of its own; a closed
 * loop for the peak, then a fixed arrival rate at 70 % of it. Excluded: TLS. Read `events_per_processor_s_first_thread`
 * (the accepting thread) and `_all` (the whole program, aggregation included) before wall-clock rates. With `kafka` the
 * log is a broker of this run, whose own processor time is not ours, and aggregation is a process of its own, counted in `_all`.
 */
import { generateCatalog } from "../fixtures/catalog/generate.ts"
import { generateVisitors } from "../fixtures/events/generate.ts"
import { machine, percentiles, processorSeconds, report, round, rssMb } from "./harness.ts"
import { startInstallation } from "./kafka.ts"
import { requestBytes, runLoad, startServer } from "./program.ts"

const KAFKA_PARTITIONS = 4

export interface EventsOptions { readonly batch: number; readonly seconds: number; readonly connections: number; readonly rate: number | undefined; readonly out: string | undefined; readonly seed: number; readonly kafka: boolean }

const batches = (options: EventsOptions, key: string, count: number): ReadonlyArray<string> => {
  const products = [...generateCatalog({ seed: options.seed, products: 2000 })]
  const now = Date.now()
  const events = generateVisitors(products, { seed: options.seed, sessions: count * options.batch, collection: "products", from: now - 3_600_000, to: now, run: "bench" })
  const made: Array<string> = []
  while (made.length < count) {
    const batch: Array<Record<string, unknown>> = []
    // Not `for … of`: leaving that early would end the generator, and every later batch would be empty.
    while (batch.length < options.batch) {
      const event = events.next()
      if (event.done === true) throw new Error("The generator made too few events for the batches.")
      // Ids and sessions are fresh each time a template is sent: the marker is replaced by a number.
      batch.push({ ...event.value, event_id: `e-@@@@@@@@@@@@-${batch.length}`, session_id: `s-@@@@@@@@@@@@` })
    }
    made.push(requestBytes("POST", "/v1/events", key, JSON.stringify({ events: batch })))
  }
  return made
}

export const benchEvents = async (options: EventsOptions): Promise<void> => {
  const installation = options.kafka ? await startInstallation(KAFKA_PARTITIONS) : undefined
  const server = installation?.server ?? await startServer()
  const processorSecondsNow = () => {
    const program = processorSeconds(server.pid)
    const streams = installation === undefined ? 0 : processorSeconds(installation.streamsPid).process
    return { ...program, process: program.process + streams, streams }
  }
  try {
    const requests = batches(options, server.search_key, 64)
    const common = { host: "127.0.0.1", port: server.port, requests, unique: true }
    await runLoad({ ...common, connections: options.connections, seconds: 3, rate: 0 })
    const before = processorSecondsNow()
    const peak = await runLoad({ ...common, connections: options.connections, seconds: options.seconds, rate: 0, uniqueFrom: 100_000_000 })
    const after = processorSecondsNow()
    const rssPeak = rssMb(server.pid)
    const rate = options.rate ?? Math.max(1, Math.floor((0.7 * peak.answered) / peak.seconds))
    const fixed = await runLoad({ ...common, connections: options.connections, seconds: options.seconds, rate, uniqueFrom: 200_000_000 })
    report("events", {
      machine: machine(),
      log: options.kafka ? "kafka" : "embedded",
      rss_mb: rssPeak,
      batch: options.batch,
      accepted_events_per_s: Math.round(peak.accepted / peak.seconds),
      events_per_processor_s_first_thread: Math.round(peak.accepted / Math.max(0.01, after.firstThread - before.firstThread)),
      events_per_processor_s_all: Math.round(peak.accepted / Math.max(0.01, after.process - before.process)),
      ...(installation === undefined ? {} : { events_per_processor_s_streams: Math.round(peak.accepted / Math.max(0.01, after.streams - before.streams)) }),
      peak: percentiles(peak.latencies_ms as Array<number>),
      statuses: peak.statuses,
      fixed_rate_requests_per_s: rate,
      fixed: percentiles(fixed.latencies_ms as Array<number>),
      fixed_statuses: fixed.statuses,
      fixed_accepted_events_per_s: Math.round(fixed.accepted / fixed.seconds),
      load_processor_s: round(peak.processor_s)
    }, options.out)
  } finally {
    await (installation ?? server).stop()
  }
}
