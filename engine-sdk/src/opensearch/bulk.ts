/** Changes of documents, many in one request. Each is applied only if the document is still at the revision read. */
import { stringifyJson } from "../documents/json.ts"
import { type EngineError, ok, type Result } from "../errors.ts"
import type { ClusterClient } from "./client.ts"
import { errorOf } from "./client.ts"
import { storedId, type Placement } from "./placement.ts"
import type { Revision } from "./record.ts"

export interface Change {
  readonly id: string
  /** The revision that was read; undefined: it did not exist. */ readonly before: Revision | undefined
  /** The form to store; undefined: delete it. */ readonly form: Record<string, unknown> | undefined
}
interface BulkItem {
  readonly status: number
  readonly _seq_no?: number
  readonly error?: { readonly type?: string; readonly reason?: string }
}
interface BulkAnswer {
  readonly items: ReadonlyArray<Readonly<Record<string, BulkItem>>>
}

const linesOf = (placement: Placement, { id, before, form }: Change): string => {
  const condition = before === undefined ? {} : { if_seq_no: before._seq_no, if_primary_term: before._primary_term }
  const target = { _id: storedId(placement, id), routing: placement.key, ...condition }
  if (form === undefined) return `${JSON.stringify({ delete: target })}\n`
  const action = before === undefined ? { create: target } : { index: target }
  return `${JSON.stringify(action)}\n${stringifyJson(form)}\n`
}
export interface Sent {
  /** undefined if it was applied, Conflict if another writer was faster. */ readonly error: EngineError | undefined
  /** The cluster's sequence number of the applied change. */ readonly change: number
}
/** Returns one result per change, in order. */
export const sendChanges = async (
  client: ClusterClient,
  placement: Placement,
  changes: ReadonlyArray<Change>
): Promise<Result<ReadonlyArray<Sent>>> => {
  if (changes.length === 0) return ok([])
  const sent = await client.ask<BulkAnswer>({
    method: "POST",
    path: `/${placement.index}/_bulk`,
    body: changes.map((change) => linesOf(placement, change)).join(""),
    isRepeatable: false
  })
  if (!sent.ok) return sent
  return ok(
    sent.value.items.map((item) => {
      const [{ status, error, _seq_no: change = -1 }] = Object.values(item)
      // Deleting a document that no longer exists is a success.
      return error === undefined || status === 404
        ? { error: undefined, change }
        : { error: errorOf(status, error.type ?? "", error.reason ?? ""), change }
    })
  )
}
