/**
 * Per-key rate limit by clock minute: no smoothing, and exact, also over several processes. A single process counts
 * in memory; several processes take tokens in blocks. While Postgres is unavailable, each process uses its remaining
 * tokens and then at most the limit itself.
 */
import type { Budget, CounterOptions, Taken } from "../../ports/counter/counter.ts"
import type { Caller } from "../../identity/caller.ts"
import type { KeyRecord } from "../../identity/key-record.ts"

const MINUTE_MS = 60_000

/** Bound: the number of keys used within one minute. */
export const rateCounter: CounterOptions = {
  kind: "rate",
  isDurable: false,
  entriesMax: 1_000_000,
  creditMax: Infinity,
  kept_ms: MINUTE_MS
}

export const rateBudget = (
  { id, rate_limit_per_minute }: Pick<KeyRecord, "id" | "rate_limit_per_minute">,
  now_ms: number
): Budget => {
  const started_at = now_ms - (now_ms % MINUTE_MS)
  return { name: id, limit: rate_limit_per_minute, started_at, ends_at: started_at + MINUTE_MS }
}
export const rateOf = ({ ends_at, limit }: Budget, { remaining }: Taken): NonNullable<Caller["rate"]> => ({
  limit,
  remaining: Math.max(0, remaining),
  resets_at: ends_at
})
