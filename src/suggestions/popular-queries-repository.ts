/** Reads the data of the popularity processor (streams/processors/popularity/write.ts). */
import { Effect, Stream } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { isCandidate, QUERIES_PER_COLLECTION_MAX, VISITORS_MIN } from "@dowser/streams/figures/candidate-queries"
import type { Completable } from "./typeahead/typeahead.ts"

interface Row {
  readonly q: string
  readonly searches: number
  readonly score: number
}
const itemOf = ({ q, score, searches }: Row): Completable => ({ label: q, score, count: searches })

/** 0 if it must not be shown: too few visitors, no use left, or mostly without results recently. */
const SCORE = `CASE WHEN visitors >= ${VISITORS_MIN} AND searches > 0 AND weight > zero_weight THEN weight + click_weight ELSE 0 END`

export const makePopularQueriesRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return {
    /**
     * All transactions before it have ended, so a later read shows everything they wrote. Get it first, then read; the
     * next read of changes starts here.
     */
    horizon: Effect.map(
      sql<{ horizon: string }>`SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS horizon`,
      ([row]) => row!.horizon
    ),
    /** Queries that may be shown, at most 100,000, best first. */
    all: (organizationId: string, collection: string): Effect.Effect<ReadonlyArray<Completable>, SqlError.SqlError> =>
      Effect.map(
        Stream.runCollect(
          sql.unsafe<Row>(
            `SELECT q, searches::float8 AS searches, ${SCORE} AS score FROM query_popularity
            WHERE organization_id = $1 AND collection = $2 AND is_known AND ${SCORE} > 0 ORDER BY score DESC, q LIMIT ${QUERIES_PER_COLLECTION_MAX}`,
            [organizationId, collection]
          ).stream
        ),
        // Older rows may contain texts that are no longer candidates.
        (rows) => rows.filter(({ q }) => isCandidate(q)).map(itemOf)
      ),
    /** Queries that have changed since; those that must not be shown any more have score 0. */
    changed: (
      organizationId: string,
      collection: string,
      horizon: string
    ): Effect.Effect<ReadonlyArray<Completable>, SqlError.SqlError> =>
      Effect.map(
        sql.unsafe<Row>(
          `SELECT q, searches::float8 AS searches, ${SCORE} AS score FROM query_popularity WHERE organization_id = $1 AND collection = $2 AND is_known AND changed >= $3::text::int8`,
          [organizationId, collection, horizon]
        ),
        (rows) => rows.filter(({ q }) => isCandidate(q)).map(itemOf)
      )
  }
})
