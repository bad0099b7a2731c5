/**
 * Profiles with their drafts, and releases, which are immutable: the database itself refuses changes, and deletes a
 * release only after its profile. `collection_created_at` (Unix seconds) identifies the collection. Manifests are
 * read as a whole and never queried except for the policy that they name, so they are `json`, which keeps texts as
 * they were written.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const migrations = {
  "2026112320_search_profiles": Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE TABLE search_profiles (
      organization_id text NOT NULL REFERENCES organizations (id),
      collection text NOT NULL,
      name text NOT NULL,
      id text NOT NULL UNIQUE,
      collection_created_at bigint NOT NULL,
      is_default boolean NOT NULL,
      manifest json NOT NULL,
      revision int4 NOT NULL,
      active_release_id text,
      created_at bigint NOT NULL,
      updated_at bigint NOT NULL,
      bytes int4 NOT NULL GENERATED ALWAYS AS (octet_length(collection) + octet_length(name) + octet_length(manifest::text)) STORED,
      PRIMARY KEY (organization_id, collection, name)
    )`
    yield* sql`CREATE TABLE search_profile_releases (
      organization_id text NOT NULL,
      profile_id text NOT NULL REFERENCES search_profiles (id) ON DELETE CASCADE,
      version int4 NOT NULL,
      id text NOT NULL UNIQUE,
      manifest json NOT NULL,
      change_class text NOT NULL,
      note text NOT NULL,
      created_at bigint NOT NULL,
      created_by text NOT NULL,
      bytes int4 NOT NULL GENERATED ALWAYS AS (octet_length(note) + octet_length(manifest::text)) STORED,
      PRIMARY KEY (profile_id, version)
    )`
    yield* sql`CREATE INDEX search_profile_releases_bytes ON search_profile_releases (organization_id) INCLUDE (bytes)`
    yield* sql.unsafe(`CREATE FUNCTION refuse_release_change() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP = 'DELETE' AND TG_LEVEL = 'ROW' THEN
          IF NOT EXISTS (SELECT 1 FROM search_profiles WHERE id = OLD.profile_id) THEN RETURN OLD; END IF;
        END IF;
        RAISE EXCEPTION 'a release is never changed, and goes with its profile alone' USING ERRCODE = 'restrict_violation';
      END $$`)
    yield* sql.unsafe(
      "CREATE TRIGGER releases_are_immutable BEFORE UPDATE OR DELETE ON search_profile_releases FOR EACH ROW EXECUTE FUNCTION refuse_release_change()"
    )
    yield* sql.unsafe(
      "CREATE TRIGGER releases_are_kept BEFORE TRUNCATE ON search_profile_releases FOR EACH STATEMENT EXECUTE FUNCTION refuse_release_change()"
    )
  })
}
