/**
 * Attempts to sign in, counted over all processes by quarter hours of the clock. Somebody who knows an account's name
 * must not be able to lock its owner out, so locks apply to an account from one network, and to a network. An account
 * that is tried from many networks is slowed down instead, except for networks from which somebody has signed in to
 * it. Correct attempts are given back; wrong ones count until the window ends.
 *
 * While Postgres is unavailable, a process allows at most one window's attempts; nobody can sign in then anyway.
 * Bound: `NAMES_MAX` names of each kind in memory, by their hashes, and as many pairs of accounts and known networks.
 */
import { createHash } from "node:crypto"
import { Clock, Effect } from "effect"
import { type Budget, type Counter, Counters } from "../ports/counter/counter.ts"
import { networkOf } from "../net/network-address.ts"

const WINDOW_MS = 15 * 60_000
const NAMES_MAX = 10_000
/** `pair`: one account from one network; `network`: any account; `account`: all networks, slower beyond it. */
const limits = { pair: 10, network: 50, account: 100 } as const
type Kind = keyof typeof limits
/** How long a slowed-down attempt waits before it is checked. */
const SLOW_MS = 3_000

interface Attempt {
  /** Milliseconds until another attempt is allowed; 0: this one was counted. */ readonly wait_ms: number
  /** Milliseconds to wait before this attempt's password is checked. */ readonly delay_ms: number
}
export interface SignInAttempts {
  /** Costs round trips if several processes count. */
  readonly take: (account: string, address: string) => Effect.Effect<Attempt>
  /** Call after a correct attempt: it does not count, and the network is known for the account from now on. */
  readonly succeed: (account: string, address: string) => Effect.Effect<void>
}

const hashOf = (name: string): string => createHash("sha256").update(name).digest("base64url")
const pairOf = (account: string, address: string): string => `${account}\n${networkOf(address)}`

export const makeSignInAttempts = Effect.gen(function* () {
  const counters = yield* Counters
  const open = (kind: Kind) =>
    counters.open({
      kind: `sign_in_${kind}`,
      isDurable: false,
      entriesMax: NAMES_MAX,
      creditMax: limits[kind],
      kept_ms: WINDOW_MS
    })
  const opened: Readonly<Record<Kind, Counter>> = {
    pair: yield* open("pair"),
    network: yield* open("network"),
    account: yield* open("account")
  }
  /** Pairs from which somebody signed in, the most recent last. */
  const known = new Set<string>()
  const budgetOf = (kind: Kind, name: string, now_ms: number): Budget => {
    const started_at = now_ms - (now_ms % WINDOW_MS)
    return { name: hashOf(name), limit: limits[kind], started_at, ends_at: started_at + WINDOW_MS }
  }
  const isTaken = Effect.fnUntraced(function* (kind: Kind, name: string, now_ms: number) {
    const budget = budgetOf(kind, name, now_ms)
    const { isAllowed } =
      opened[kind].take(budget, 1) ??
      (yield* Effect.orElseSucceed(opened[kind].ask(budget, 1), () => ({ isAllowed: false })))
    return isAllowed
  })
  const giveBack = (kind: Kind, name: string, now_ms: number) => opened[kind].giveBack(budgetOf(kind, name, now_ms), 1)
  return {
    take: Effect.fnUntraced(function* (account, address) {
      const now_ms = yield* Clock.currentTimeMillis
      const network = networkOf(address),
        pair = pairOf(account, address)
      if (!(yield* isTaken("network", network, now_ms)) || !(yield* isTaken("pair", pair, now_ms)))
        return { wait_ms: WINDOW_MS - (now_ms % WINDOW_MS), delay_ms: 0 }
      return {
        wait_ms: 0,
        delay_ms: (yield* isTaken("account", account, now_ms)) || known.has(hashOf(pair)) ? 0 : SLOW_MS
      }
    }),
    succeed: (account, address) =>
      Effect.map(Clock.currentTimeMillis, (now_ms) => {
        const pair = pairOf(account, address),
          hash = hashOf(pair)
        giveBack("network", networkOf(address), now_ms)
        giveBack("pair", pair, now_ms)
        giveBack("account", account, now_ms)
        known.delete(hash)
        known.add(hash)
        if (known.size > NAMES_MAX)
          for (const oldest of known) {
            known.delete(oldest)
            break
          }
      })
  } satisfies SignInAttempts as SignInAttempts
})
