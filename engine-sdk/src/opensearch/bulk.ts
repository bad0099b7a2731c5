/** Changes of documents, many in one request; each is made only where the document is still as it was read. */
import { stringifyJson } from "../documents/json.ts"
import { type EngineError, ok, type Result } from "../errors.ts"
import type { ClusterClient } from "./client.ts"
import { errorOf } from "./client.ts"
import { storedId, type Placement } from "./placement.ts"
import type { Revision } from "./record.ts"

export interface Change {
  readonly id: string
  /** The revision that was read; undefined: there was none. */ readonly before: Revision | undefined
  /** The form to store; undefined: delete. */ readonly form: Record<string, unknown> | undefined
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
  /** undefined where it was made, Conflict where somebody else was faster. */ readonly error: EngineError | undefined
  /** The cluster's number of the change that was made. */ readonly change: number
}
/** One answer per change, in order. */
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
      // Deleting a document that is already gone is a success.
      return error === undefined || status === 404
        ? { error: undefined, change }
        : { error: errorOf(status, error.type ?? "", error.reason ?? ""), change }
    })
  )
}
