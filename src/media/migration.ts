/**
 * Media: a row for each asset, whose bytes are in the blob store under the name in `blob`; and an organization's totals
 * in one row, so that a plan's limit is checked without summing everything.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const media = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE media_assets (
    id text PRIMARY KEY,
    organization_id text NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    kind text NOT NULL,
    filename text,
    content_type text,
    size bigint,
    sha256 text,
    blob text,
    width int4,
    height int4,
    writing text,
    writing_until timestamptz,
    bytes_reserved bigint NOT NULL DEFAULT 0,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    expires_at bigint
  )`
  yield* sql`CREATE INDEX media_assets_of ON media_assets (organization_id, id)`
  yield* sql`CREATE UNIQUE INDEX media_assets_blob ON media_assets (blob) WHERE blob IS NOT NULL`
  yield* sql`CREATE UNIQUE INDEX media_assets_writing ON media_assets (writing) WHERE writing IS NOT NULL`
  yield* sql`CREATE INDEX media_assets_ending ON media_assets (expires_at) WHERE expires_at IS NOT NULL`
  yield* sql`CREATE TABLE media_usage (
    organization_id text PRIMARY KEY REFERENCES organizations (id) ON DELETE CASCADE,
    assets bigint NOT NULL,
    bytes bigint NOT NULL
  )`
})
