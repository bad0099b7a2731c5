/** Stores refused entries of `POST /events` as rows, each once: the offset moves in the same transaction. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { type KeptRejection, REJECTIONS_SCHEMA_VERSION, type RejectionsPayload } from "@dowser/log/rejection"
import { ulid } from "@dowser/log/identifiers"
import { OK } from "../../processor/outcome.ts"
import type { ErasedRows, Keeper } from "../../processor/erasing.ts"
import { removePages, ROWS_PER_PAGE } from "../../erasure/rows.ts"
import { listed, type Place, type Processor } from "../../processor/processor.ts"
import { BEHAVIOUR_REJECTED } from "@dowser/log/topics"

interface Rejected {
  readonly organizationId: string
  readonly rejection: KeptRejection
  readonly at: number
}
interface Row {
  readonly id: string
  readonly organizationId: string
  readonly rejection: KeptRejection
  readonly at: number
}

/**
 * Derived only from the entry's position, so that stepping it again yields the same id: a ULID whose random part is the
 * position.
 */
const idOf = ({ index, offset }: Place, at: number): string => {
  const place = new DataView(new ArrayBuffer(10))
  place.setBigUint64(0, BigInt(offset))
  place.setUint16(8, index)
  return `rej_${ulid(at, new Uint8Array(place.buffer))}`
}

const ROWS_PER_STATEMENT = 1_000
const write = Effect.fnUntraced(function* (rows: ReadonlyArray<Row>) {
  const sql = yield* SqlClient.SqlClient
  for (let from = 0; from < rows.length; from += ROWS_PER_STATEMENT) {
    const some = rows.slice(from, from + ROWS_PER_STATEMENT)
    // Empty texts stand for nulls: the driver cannot infer the type of a list of nulls.
    yield* sql`INSERT INTO event_rejections (organization_id, id, collection, received_at, reason, entry, is_unreadable)
      SELECT organization_id, id, nullif(collection, ''), received_at::int8, reason, entry, is_unreadable FROM unnest(${some.map((row) => row.organizationId)}::text[], ${some.map((row) => row.id)}::text[],
        ${some.map((row) => row.rejection.collection ?? "")}::text[], ${some.map((row) => String(row.at))}::text[], ${some.map((row) => row.rejection.reason)}::text[],
        ${some.map((row) => row.rejection.entry)}::text[], ${some.map((row) => row.rejection.isUnreadable)}::bool[]) AS t (organization_id, id, collection, received_at, reason, entry, is_unreadable)
      ON CONFLICT DO NOTHING`
  }
})

/** Removes an erased person's refused entries. Returns the number of rows. */
const removeRows = Effect.fnUntraced(function* ({ erasedAt, isTheirs, organizationId }: ErasedRows) {
  const sql = yield* SqlClient.SqlClient
  const event_rejections = yield* removePages(
    (after) =>
      sql<{
        id: string
        entry: string
      }>`SELECT id, entry FROM event_rejections WHERE organization_id = ${organizationId} AND received_at <= ${String(erasedAt)}::text::int8 AND id > ${after} ORDER BY id LIMIT ${ROWS_PER_PAGE}::int4`,
    ({ id }) => id,
    (rows) => {
      const ids = rows.filter(({ entry }) => isTheirs(entry)).map(({ id }) => id)
      return ids.length === 0
        ? Effect.succeed(0)
        : Effect.map(
            sql`DELETE FROM event_rejections WHERE organization_id = ${organizationId} AND id = ANY(${ids}::text[]) RETURNING id`,
            (gone) => gone.length
          )
    }
  )
  return { event_rejections }
})

export const rejections: Processor<Rejected, undefined, Array<Row>> & Keeper = {
  name: "rejections",
  inputs: [BEHAVIOUR_REJECTED],
  entriesOf: (topic, { occurred_at, organization_id, payload, schema_version }) => {
    if (schema_version !== REJECTIONS_SCHEMA_VERSION)
      throw new TypeError(`schema version ${schema_version} of ${topic} is not known`)
    return listed(
      (payload as RejectionsPayload).rejections.map((rejection) =>
        rejection === null
          ? undefined
          : { key: organization_id, body: { organizationId: organization_id, rejection, at: occurred_at } }
      )
    )
  },
  open: () => undefined,
  step: (_state, { at, organizationId, rejection }, place, emitted) => {
    emitted.push({ id: idOf(place, at), organizationId, rejection, at })
    return OK
  },
  newEmitted: () => [],
  sizeOf: (emitted) => emitted.length,
  write,
  snapshot: () => ({ writes: [], stored: () => {} }),
  erasing: { outcome: "removed", removeRows }
}
