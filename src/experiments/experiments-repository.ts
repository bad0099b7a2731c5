/** Rows of experiments. One function per statement. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Subject } from "../configuration/change.ts"
import type { Definition } from "./definition.ts"
import type { Place } from "./places.ts"
import type { STATUSES } from "./schema.ts"

/** The value that a promotion replaced, and the value it wrote. */
export interface Promotion {
  readonly variant_id: string
  /** The write was begun; the current value of the target shows whether it happened. */ readonly is_pending: boolean
  readonly place: Place
  readonly before: unknown
  readonly after: unknown
}

export interface StoredExperiment {
  readonly organization_id: string
  readonly id: string
  readonly definition: Definition
  readonly status: (typeof STATUSES)[number]
  /** 0 before the first start. */ readonly run: number
  /** Unix milliseconds of the latest run. */ readonly started_at: number | null
  readonly stopped_at: number | null
  readonly winner_variant_id: string | null
  readonly promotion: Promotion | null
  readonly created_at: number
  readonly updated_at: number
}
const first = <A>(rows: ReadonlyArray<A>): A | undefined => rows[0]
/** A definition larger than the limit is not read. */
const COLUMNS =
  "organization_id, id, CASE WHEN bytes > 16000000 THEN NULL ELSE definition END AS definition, status, run, started_at::float8 AS started_at, stopped_at::float8 AS stopped_at, winner_variant_id, promotion, created_at::float8 AS created_at, updated_at::float8 AS updated_at"

export const makeExperimentsRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const columns = sql.literal(COLUMNS)
  const time = (at: number | null) => sql`${at === null ? null : String(at)}::text::int8`
  return {
    /** The running experiments of the given subjects, or all. */
    readRunning: (subjects: ReadonlyArray<Subject> | "all") =>
      sql<StoredExperiment>`SELECT ${columns} FROM experiments WHERE status = 'running' AND ${
        subjects === "all"
          ? sql`true`
          : sql`(organization_id, id) IN (SELECT * FROM unnest(${subjects.map(({ organizationId }) => organizationId)}::text[], ${subjects.map(({ id }) => id)}::text[]))`
      } ORDER BY organization_id, id`,
    /** Blocks other starts of the organization until the transaction ends. */
    lockStarts: (organizationId: string) =>
      sql`SELECT pg_advisory_xact_lock(hashtextextended(${`experiments of ${organizationId}`}, 0))`,
    running: (organizationId: string) =>
      sql<StoredExperiment>`SELECT ${columns} FROM experiments WHERE organization_id = ${organizationId} AND status = 'running'`,
    get: (organizationId: string, id: string) =>
      Effect.map(
        sql<StoredExperiment>`SELECT ${columns} FROM experiments WHERE organization_id = ${organizationId} AND id = ${id}`,
        first
      ),
    /** Locks the row until the transaction ends. */
    lock: (organizationId: string, id: string) =>
      Effect.map(
        sql<StoredExperiment>`SELECT ${columns} FROM experiments WHERE organization_id = ${organizationId} AND id = ${id} FOR UPDATE`,
        first
      ),
    /** Ordered by id. `collections` are LIKE patterns, one of which must match; all if absent. */
    page: (
      organizationId: string,
      after: string | undefined,
      limit: number,
      collections: ReadonlyArray<string> | undefined
    ) => sql<StoredExperiment>`SELECT ${columns} FROM experiments WHERE organization_id = ${organizationId} AND (${after ?? null}::text IS NULL OR id > ${after ?? null})
        AND (${collections === undefined} OR collection LIKE ANY(${collections ?? []}::text[])) ORDER BY id LIMIT ${limit}::int4`,
    ofCollection: (organizationId: string, collection: string) =>
      Effect.map(
        sql<{
          id: string
        }>`SELECT id FROM experiments WHERE organization_id = ${organizationId} AND collection = ${collection}`,
        (rows) => rows.map(({ id }) => id)
      ),
    put: (one: StoredExperiment) =>
      sql`INSERT INTO experiments (organization_id, id, collection, definition, status, run, started_at, stopped_at, winner_variant_id, promotion, created_at, updated_at)
        VALUES (${one.organization_id}, ${one.id}, ${one.definition.collection}, ${JSON.stringify(one.definition)}::text::json, ${one.status}, ${one.run}::int4, ${time(one.started_at)}, ${time(one.stopped_at)},
          ${one.winner_variant_id}, ${one.promotion === null ? null : JSON.stringify(one.promotion)}::text::json, ${time(one.created_at)}, ${time(one.updated_at)})
        ON CONFLICT (organization_id, id) DO UPDATE SET collection = EXCLUDED.collection, definition = EXCLUDED.definition, status = EXCLUDED.status, run = EXCLUDED.run, started_at = EXCLUDED.started_at,
          stopped_at = EXCLUDED.stopped_at, winner_variant_id = EXCLUDED.winner_variant_id, promotion = EXCLUDED.promotion, updated_at = EXCLUDED.updated_at`,
    /** Removes the experiment and its runs. Their counts are removed later. */
    remove: (organizationId: string, id: string) =>
      sql`DELETE FROM experiments WHERE organization_id = ${organizationId} AND id = ${id}`
  }
})
