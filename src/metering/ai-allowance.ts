/**
 * How many units of AI operations a session may use with search keys per clock hour, from the plan. Full keys are
 * exempt, because they are the owner's own.
 *
 * Bound: 100,000 sessions in memory; beyond it the oldest session is evicted and begins its hour again. A session's
 * name is a hash, so that its length is bounded too.
 */
import { createHash } from "node:crypto"
import { Clock, Context, Effect, Layer } from "effect"
import type { Caller } from "../identity/caller.ts"
import { Counters } from "../ports/counter/counter.ts"
import { SessionRequired } from "../http/errors.ts"
import { Entitlements } from "./entitlements.ts"
import { AllowanceExhausted, type LimitsUnavailable, limitsUnavailable } from "./errors.ts"
import { hourOf } from "./period.ts"
import { capOf } from "./plans.ts"

const SESSIONS_MAX = 100_000
const CREDIT_MAX = 20

export class AiAllowance extends Context.Service<
  AiAllowance,
  {
    /**
     * Takes units of the caller's session, all or none. 400 without a session, 429 with `retry_after` if they are used
     * up.
     */
    readonly take: (
      caller: Pick<Caller, "organizationId" | "scope" | "sessionId">,
      units: number
    ) => Effect.Effect<void, AllowanceExhausted | LimitsUnavailable | SessionRequired>
  }
>()("dowser/metering/AiAllowance") {
  static readonly layer: Layer.Layer<AiAllowance, never, Counters | Entitlements> = Layer.effect(
    AiAllowance,
    Effect.gen(function* () {
      const entitlements = yield* Entitlements
      const clock = yield* Clock.Clock
      const counter = yield* (yield* Counters).open({
        kind: "ai_session",
        isDurable: false,
        entriesMax: SESSIONS_MAX,
        creditMax: CREDIT_MAX,
        kept_ms: 60_000
      })
      return AiAllowance.of({
        take: Effect.fnUntraced(function* ({ organizationId, scope, sessionId }, units) {
          if (scope === "full") return
          if (sessionId === undefined || sessionId === "")
            return yield* new SessionRequired({
              message: "Send `X-SVC-SESSION-ID` with AI operations of a search key."
            })
          const limit = capOf(entitlements.of(organizationId).plan, "ai_units_per_session_hour")
          if (limit === Infinity) return
          const now = clock.currentTimeMillisUnsafe()
          const hour = hourOf(now)
          const budget = {
            name: createHash("sha256").update(`${organizationId}\0${sessionId}`).digest("base64url"),
            limit,
            ...hour
          }
          const taken =
            counter.take(budget, units) ?? (yield* Effect.mapError(counter.ask(budget, units), limitsUnavailable))
          if (taken.isAllowed) return
          const retry_after = Math.ceil((hour.ends_at - now) / 1000)
          return yield* new AllowanceExhausted({
            message: "The AI allowance of this session is used up.",
            retry_after,
            retry_after_s: retry_after
          })
        })
      })
    })
  )
}
