/**
 * Sends `quota.warning` at 80 % and `quota.exhausted` when the quota is used up, each once per organization and month,
 * whichever process is first.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Outbox } from "@dowser/log/outbox"
import type { Budget } from "../ports/counter/counter.ts"

const WARNING_SHARE = 0.8

type QuotaEvent = "quota.warning" | "quota.exhausted"

/** The event due at this use; undefined for none. Pure. */
const eventOf = ({ limit }: Pick<Budget, "limit">, used: number): QuotaEvent | undefined =>
  limit === Infinity || limit === 0 || used < WARNING_SHARE * limit
    ? undefined
    : used >= limit
      ? "quota.exhausted"
      : "quota.warning"

/** Returns the callback for every exchange with Postgres. `startOf`: returns the start of the present period. */
export const makeQuotaNotices = Effect.fnUntraced(function* (startOf: () => number) {
  const sql = yield* SqlClient.SqlClient
  const outbox = yield* Outbox
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  /** Organizations whose event of the period was sent or is being sent. */
  let notified = new Map<string, QuotaEvent>()
  let notifiedFrom = startOf()

  const notify = Effect.fnUntraced(function* (
    event: QuotaEvent,
    { ends_at, limit, name, started_at }: Budget,
    used: number
  ) {
    const first =
      yield* sql`INSERT INTO quota_notices (organization_id, period_at, event) VALUES (${name}, ${String(started_at)}::text::int8, ${event}) ON CONFLICT DO NOTHING RETURNING event`
    if (first.length > 0)
      yield* outbox.put(name, event, {
        limit,
        used: Math.max(used, 0),
        period_started_at: started_at,
        resets_at: ends_at
      })
  }, sql.withTransaction)

  return (budget: Budget, used: number): void => {
    const startedAt = startOf()
    if (startedAt !== notifiedFrom) {
      notified = new Map()
      notifiedFrom = startedAt
    }
    const event = budget.started_at === startedAt ? eventOf(budget, used) : undefined
    const before = notified.get(budget.name)
    if (event === undefined || before === "quota.exhausted" || before === event) return
    notified.set(budget.name, event)
    const sent =
      event === "quota.exhausted" && before === undefined
        ? Effect.andThen(notify("quota.warning", budget, used), notify(event, budget, used))
        : notify(event, budget, used)
    fork(
      Effect.catch(sent, (error) =>
        Effect.suspend(() => {
          // Retried with the next exchange.
          notified.delete(budget.name)
          return Effect.logWarning(`The event ${event} of ${budget.name} could not be stored; tried again`, error)
        })
      )
    )
  }
})
