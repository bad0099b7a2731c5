/**
 * Budgets in Postgres, used from blocks in memory. A block grows with demand up to `HELD_MAX` and shrinks with the
 * remainder (an eighth, then single units). The next block is fetched before the previous one is used up, so that a
 * busy budget waits only for its first. A process that finds nothing left while others hold units recalls them: the
 * others return what they have not used, so the last unit can be used wherever it is needed, and not one more.
 *
 * All reports of a process about one kind go through one fiber, one numbered statement at a time, so a report is never
 * older than the previous one. If a statement gets no answer, its number is checked before the next one is sent, so
 * nothing is counted twice and nothing is lost.
 *
 * Bounds: `entriesMax` budgets in memory; 500 budgets per statement; a statement takes at most a second; a recall a
 * quarter of a second, or up to a second where statements are slow. While Postgres is unavailable a budget grants
 * `creditMax` units, reported afterwards; then it fails with `CounterUnavailable`.
 */
import { PgClient } from "@effect/sql-pg"
import { Cause, Clock, Effect, Layer, Queue } from "effect"
import { SqlClient } from "effect/sql"
import { Counters } from "./counter.ts"
import { makeLeased, type Shared } from "./leased/counter.ts"
import { makeMemoryCounter } from "./memory.ts"
import { Identifiers } from "@dowser/log/identifiers"

/** How long the statement numbers of dead processes are kept. */
const EXCHANGES_KEPT_MS = 7 * 86_400_000
const LISTEN_AGAIN_MS = 200
const channel = "dowser_counters"

interface LeasedOptions {
  /**
   * No other process uses this database: there are no units to recall, and every lease found at the start belongs to a
   * dead process.
   */
  readonly isAlone: boolean
}

/**
 * Passes other processes' messages to the budgets they name. Holds one connection; a lost message makes a recall wait
 * until its time-out.
 */
const listening = (process: string, { recalls }: Shared) =>
  Effect.flatMap(PgClient.PgClient, (pg) =>
    Effect.forever(
      Effect.andThen(
        Effect.catchCause(
          Effect.scoped(
            Effect.gen(function* () {
              const notices = yield* pg.listen(channel)
              for (;;)
                for (const { payload } of yield* Queue.takeAll(notices)) {
                  const [what, kind, name, from] = JSON.parse(payload ?? "[]") as ReadonlyArray<string>
                  const mine = from === process ? undefined : recalls.get(kind ?? "")
                  if (what === "recall") mine?.recall(name ?? "")
                  else mine?.returned(name ?? "")
                }
            })
          ),
          (cause) =>
            Cause.hasInterruptsOnly(cause)
              ? Effect.interrupt
              : Effect.logWarning("Limits: Postgres sends no more recalls; listening again", cause)
        ),
        Effect.sleep(LISTEN_AGAIN_MS)
      )
    )
  )

/** The volatile budgets of a sole process stay in memory. */
export const layerLeased = ({
  isAlone
}: LeasedOptions): Layer.Layer<Counters, never, Identifiers | PgClient.PgClient | SqlClient.SqlClient> =>
  Layer.effect(
    Counters,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const process = yield* (yield* Identifiers).make("ctr")
      const shared: Shared = { process, isAlone, recalls: new Map() }
      if (isAlone) yield* Effect.orDie(sql`DELETE FROM counter_leases`)
      else yield* Effect.forkScoped(listening(process, shared))
      return Counters.of({
        open: (options) =>
          isAlone && !options.isDurable
            ? Effect.succeed(makeMemoryCounter(options))
            : Effect.provideService(makeLeased(options, shared), SqlClient.SqlClient, sql)
      })
    })
  )

/** Removes windows that are no longer needed; returns how many. */
export const expireCounters = Effect.fnUntraced(function* (rowsMax: number) {
  const sql = yield* SqlClient.SqlClient
  const now = yield* Clock.currentTimeMillis
  const gone =
    yield* sql`WITH gone AS (DELETE FROM counter_windows WHERE (kind, name, started_at) IN (SELECT kind, name, started_at FROM counter_windows WHERE kept_until < ${String(now)}::text::int8 ORDER BY kept_until LIMIT ${rowsMax}::int4) RETURNING kind, name, started_at),
    leases AS (DELETE FROM counter_leases l USING gone g WHERE l.kind = g.kind AND l.name = g.name AND l.started_at = g.started_at)
    SELECT kind FROM gone`
  yield* sql`DELETE FROM counter_exchanges WHERE (process, kind) IN (SELECT process, kind FROM counter_exchanges WHERE at < ${String(now - EXCHANGES_KEPT_MS)}::text::int8 ORDER BY at LIMIT ${rowsMax}::int4)`
  return gone.length
})
