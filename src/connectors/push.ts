/** A message of `catalog.pushes.v1`: the changes of one push that belong to one partition. */
import { encodeRecord, openRecord } from "@dowser/log/record"
import { CATALOG_PUSHES } from "@dowser/log/topics"
import { partitionOfDocument } from "@dowser/log/routing"
import type { AppendRecord } from "@dowser/log/event-log/event-log"
import type { Change } from "./read-push.ts"

const SCHEMA_VERSION = 1
/** Approximate size of one record: brokers take messages of a megabyte, and readers hold complete records. */
const RECORD_BYTES_MAX = 500_000

export interface PushedChange {
  readonly external_id: string
  readonly op: "upsert" | "delete"
  readonly version?: number
  /** JSON of the document of an upsert. */ readonly document?: string
}
export interface Push {
  readonly connector_id: string
  readonly collection: string
  readonly job_id: string
  /** The number of this record within the push. */ readonly part: number
  readonly mapping?: string
  readonly changes: ReadonlyArray<PushedChange>
}
export interface PushRecord {
  readonly organizationId: string
  readonly push: Push
}

export const pushedOf = (
  { document, externalId, op, version }: Change,
  stringify: (value: unknown) => string
): PushedChange => ({
  external_id: externalId,
  op,
  ...(version === undefined ? {} : { version }),
  ...(document === undefined ? {} : { document: stringify(document) })
})
/**
 * All changes of a document go to one partition, in the order of the push; they are split if a record would become
 * too large.
 */
export const recordsOf = (
  organizationId: string,
  push: Omit<Push, "changes" | "part">,
  changes: ReadonlyArray<PushedChange>,
  { now, partitions }: { readonly now: number; readonly partitions: number }
): ReadonlyArray<AppendRecord> => {
  const open = new Map<number, { readonly changes: Array<PushedChange>; bytes: number }>()
  const parts: Array<readonly [partition: number, changes: ReadonlyArray<PushedChange>]> = []
  for (const change of changes) {
    const partition = partitionOfDocument(organizationId, push.collection, change.external_id, partitions)
    const bytes = change.external_id.length + (change.document?.length ?? 0)
    let own = open.get(partition)
    if (own === undefined || own.bytes + bytes > RECORD_BYTES_MAX) {
      open.set(partition, (own = { changes: [], bytes: 0 }))
      parts.push([partition, own.changes])
    }
    own.changes.push(change)
    own.bytes += bytes
  }
  return parts.map(([partition, own], part) => ({
    topic: CATALOG_PUSHES.name,
    partition,
    key: organizationId,
    value: encodeRecord({
      schema_version: SCHEMA_VERSION,
      organization_id: organizationId,
      occurred_at: now,
      payload: { ...push, part, changes: own } satisfies Push
    })
  }))
}
const isChange = (value: unknown): value is PushedChange => {
  const change = value as Partial<PushedChange> | null
  return (
    typeof change?.external_id === "string" &&
    (change.op === "delete" || (change.op === "upsert" && typeof change.document === "string")) &&
    (change.version === undefined || Number.isSafeInteger(change.version))
  )
}
/** Throws if the message is not a push. */
export const pushOf = (value: Uint8Array): PushRecord => {
  const { organization_id, payload, schema_version } = openRecord(value)
  if (schema_version !== SCHEMA_VERSION)
    throw new TypeError(`A push of schema version ${schema_version} cannot be read.`)
  const push = payload as Partial<Push> | null
  if (
    typeof push?.connector_id !== "string" ||
    typeof push.collection !== "string" ||
    typeof push.job_id !== "string" ||
    typeof push.part !== "number" ||
    !Array.isArray(push.changes) ||
    !push.changes.every(isChange)
  )
    throw new TypeError("The record is no push.")
  return { organizationId: organization_id, push: push as Push }
}
