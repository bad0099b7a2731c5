/**
 * Whether a request may pass (`docs/contract/errors.md#order-of-refusals`): the key, what it may do (`decision.ts`),
 * and a token of its minute. Waits only if memory may be stale or another process holds the tokens.
 */
import { Clock, Effect } from "effect"
import type { ConfigurationShape } from "../../configuration/configuration.ts"
import type { Caller } from "../../identity/caller.ts"
import type { KeyRecord } from "../../identity/key-record.ts"
import type { OrganizationRecord } from "../../organizations/organization.ts"
import type { Budget, Counter, Taken } from "../../ports/counter/counter.ts"
import { SECURED_KEY_LENGTH_MAX } from "../tokens/secured-key.ts"
import { decide, type DecisionInput, tooFast } from "./decision.ts"
import type { Presented } from "../../identity/presented.ts"
import { rateBudget, rateOf } from "./rate.ts"
import { type KnownKeys, missing, rejected, resolveKey, unresolvedRefusal } from "./resolve-key.ts"

export interface CheckParts {
  readonly configuration: ConfigurationShape
  readonly known: KnownKeys
  readonly organizationOf: (id: string) => OrganizationRecord | undefined
  readonly rates: Counter
  readonly serviceDomain: string | undefined
}

/** The result when no tokens can be obtained. */
const none = (): Taken => ({ isAllowed: false, remaining: 0 })

/** The token that one request takes from its key's minute. */
class RateToken {
  readonly #budget: Budget | undefined
  readonly #key: KeyRecord
  readonly #now_ms: number
  readonly #onKey: Presented["onKey"]
  readonly #rates: Counter
  /** The state of the minute's budget, once this request was counted. */
  rate: Caller["rate"]
  /** True if no token is available locally and Postgres has not been queried yet. */
  isUnknown = false
  /** The result from Postgres. */
  asked: Taken | undefined

  constructor(key: KeyRecord, now_ms: number, rates: Counter, { isRateFree, onKey }: Presented) {
    this.#budget = key.rate_limit_per_minute === 0 || isRateFree ? undefined : rateBudget(key, now_ms)
    this.#key = key
    this.#now_ms = now_ms
    this.#onKey = onKey
    this.#rates = rates
  }

  /** Reports the state of the minute's budget for the headers, before anything is taken. */
  show(): void {
    if (this.#onKey === undefined) return
    this.#onKey(
      this.#key,
      this.#budget === undefined ? undefined : rateOf(this.#budget, this.#rates.peek(this.#budget))
    )
  }

  take(): ReturnType<DecisionInput["takeRateToken"]> {
    const budget = this.#budget
    if (budget === undefined) return { isAllowed: true, resets_in_s: 0 }
    const taken = this.asked ?? this.#rates.take(budget, 1)
    this.isUnknown = taken === undefined
    if (taken === undefined) return { isAllowed: true, resets_in_s: 0 }
    this.rate = rateOf(budget, taken)
    this.#onKey?.(this.#key, this.rate)
    return { isAllowed: taken.isAllowed, resets_in_s: Math.ceil((budget.ends_at - this.#now_ms) / 1000) }
  }

  /** Waits for a token. */
  ask(): Effect.Effect<void> {
    return this.#budget === undefined
      ? Effect.void
      : Effect.map(Effect.orElseSucceed(this.#rates.ask(this.#budget, 1), none), (taken) => {
          this.asked = taken
        })
  }
}

/** Returns the first refusal, or the caller. */
export const makeCheck = ({ configuration, known, organizationOf, rates, serviceDomain }: CheckParts) =>
  Effect.fnUntraced(function* (presented: Presented) {
    if (!configuration.isCurrent()) yield* configuration.current
    if (presented.key === undefined || presented.key === "") return yield* missing
    if (presented.key.length > SECURED_KEY_LENGTH_MAX) return yield* rejected
    const now_ms = yield* Clock.currentTimeMillis
    const resolved = resolveKey(known, presented.key, now_ms, presented)
    if (typeof resolved === "string") return yield* unresolvedRefusal(known, resolved, presented, now_ms)
    const organization = organizationOf(resolved.key.organization_id)
    if (organization === undefined) return yield* unresolvedRefusal(known, "refused", presented, now_ms)
    const { embedded, index, key, profile } = resolved
    const token = new RateToken(key, now_ms, rates, presented)
    token.show()
    const input: DecisionInput = {
      key,
      organization,
      damage: configuration.damages.of(key.organization_id),
      serviceDomain,
      index,
      isSecured: embedded !== undefined,
      scope: presented.scope,
      address: presented.address,
      origin: presented.origin,
      collection: presented.collection,
      isOfAll: presented.isOfAll === true || (presented.isOfAll === "with a full key" && key.scope === "full"),
      takeRateToken: () => token.take()
    }
    let refusal = decide(input)
    if (token.isUnknown) {
      // With several processes, once per minute and key: a request that finds no local token waits for a block of them.
      yield* token.ask()
      refusal = decide(input)
    }
    if (refusal !== undefined) return yield* refusal
    const caller: Caller = {
      organizationId: key.organization_id,
      key,
      scope: key.scope,
      embedded,
      ...(index === undefined ? {} : { index }),
      ...(profile === undefined ? {} : { profile }),
      sessionId: presented.sessionId,
      rate: token.rate
    }
    return caller
  })

/** Takes more tokens of the caller's minute, for a request that counts as several: all of them or 429. */
export const makeTakeTokens = ({ rates }: Pick<CheckParts, "rates">) =>
  Effect.fnUntraced(function* ({ key, rate }: Caller, tokens: number) {
    if (rate === undefined || tokens <= 0) return
    const budget = rateBudget(key, yield* Clock.currentTimeMillis)
    const taken = rates.take(budget, tokens) ?? (yield* Effect.orElseSucceed(rates.ask(budget, tokens), none))
    rate.remaining = Math.max(0, taken.remaining)
    if (!taken.isAllowed)
      return yield* tooFast(key, Math.ceil((budget.ends_at - (yield* Clock.currentTimeMillis)) / 1000))
  })
