/** The results of a batch: journal entries, known versions, and counts of jobs. Pure. */
import { storableText } from "../../texts/storable-text.ts"
import type { Push } from "../push.ts"
import type { ConnectorOutcome, OwnEntry, PushCounts } from "./applying-repository.ts"
import type { KnownDocument } from "./documents-repository.ts"
import { type Arrived, type Decided, documentKey } from "./decide.ts"
import type { Entry } from "./lines.ts"

/** One record of the batch whose connector exists. */
export interface Part {
  readonly entry: Entry
  readonly push: Push
}
export interface Outcome {
  readonly entries: ReadonlyArray<OwnEntry>
  readonly documents: ReadonlyArray<KnownDocument>
  readonly pushes: ReadonlyArray<PushCounts>
  readonly states: ReadonlyMap<string, ConnectorOutcome>
  /** Why a push failed, by its job. */ readonly failures: ReadonlyMap<string, string>
}
const ERROR_CHARACTERS_MAX = 500
const OLDER = "Something newer was applied before."

export const arrivedOf = (parts: ReadonlyArray<Part>): ReadonlyArray<Arrived> =>
  parts.flatMap(({ entry: { offset, partition }, push }) =>
    push.changes.map((change, index) => ({
      connectorId: push.connector_id,
      change,
      place: { partition, offset, index }
    }))
  )

/** `refusals` has one entry for each change to be written, in order. */
export const outcomeOf = (
  parts: ReadonlyArray<Part>,
  arrived: ReadonlyArray<Arrived>,
  { fates, known }: Decided,
  refusals: ReadonlyArray<string | undefined>,
  attempts: number
): Outcome => {
  const entries: Array<OwnEntry> = []
  const pushes = new Map<string, { parts: Array<number>; applied: number; ignored: number; failed: number }>()
  const states = new Map<string, ConnectorOutcome>()
  const failures = new Map<string, string>()
  let i = 0,
    written = 0
  for (const { push } of parts) {
    const { connector_id, job_id, mapping } = push
    let counts = pushes.get(job_id)
    if (counts === undefined) pushes.set(job_id, (counts = { parts: [], applied: 0, ignored: 0, failed: 0 }))
    counts.parts.push(push.part)
    let state = states.get(connector_id)
    if (state === undefined) states.set(connector_id, (state = { error: "", entries: 0 }))
    for (const { external_id, op, version } of push.changes) {
      const fate = fates[i++]!
      if (fate === "skipped") continue
      const refusal = fate === "write" ? refusals[written++] : undefined
      const status = fate === "ignored" ? "ignored" : refusal === undefined ? "applied" : "failed"
      const error =
        fate === "ignored" ? OLDER : refusal === undefined ? undefined : storableText(refusal, ERROR_CHARACTERS_MAX)
      counts[status]++
      if (status === "failed") {
        state.error = error!
        failures.set(job_id, error!)
      }
      state.entries++
      entries.push({
        connectorId: connector_id,
        external_id,
        op,
        ...(version === undefined ? {} : { version }),
        status,
        ...(mapping === undefined ? {} : { mapping }),
        ...(error === undefined ? {} : { error }),
        attempts: fate === "ignored" ? 0 : attempts
      })
    }
  }
  const documents = new Map<string, Outcome["documents"][number]>()
  for (const { change, connectorId } of arrived) {
    const key = documentKey(connectorId, change.external_id)
    const now = known.get(key)
    if (now !== undefined) documents.set(key, { connectorId, externalId: change.external_id, known: now })
  }
  return {
    entries,
    documents: [...documents.values()],
    pushes: [...pushes].map(([jobId, counts]) => ({ jobId, ...counts })),
    states,
    failures
  }
}
