/** What travels in `catalog.pushes.v1`: the changes of one push, or of the part of it that one partition has. */
import { encodeRecord, openRecord } from "@dowser/log/record"
import { CATALOG_PUSHES } from "@dowser/log/topics"
import { partitionOfDocument } from "@dowser/log/routing"
import type { AppendRecord } from "@dowser/log/event-log/event-log"
import type { Change } from "./read-push.ts"

const SCHEMA_VERSION = 1
export interface PushedChange {
  readonly external_id: string
  readonly op: "upsert" | "delete"
  readonly version?: number
  /** JSON of the document, of an upsert. */ readonly document?: string
}
export interface Push {
  readonly connector_id: string
  readonly collection: string
  readonly job_id: string
  readonly mapping?: string
  readonly changes: ReadonlyArray<PushedChange>
}
export interface PushRecord {
  readonly organizationId: string
  readonly push: Push
}

const pushedOf = (
  { document, externalId, op, version }: Change,
  stringify: (value: unknown) => string
): PushedChange => ({
  external_id: externalId,
  op,
  ...(version === undefined ? {} : { version }),
  ...(document === undefined ? {} : { document: stringify(document) })
})
/** Changes of one document always go to one partition, in the order in which they stand in the push. */
export const recordsOf = (
  organizationId: string,
  push: Omit<Push, "changes">,
  changes: ReadonlyArray<Change>,
  {
    now,
    partitions,
    stringify
  }: { readonly now: number; readonly partitions: number; readonly stringify: (value: unknown) => string }
): ReadonlyArray<AppendRecord> => {
  const byPartition = new Map<number, Array<PushedChange>>()
  for (const change of changes) {
    const partition = partitionOfDocument(organizationId, push.collection, change.externalId, partitions)
    const own = byPartition.get(partition)
    if (own === undefined) byPartition.set(partition, [pushedOf(change, stringify)])
    else own.push(pushedOf(change, stringify))
  }
  return [...byPartition].map(([partition, own]) => ({
    topic: CATALOG_PUSHES.name,
    partition,
    key: organizationId,
    value: encodeRecord({
      schema_version: SCHEMA_VERSION,
      organization_id: organizationId,
      occurred_at: now,
      payload: { ...push, changes: own }
    })
  }))
}
/** Throws on what is no push. */
export const pushOf = (value: Uint8Array): PushRecord => {
  const { organization_id, payload, schema_version } = openRecord(value)
  if (schema_version !== SCHEMA_VERSION)
    throw new TypeError(`A push of schema version ${schema_version} cannot be read.`)
  const push = payload as Push
  if (typeof push?.connector_id !== "string" || !Array.isArray(push.changes)) throw new TypeError("not a push")
  return { organizationId: organization_id, push }
}
