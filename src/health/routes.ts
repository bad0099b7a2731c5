/** The health probe and the operator's status: both show the last result of `Health`. */
import { Effect } from "effect"
import { version } from "../config.ts"
import { implement } from "../api/implement.ts"
import * as contract from "./contract.ts"
import { Unhealthy } from "./errors.ts"
import { Health } from "./health.ts"

/** How long the engine's circuit breaker stays open. */
const RETRY_AFTER_S = 10

export const routes = Effect.gen(function* () {
  const health = yield* Health
  const probe = Effect.flatMap(health.latest, ({ findings, verdict }) =>
    verdict === "down"
      ? Effect.fail(
          new Unhealthy({ message: "Searches cannot be answered at the moment.", retry_after_s: RETRY_AFTER_S })
        )
      : // A 200 says that searches are answered (the reference engine's clients look at `ok` and the code); `status` says how well the rest works.
        Effect.succeed({
          ok: true,
          status: verdict,
          version,
          ...(verdict === "degraded" ? { degraded: findings.filter(({ ok }) => !ok).map(({ part }) => part) } : {})
        })
  )
  return [
    implement(contract.getHealth, () => probe),
    implement(contract.getHealthAlias, () => probe),
    implement(contract.getTenantHealth, () => probe),
    implement(contract.getStatus, () =>
      Effect.map(
        health.latest,
        ({ checked_at, circuits, findings, lag_ms, losses, partitions, rates, verdict, webhooks }) => ({
          status: verdict,
          version,
          checked_at,
          parts: findings.map(({ detail, ok, part }) => ({ name: part, ok, detail })),
          engine_circuits: circuits,
          ...losses,
          streams_lag_seconds: lag_ms === undefined ? null : lag_ms / 1_000,
          partitions: partitions.map(
            ({ deadLetters, dropped, entries, group, isReplaying, lag, lost, partition, restarts }) => ({
              group,
              partition,
              records_behind: lag,
              entries,
              dropped,
              dead_letters: deadLetters,
              restarts,
              records_lost: lost,
              is_replaying: isReplaying,
              entries_per_second: Math.round(10 * (rates.get(`${group}/${partition}`) ?? 0)) / 10
            })
          ),
          webhooks: webhooks ?? null
        })
      )
    )
  ]
})
