/**
 * Question: is anything lost or counted twice when everything runs at the same time and one process of each kind is
 * killed? Workload: what `test/support/together` starts (Kafka, Postgres, three nodes of OpenSearch, two API and two
 * stream processes, all on this machine), a generated catalogue imported and events streamed during searches, five
 * kills. Load and servers share the processors: the times show how long a person waits through a kill here, not how
 * an installation of many machines behaves.
 */
import { Effect } from "effect"
import { together, type TogetherSize } from "../../test/support/together/scenario.ts"
import { machine, percentiles, report, round } from "../harness/harness.ts"

export interface TogetherOptions extends TogetherSize {
  readonly out: string | undefined
}
/** `--products 100000 --events 1000000`: about six minutes on two processors. */
export const benchTogether = async ({ events, out, products }: TogetherOptions): Promise<void> => {
  const print = (line: string) => void process.stderr.write(`${line}\n`)
  const { load, ...recount } = await Effect.runPromise(Effect.scoped(together({ events, products }, print)))
  const figures = {
    machine: machine(),
    products,
    events,
    documents_lost: products - recount.documents,
    /** Negative if events were counted twice. */ events_lost: events - recount.events,
    cents_lost: events / 8 - recount.revenue_micros / 10_000,
    searches_answered: load.searches,
    searches_failed: load.failed.length,
    searches: percentiles(load.times),
    sent_again: Object.fromEntries(load.again),
    kills: recount.kills.map(({ at, back_s, what }) => ({ what, at: round(at, 2), back_s: round(back_s, 1) })),
    counted_after_s: round(recount.behind_s, 1),
    took_s: round(recount.took_s, 0)
  }
  report("Everything at once, one of each killed", figures, out)
}
