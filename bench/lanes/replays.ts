/**
 * Question: how long do a replay and an erasure of an organization take, and how much later do new events show
 * meanwhile? Workload: `--events` seeded events of one organization (a third searches, 2,000 visitors, five days)
 * through `POST /events`; then a batch of ten every 100 ms, each timed from its acceptance until the overview shows
 * it: first with no other work, then during a replay. Then one visitor is erased. Afterwards the totals must equal
 * what was sent. Excluded: several organizations (a replay reads the records of all and decodes only its own).
 */
import { makeRandom } from "../../fixtures/random.ts"
import { machine, percentiles, report, round, rssMb } from "../harness/harness.ts"
import { startServer } from "../harness/program.ts"

export interface ReplaysOptions {
  readonly events: number
  readonly seconds: number
  readonly seed: number
  readonly out: string | undefined
}

const BATCH = 1_000
const DAY_MS = 86_400_000
const pause = (ms: number) => new Promise((settle) => setTimeout(settle, ms))

export const benchReplays = async ({ events, out, seconds, seed }: ReplaysOptions): Promise<void> => {
  const server = await startServer()
  try {
    const random = makeRandom(seed)
    const call = async (method: string, path: string, body?: unknown) => {
      const response = await fetch(`${server.base}${path}`, {
        method,
        headers: { "x-svc-api-key": server.full_key },
        ...(body === undefined ? {} : { body: JSON.stringify(body) })
      })
      if (response.status >= 300) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
      return (await response.json()) as Record<string, any>
    }
    const day = (at: number) => new Date(at).toISOString().slice(0, 10)
    const now = Date.now()
    const range = { from: day(now - 6 * DAY_MS), to: day(now + DAY_MS) }
    const shown = async () =>
      (await call("GET", `/analytics/metrics/overview?from=${range.from}&to=${range.to}`)).events as number
    const event = (timestamp: number) => {
      const visitor = random.below(2_000)
      const common = {
        collection: "shop",
        session_id: `s${visitor}`,
        ...(visitor % 3 === 0 ? { user_id: `u${visitor}` } : {}),
        timestamp
      }
      const kind = random.below(3)
      return kind === 0
        ? { ...common, type: "search", q: `words ${random.below(5_000)}`, results_found: random.below(9) }
        : { ...common, type: kind === 1 ? "view" : "click", document_id: `p${random.below(10_000)}` }
    }
    let sent = 0
    const send = async (count: number, at: () => number) => {
      sent += (await call("POST", "/events", { events: Array.from({ length: count }, () => event(at())) }))
        .accepted as number
    }
    while (sent < events) await send(Math.min(BATCH, events - sent), () => now - random.below(5 * DAY_MS))
    while ((await shown()) < sent) await pause(50)

    /** The time from an accepted batch until it is shown, measured as long as `isOn` returns true. */
    const visible = async (isOn: () => boolean | Promise<boolean>) => {
      const latencies: Array<number> = []
      while (await isOn()) {
        await send(10, () => Date.now())
        const from = performance.now()
        while ((await shown()) < sent) await pause(5)
        latencies.push(performance.now() - from)
        await pause(100)
      }
      return { batches: latencies.length, ...percentiles(latencies) }
    }
    const quietUntil = performance.now() + seconds * 1_000
    const quiet = await visible(() => performance.now() < quietUntil)
    const ended = async (id: string) => {
      const job = await call("GET", `/jobs/${id}`)
      if (job.status === "failed") throw new Error(`the job failed: ${job.error}`)
      return job.status === "ready"
    }
    const timed = async (id: string) => {
      const from = performance.now()
      const beside = await visible(async () => !(await ended(id)))
      return { took_s: round((performance.now() - from) / 1_000, 2), beside }
    }
    const replay = await timed((await call("POST", "/events/replays", { ...range, target: "analytics" })).id as string)
    if ((await shown()) !== sent) throw new Error(`${await shown()} events are shown of ${sent} after the replay`)
    const erasure = await call("DELETE", "/events/subjects/u3")
    const from = performance.now()
    while (!(await ended(erasure.id as string))) await pause(20)
    const took_s = round((performance.now() - from) / 1_000, 2)
    const { result } = await call("GET", `/jobs/${erasure.id}`)
    const erased = (result.topics as ReadonlyArray<{ readonly name: string; readonly entries: number }>).find(
      ({ name }) => name === "behaviour.events.v1"
    )!.entries
    if ((await shown()) !== sent - erased)
      throw new Error(`${await shown()} events are shown of ${sent - erased} after the erasure`)
    report(
      "replays",
      {
        machine: machine(),
        events: sent,
        rss_mb: rssMb(server.pid),
        visible_quiet: quiet,
        replay: { took_s: replay.took_s, events_per_s: Math.round(sent / replay.took_s), visible: replay.beside },
        erasure: { took_s, events: erased }
      },
      out
    )
  } finally {
    await server.stop()
  }
}
