/**
 * Attempts to sign in, of one account and from one address, by quarters of an hour of the clock; counted together by all
 * processes. An attempt that was right is given back; wrong ones stay until the window turns.
 *
 * While Postgres is away a process lets pass at most one window's attempts of its own; nobody signs in then anyway.
 * Bound: `NAMES_MAX` accounts and as many addresses in memory, by their hashes.
 */
import { createHash } from "node:crypto"
import { Clock, Effect } from "effect"
import { type Budget, type Counter, Counters } from "../ports/counter.ts"

const WINDOW_MS = 15 * 60_000
const NAMES_MAX = 10_000
const limits = { account: 10, address: 50 } as const
type Kind = keyof typeof limits

export interface SignInAttempts {
  /** Milliseconds until another attempt is taken; 0 counts this one. A round trip where several processes count. */
  readonly take: (kind: Kind, name: string) => Effect.Effect<number>
  /** One attempt was right after all. */
  readonly giveBack: (kind: Kind, name: string) => Effect.Effect<void>
}

export const makeSignInAttempts = Effect.gen(function*() {
  const counters = yield* Counters
  const open = (kind: Kind) => counters.open({ kind: `sign_in_${kind}`, isDurable: false, entriesMax: NAMES_MAX, creditMax: limits[kind], kept_ms: WINDOW_MS })
  const opened: Readonly<Record<Kind, Counter>> = { account: yield* open("account"), address: yield* open("address") }
  const budgetOf = (kind: Kind, name: string, now_ms: number): Budget => {
    const started_at = now_ms - now_ms % WINDOW_MS
    return { name: createHash("sha256").update(name).digest("base64url"), limit: limits[kind], started_at, ends_at: started_at + WINDOW_MS }
  }
  return {
    take: Effect.fnUntraced(function*(kind, name) {
      const now_ms = yield* Clock.currentTimeMillis
      const budget = budgetOf(kind, name, now_ms)
      const { isAllowed } = opened[kind].take(budget, 1) ?? (yield* Effect.orElseSucceed(opened[kind].ask(budget, 1), () => ({ isAllowed: false })))
      return isAllowed ? 0 : budget.ends_at - now_ms
    }),
    giveBack: (kind, name) => Effect.map(Clock.currentTimeMillis, (now_ms) => opened[kind].giveBack(budgetOf(kind, name, now_ms), 1))
  } satisfies SignInAttempts as SignInAttempts
})
