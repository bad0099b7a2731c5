/** CMS installations: the desired configuration of each and what its module reports. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const installationsTable = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE cms_installations (
    id text PRIMARY KEY,
    organization_id text NOT NULL REFERENCES organizations (id),
    name text NOT NULL,
    provider text NOT NULL,
    environment text NOT NULL,
    origin text NOT NULL,
    desired_revision int4 NOT NULL DEFAULT 0,
    config json NOT NULL,
    revoked_at bigint,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
  )`
  yield* sql`CREATE INDEX cms_installations_by_organization ON cms_installations (organization_id, id)`
  // Separate from the row that its owner writes, because it changes with every call of the module.
  yield* sql`CREATE TABLE cms_reports (
    installation_id text PRIMARY KEY REFERENCES cms_installations (id) ON DELETE CASCADE,
    applied_revision int4 NOT NULL DEFAULT 0,
    discovery json,
    sync_health json,
    metadata json,
    unknown_fields int4 NOT NULL DEFAULT 0,
    last_error text,
    last_seen_at bigint,
    served_hash text
  )`
})
