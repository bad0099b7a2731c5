/**
 * Applies one batch of one collection: reads the known state of its documents, decides the changes, writes them to
 * the engine, and then in one transaction stores all results and the offset. The engine comes first: after a crash in
 * between, the batch is applied again with the same result, and its results are recorded once.
 *
 * The engine and the transaction take about the same time, on different processors: while one batch is recorded, the
 * next one of its queue is written, based on the state that the first will have left. Together with cheaper
 * statements (`Kinds`, no check of each row, no index of times) that brought one collection from 13,300 to 21,000
 * documents/s, where an import of the same documents, without a journal, reaches 38,000-40,000 on the same two cores
 * (`npm run bench -- pushes`).
 */
import { Identifiers } from "@dowser/log/identifiers"
import { Clock, Effect, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { type Change, makeWriteChanges, RETRY_AFTER_MS } from "../../engine-plane/write-changes.ts"
import { makePushedJobs } from "../../jobs/pushed-jobs.ts"
import { makeApplyingRepository, type PushProgress } from "./applying-repository.ts"
import { type KnownDocument, makeDocumentsRepository } from "./documents-repository.ts"
import { makeClaims } from "./claims.ts"
import { type Arrived, decide, type Decided, decideFailed, documentKey, type DocumentVersion } from "./decide.ts"
import type { Entry, Line } from "./lines.ts"
import { arrivedOf, type Outcome, outcomeOf, type Part } from "./outcome.ts"

/** Another process has claimed a partition of the batch. */
export class ClaimLost extends Schema.TaggedError<ClaimLost>()("ClaimLost", { message: Schema.String }) {}

interface Batch {
  readonly line: Line
  readonly entries: ReadonlyArray<Entry>
  /** The readable records, in order. */ readonly parts: ReadonlyArray<Part>
  /** Documents as the previous batch, which is still being recorded, leaves them. */
  readonly before: KnownDocuments | undefined
}
/** By `documentKey`. */
export type KnownDocuments = ReadonlyMap<string, DocumentVersion>
/** A batch that the engine has written, or has permanently refused. */
export interface Recording {
  /** The known state of its documents afterwards. */ readonly known: KnownDocuments
  readonly record: Effect.Effect<void, ClaimLost | SqlError.SqlError>
}
export interface Place {
  /** This process, as named in its claims. */ readonly process: string
  /** By partition of the batch: where reading continues. */ readonly offsets: () => ReadonlyArray<
    readonly [partition: number, next: number]
  >
}
/** Context of a batch. */
interface BatchContext {
  readonly at: number
  /** Prefix of its journal ids. */ readonly base: string
  /** The known state before it. */ readonly known: KnownDocuments
}
const changeOf = ({ change }: Arrived): Change =>
  change.op === "delete" ? { op: "delete", id: change.external_id } : { op: "upsert", document: change.document! }
const stepOf =
  (failures: ReadonlyMap<string, string>) =>
  ({ applied, done, failed, ignored, job_id, records }: PushProgress) => ({
    id: job_id,
    progress: done / records,
    result: { applied, ignored, failed },
    // A push that failed in part ends as ready; its journal shows the failures.
    error: failed > 0 && applied + ignored === 0 ? (failures.get(job_id) ?? "All of its changes failed.") : undefined
  })

export const makeApplyBatch = Effect.gen(function* () {
  const claims = yield* makeClaims
  const identifiers = yield* Identifiers
  const jobs = yield* makePushedJobs
  const repository = yield* makeApplyingRepository
  const store = yield* makeDocumentsRepository
  const sql = yield* SqlClient.SqlClient
  const write = yield* makeWriteChanges

  /** Inserts new documents and renews known ones separately, because an insert costs half as much as a renewal. */
  const keep = Effect.fnUntraced(function* (
    documents: ReadonlyArray<KnownDocument>,
    before: KnownDocuments,
    at: number
  ) {
    const isKnown = ({ connectorId, externalId }: KnownDocument) => before.has(documentKey(connectorId, externalId))
    const known = documents.filter(isKnown)
    const fresh = documents.filter((one) => !isKnown(one))
    if (fresh.length > 0) yield* store.add(fresh, at)
    // The row of an old deletion may have expired just now.
    if (known.length > 0 && (yield* store.renew(known, at)) < known.length) yield* store.restore(known, at)
  })
  const record = Effect.fnUntraced(function* (
    { offsets, process }: Place,
    found: Outcome,
    { at, base, known }: BatchContext
  ) {
    const next = offsets()
    if (
      !(yield* claims.hold(
        process,
        next.map(([partition]) => partition).sort((a, b) => a - b)
      ))
    )
      return yield* new ClaimLost({ message: "Another process applies this partition." })
    // Nothing is recorded for a connector that was deleted in the meantime.
    const living = yield* repository.living([...found.states.keys()])
    const documents = found.documents.filter(({ connectorId }) => living.has(connectorId))
    const entries = found.entries.filter(({ connectorId }) => living.has(connectorId))
    const states = [...found.states].filter(([id]) => living.has(id))
    yield* keep(documents, known, at)
    if (entries.length > 0) yield* repository.note(entries, { at, base })
    if (states.length > 0) yield* repository.state(states, at)
    if (found.pushes.length > 0) {
      const moved = yield* repository.count(found.pushes)
      if (moved.length > 0) yield* jobs.move(moved.map(stepOf(found.failures)), at)
    }
    yield* claims.move(process, next)
  })

  /**
   * Writes the batch to the engine. Returns the remaining step, to be called once the previous batch is recorded:
   * either record this one, or write it again after the given milliseconds.
   */
  return Effect.fnUntraced(function* ({ before, entries, line, parts: given }: Batch) {
    const living = yield* repository.living([...new Set(given.map(({ push }) => push.connector_id))])
    const parts = given.filter(({ push }) => living.has(push.connector_id))
    const arrived = arrivedOf(parts)
    const stored = yield* store.known(
      arrived.map(({ change, connectorId }) => ({ connectorId, externalId: change.external_id }))
    )
    const known = before === undefined ? stored : new Map([...stored, ...before])
    const decided = decide(arrived, known)
    const writes = arrived.filter((_, i) => decided.fates[i] === "write")
    const written = yield* write(entries[0]!.organizationId, entries[0]!.collection, writes.map(changeOf))
    const batch: BatchContext = { at: yield* Clock.currentTimeMillis, base: yield* identifiers.make("cje"), known }
    return (place: Place): Recording | number => {
      const attempts = line.failures + 1
      const as = (decided: Decided, refusals: ReadonlyArray<string | undefined>): Recording => ({
        known: decided.known,
        record: sql.withTransaction(record(place, outcomeOf(parts, arrived, decided, refusals, attempts), batch))
      })
      if (written.kind === "written") return as(decided, written.refusals)
      const after_ms = RETRY_AFTER_MS[line.failures++]
      if (after_ms !== undefined) return Math.max(after_ms, written.after_s * 1_000)
      const refusals = writes.map(() => written.reason)
      return as(decideFailed(arrived, decided, known), refusals)
    }
  })
})
