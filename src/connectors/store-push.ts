/**
 * Stores a push durably: first its job and its signature, in one transaction, so that a push in the log always has
 * both; then the push itself in the log; then a mark in the row. If the process fails in between, it has not responded:
 * the repeated push finds the row without its mark, waits until no process can still be working on it, and is stored as
 * a new one.
 */
import { stringifyJson } from "@dowser/engine-sdk/documents"
import { EventLog } from "@dowser/log/event-log/event-log"
import { Identifiers } from "@dowser/log/identifiers"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Installation } from "../installation.ts"
import { makePushedJobs } from "../jobs/pushed-jobs.ts"
import type { StoredConnector } from "./connectors-repository.ts"
import { PushesUnavailable } from "./errors.ts"
import { makePushesRepository } from "./pushes-repository.ts"
import { type PushedChange, pushedOf, recordsOf } from "./push.ts"
import type { PushRead } from "./read-push.ts"
import { mappingName } from "./reading.ts"
import type { PushAnswer } from "./schema.ts"

interface Sent {
  readonly connector: StoredConnector
  readonly signature: string
  readonly now: number
  /** Part of a pull, whose job covers all parts, so it gets no job of its own. */ readonly isPart?: boolean
}
/** A push is appended within this time, or its process has died. */
const STORING_MS = 30_000
const onItsWay = () =>
  new PushesUnavailable({ message: "The same push is on its way to be stored; send it again.", retry_after_s: 5 })
/** Limit of one document as JSON, so that it fits a message of the log. */
const DOCUMENT_BYTES_MAX = 500_000

/** The changes as written to the log, and the response. A document that is too large is rejected with its index. */
const accepted = ({ changes, received, rejected }: PushRead) => {
  const pushed: Array<PushedChange> = []
  const refused = rejected.map(({ index, reason }) => ({ index, reason }))
  for (const change of changes) {
    const one = pushedOf(change, stringifyJson)
    if (Buffer.byteLength(one.document ?? "") <= DOCUMENT_BYTES_MAX) pushed.push(one)
    else refused.push({ index: change.index, reason: `A document has at most ${DOCUMENT_BYTES_MAX} bytes` })
  }
  const deletes = pushed.reduce((n, { op }) => (op === "delete" ? n + 1 : n), 0)
  const counts = { received, upserts: pushed.length - deletes, deletes }
  return { pushed, counts: { ...counts, rejected: refused.sort((a, b) => a.index - b.index) } }
}

export const makeStorePush = Effect.gen(function* () {
  const identifiers = yield* Identifiers
  const jobs = yield* makePushedJobs
  const log = yield* EventLog
  const pushes = yield* makePushesRepository
  const sql = yield* SqlClient.SqlClient
  const { visitorPartitions: partitions } = yield* Installation

  /** Inserts the push and its job. Returns the existing response if another request inserted the push first. */
  const remember = Effect.fnUntraced(function* (
    { connector, isPart, now, signature }: Sent,
    answer: PushAnswer,
    n: number
  ) {
    if (!(yield* pushes.insert(connector.id, signature, answer, n, now)))
      return yield* pushes.known(connector.id, signature)
    if (isPart === true) return undefined
    const changes = answer.upserts + answer.deletes
    const config = { connector_id: connector.id, collection: connector.collection, changes }
    const job = { id: answer.job_id, organizationId: connector.organization_id, type: "catalog_push", config }
    yield* jobs.insert(job, now)
    const nothing = { applied: 0, ignored: 0, failed: 0 }
    if (n === 0) yield* jobs.move([{ id: answer.job_id, progress: 1, result: nothing }], now)
    return undefined
  })
  const forget = (jobId: string) =>
    Effect.flatMap(pushes.forget(jobId), (was) => (was ? Effect.asVoid(jobs.remove(jobId)) : Effect.void))
  /** The response to the push if it was stored before. */
  const before = Effect.fnUntraced(function* ({ connector, now, signature }: Sent) {
    const known = yield* Effect.orDie(pushes.known(connector.id, signature))
    if (known === undefined || known.is_stored) return known?.answer
    if (now - known.created_at < STORING_MS) return yield* onItsWay()
    yield* Effect.orDie(forget(known.answer.job_id))
    return undefined
  })

  const store = Effect.fnUntraced(function* (sent: Sent, read: PushRead) {
    const { connector, now } = sent
    const { counts, pushed } = accepted(read)
    const answer: PushAnswer = { ...counts, job_id: yield* identifiers.make("job") }
    const mapping = mappingName(connector)
    const push = {
      connector_id: connector.id,
      collection: connector.collection,
      job_id: answer.job_id,
      ...(mapping === undefined ? {} : { mapping })
    }
    const records = recordsOf(connector.organization_id, push, pushed, { now, partitions })
    const first = yield* Effect.orDie(sql.withTransaction(remember(sent, answer, records.length)))
    if (first !== undefined) return first.is_stored ? first.answer : yield* onItsWay()
    if (records.length === 0) return answer
    yield* Effect.onError(log.append(records), () => Effect.ignore(forget(answer.job_id)))
    yield* Effect.orDie(pushes.stored(answer.job_id))
    return answer
  })
  return { before, store }
})
