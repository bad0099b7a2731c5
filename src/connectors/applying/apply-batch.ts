/**
 * One batch of one collection: what is known of its documents, what follows, the engine, and then one transaction with
 * everything that it leaves behind and the offset. The engine comes first: a crash in between applies the batch again,
 * to the same end, and what it leaves behind once.
 */
import { Identifiers } from "@dowser/log/identifiers"
import { Clock, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { type Change, makeWriteChanges, RETRY_AFTER_MS } from "../../engine-plane/write-changes.ts"
import { makePushedJobs } from "../../jobs/pushed-jobs.ts"
import { makeApplyingRepository, type PushProgress } from "./applying-repository.ts"
import { makeClaims } from "./claims.ts"
import { type Arrived, decide, decideFailed } from "./decide.ts"
import type { Entry, Line } from "./lines.ts"
import { arrivedOf, type Outcome, outcomeOf, type Part } from "./outcome.ts"

/** Another process has a partition of the batch. */
export class ClaimLost extends Schema.TaggedError<ClaimLost>()("ClaimLost", { message: Schema.String }) {}

interface Batch {
  readonly line: Line
  readonly entries: ReadonlyArray<Entry>
  /** Those that could be read, in order. */ readonly parts: ReadonlyArray<Part>
}
interface Place {
  /** This process, as its claims name it. */ readonly process: string
  /** Of each partition of the batch: where reading begins after it. */ readonly offsets: () => ReadonlyArray<
    readonly [partition: number, next: number]
  >
}
const changeOf = ({ change }: Arrived): Change =>
  change.op === "delete" ? { op: "delete", id: change.external_id } : { op: "upsert", document: change.document! }
const stepOf =
  (failures: ReadonlyMap<string, string>) =>
  ({ applied, done, failed, ignored, job_id, records }: PushProgress) => ({
    id: job_id,
    progress: done / records,
    result: { applied, ignored, failed },
    // One that failed in part is ready, and its journal says what failed.
    error: failed > 0 && applied + ignored === 0 ? (failures.get(job_id) ?? "All of its changes failed.") : undefined
  })

export const makeApplyBatch = Effect.gen(function* () {
  const claims = yield* makeClaims
  const identifiers = yield* Identifiers
  const jobs = yield* makePushedJobs
  const repository = yield* makeApplyingRepository
  const sql = yield* SqlClient.SqlClient
  const write = yield* makeWriteChanges

  const record = Effect.fnUntraced(function* ({ offsets, process }: Place, found: Outcome, at: number) {
    const next = offsets()
    if (
      !(yield* claims.hold(
        process,
        next.map(([partition]) => partition).sort((a, b) => a - b)
      ))
    )
      return yield* new ClaimLost({ message: "Another process applies this partition." })
    // A connector that was deleted meanwhile takes what it left with it.
    const living = yield* repository.living([...found.states.keys()])
    const documents = found.documents.filter(({ connectorId }) => living.has(connectorId))
    const entries = found.entries.filter(({ connectorId }) => living.has(connectorId))
    const states = [...found.states].filter(([id]) => living.has(id))
    if (documents.length > 0) yield* repository.keep(documents, at)
    if (entries.length > 0) yield* repository.note(entries, at)
    if (states.length > 0) yield* repository.state(states, at)
    if (found.pushes.length > 0) {
      const moved = yield* repository.count(found.pushes)
      if (moved.length > 0) yield* jobs.move(moved.map(stepOf(found.failures)), at)
    }
    yield* claims.move(process, next)
  })
  const recorded = (place: Place, found: Outcome, at: number) => sql.withTransaction(record(place, found, at))

  /** Milliseconds after which it is to be tried again; undefined: applied and recorded. */
  return Effect.fnUntraced(function* ({ entries, line, parts: given }: Batch, place: Place) {
    const living = yield* repository.living([...new Set(given.map(({ push }) => push.connector_id))])
    const parts = given.filter(({ push }) => living.has(push.connector_id))
    const arrived = arrivedOf(parts)
    const known = yield* repository.known(
      arrived.map(({ change, connectorId }) => ({ connectorId, externalId: change.external_id }))
    )
    const decided = decide(arrived, known)
    const writes = arrived.filter((_, i) => decided.fates[i] === "write")
    const written = yield* write(entries[0]!.organizationId, entries[0]!.collection, writes.map(changeOf))
    const at = yield* Clock.currentTimeMillis
    const told = { attempts: line.failures + 1, at, base: yield* identifiers.make("cje") }
    if (written.kind === "written") {
      yield* recorded(place, outcomeOf(parts, arrived, decided, written.refusals, told), at)
      return undefined
    }
    const after_ms = RETRY_AFTER_MS[line.failures++]
    if (after_ms !== undefined) return Math.max(after_ms, written.after_s * 1_000)
    const failed = decideFailed(arrived, decided, known)
    const refusals = writes.map(() => written.reason)
    yield* recorded(place, outcomeOf(parts, arrived, failed, refusals, told), at)
    return undefined
  })
})
