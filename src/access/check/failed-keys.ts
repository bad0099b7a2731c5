/**
 * How many unknown keys a network may present per clock minute before it must wait. A plain key costs one look-up, so
 * plain keys, browser keys and scoped tokens are always checked: a shop that shares its address with an attacker keeps
 * working. A secured key is checked against every key that may have signed it; a network over its budget must wait
 * for that check.
 *
 * Decision: each process counts separately, in memory, because a shared count would cost an attacker nothing and us a
 * round trip. Bound: `NETWORKS_MAX` networks, some 10 MB; the network that failed first in the minute is evicted first.
 */
import type { Budget } from "../../ports/counter/counter.ts"
import { makeMemoryCounter } from "../../ports/counter/memory.ts"
import { networkOf } from "../../net/network-address.ts"

const MINUTE_MS = 60_000
const FAILED_KEYS_MAX = 600
const NETWORKS_MAX = 100_000

export interface FailedKeys {
  /** Milliseconds until the network of the address may fail again; 0 if it may now. */
  readonly wait_ms: (address: string, now_ms: number) => number
  /** Counts an unknown key; returns what `wait_ms` returned before it. */
  readonly count: (address: string, now_ms: number) => number
}

export const makeFailedKeys = (): FailedKeys => {
  const counter = makeMemoryCounter({ entriesMax: NETWORKS_MAX })
  /** Minute of the last failure. Nearly always it is an earlier one, so no address has to be parsed. */
  let failedIn = -1
  const budgetOf = (address: string, now_ms: number): Budget => {
    const started_at = now_ms - (now_ms % MINUTE_MS)
    return { name: networkOf(address), limit: FAILED_KEYS_MAX, started_at, ends_at: started_at + MINUTE_MS }
  }
  return {
    wait_ms: (address, now_ms) => {
      if (failedIn !== Math.floor(now_ms / MINUTE_MS)) return 0
      const budget = budgetOf(address, now_ms)
      return counter.peek(budget).isAllowed ? 0 : budget.ends_at - now_ms
    },
    count: (address, now_ms) => {
      failedIn = Math.floor(now_ms / MINUTE_MS)
      const budget = budgetOf(address, now_ms)
      return counter.take(budget, 1)?.isAllowed === true ? 0 : budget.ends_at - now_ms
    }
  }
}
