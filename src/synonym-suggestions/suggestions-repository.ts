/** Rows of synonym suggestions. One function per statement; organization and collection are part of each. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { SynonymSuggestion } from "./schema.ts"

export interface StoredSuggestion extends SynonymSuggestion {
  readonly score: number
  readonly synonym_set: string | null
}
/** Limit of returned suggestions, and of stored suggestions with a decision. */
const ROWS_MAX = 1_000

export const makeSuggestionsRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const columns = sql.literal(
    "id, term, synonyms, evidence, score, status, synonym_set, created_at::float8 AS created_at"
  )
  const of = (organizationId: string, collection: string) =>
    sql`organization_id = ${organizationId} AND collection = ${collection}`
  return {
    /** Serializes changes of a collection's suggestions. */
    lock: (organizationId: string, collection: string) =>
      sql`SELECT pg_advisory_xact_lock(hashtextextended(${`synonym suggestions of ${organizationId}/${collection}`}, 0))`,
    list: (organizationId: string, collection: string) =>
      sql<StoredSuggestion>`SELECT ${columns} FROM synonym_suggestions WHERE ${of(organizationId, collection)} ORDER BY score DESC, id LIMIT ${ROWS_MAX}::int4`,
    get: (organizationId: string, collection: string, id: string) =>
      Effect.map(
        sql<StoredSuggestion>`SELECT ${columns} FROM synonym_suggestions WHERE ${of(organizationId, collection)} AND id = ${id}`,
        ([row]) => row
      ),
    /** Returns nothing if a decision was made before. */
    decide: (
      organizationId: string,
      collection: string,
      id: string,
      status: "accepted" | "rejected",
      set: string | null
    ) =>
      Effect.map(
        sql<StoredSuggestion>`UPDATE synonym_suggestions SET status = ${status}, synonym_set = ${set} WHERE ${of(organizationId, collection)} AND id = ${id} AND status = 'new' RETURNING ${columns}`,
        ([row]) => row
      ),
    /** Reverts a decision that could not be carried out. */
    undecide: (organizationId: string, collection: string, id: string) =>
      sql`UPDATE synonym_suggestions SET status = 'new', synonym_set = NULL WHERE ${of(organizationId, collection)} AND id = ${id}`,
    /** Replaces the undecided suggestions; those that recur keep their time. */
    replaceNew: Effect.fnUntraced(function* (
      organizationId: string,
      collection: string,
      rows: ReadonlyArray<Pick<StoredSuggestion, "id" | "term" | "synonyms" | "evidence" | "score" | "created_at">>
    ) {
      const text = JSON.stringify(rows)
      const ids = JSON.stringify(rows.map(({ id }) => id))
      yield* sql`DELETE FROM synonym_suggestions WHERE ${of(organizationId, collection)} AND status = 'new' AND id NOT IN (SELECT json_array_elements_text(${ids}::text::json))`
      yield* sql`INSERT INTO synonym_suggestions (organization_id, collection, id, term, synonyms, evidence, score, status, created_at)
        SELECT ${organizationId}, ${collection}, r.id, r.term, r.synonyms, r.evidence, r.score, 'new', r.created_at FROM json_to_recordset(${text}::text::json) AS r(
          id text, term text, synonyms json, evidence json, score float8, created_at int8)
        ON CONFLICT (organization_id, collection, id) DO UPDATE SET evidence = EXCLUDED.evidence, synonyms = EXCLUDED.synonyms, score = EXCLUDED.score
          WHERE synonym_suggestions.status = 'new'`
      yield* sql`DELETE FROM synonym_suggestions WHERE ${of(organizationId, collection)} AND status <> 'new' AND id NOT IN (
        SELECT id FROM synonym_suggestions WHERE ${of(organizationId, collection)} AND status <> 'new' ORDER BY created_at DESC, id LIMIT ${ROWS_MAX}::int4)`
    }),
    remove: (organizationId: string, collection: string) =>
      sql`DELETE FROM synonym_suggestions WHERE ${of(organizationId, collection)}`
  }
})
