/** Connectors, the responses to their creation and to pushes, the newest version of each document, and the journal. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const migrations = {
  "2026112420_connectors": Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`CREATE TABLE connectors (
      id text PRIMARY KEY,
      organization_id text NOT NULL REFERENCES organizations (id),
      name text NOT NULL,
      collection text NOT NULL,
      provider text NOT NULL,
      sync_mode text NOT NULL,
      mapping json,
      secrets jsonb NOT NULL,
      secret_preview text NOT NULL,
      enabled boolean NOT NULL,
      created_at bigint NOT NULL,
      updated_at bigint NOT NULL
    )`
    yield* sql`CREATE INDEX connectors_by_organization ON connectors (organization_id, id)`
    // Separate from the row that its owner writes, because it changes with every push.
    yield* sql`CREATE TABLE connector_states (
      connector_id text PRIMARY KEY REFERENCES connectors (id) ON DELETE CASCADE,
      last_sync_at bigint,
      last_error text
    )`
    yield* sql`CREATE TABLE connector_creations (
      organization_id text NOT NULL REFERENCES organizations (id),
      idempotency_key text NOT NULL,
      body_hash text NOT NULL,
      answer text NOT NULL,
      created_at bigint NOT NULL,
      PRIMARY KEY (organization_id, idempotency_key)
    )`
    yield* sql`CREATE INDEX connector_creations_by_age ON connector_creations (created_at)`
    yield* sql`CREATE TABLE connector_documents (
      connector_id text NOT NULL REFERENCES connectors (id) ON DELETE CASCADE,
      external_id text NOT NULL,
      version bigint,
      deleted boolean NOT NULL,
      log_partition int4 NOT NULL,
      log_offset bigint NOT NULL,
      log_index int4 NOT NULL,
      applied_at bigint NOT NULL,
      PRIMARY KEY (connector_id, external_id)
    )`
    yield* sql`CREATE INDEX connector_documents_deleted ON connector_documents (applied_at) WHERE deleted`
    yield* sql`CREATE TABLE connector_journal (
      connector_id text NOT NULL REFERENCES connectors (id) ON DELETE CASCADE,
      id text NOT NULL,
      external_id text NOT NULL,
      op text NOT NULL,
      version bigint,
      status text NOT NULL,
      mapping text,
      error text,
      attempts int4 NOT NULL,
      at bigint NOT NULL,
      PRIMARY KEY (connector_id, id)
    )`
    yield* sql`CREATE INDEX connector_journal_by_age ON connector_journal (at)`
    yield* sql`CREATE INDEX connector_journal_by_document ON connector_journal (connector_id, external_id, id)`
  }),
  "2026112421_connector_pushes": Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    // Pushes of one day by their signature, with their progress: `done` holds the numbers of applied records.
    yield* sql`CREATE TABLE connector_pushes (
      connector_id text NOT NULL REFERENCES connectors (id) ON DELETE CASCADE,
      signature text NOT NULL,
      job_id text NOT NULL UNIQUE,
      answer json NOT NULL,
      is_stored boolean NOT NULL,
      records int4 NOT NULL,
      done int4[] NOT NULL DEFAULT '{}',
      applied int4 NOT NULL DEFAULT 0,
      ignored int4 NOT NULL DEFAULT 0,
      failed int4 NOT NULL DEFAULT 0,
      created_at bigint NOT NULL,
      PRIMARY KEY (connector_id, signature)
    )`
    yield* sql`CREATE INDEX connector_pushes_waiting ON connector_pushes (created_at) WHERE is_stored AND cardinality(done) < records`
    yield* sql`CREATE INDEX connector_pushes_by_age ON connector_pushes (created_at)`
    yield* sql`CREATE TABLE catalog_apply_offsets (
      log_partition int4 PRIMARY KEY,
      next_offset bigint NOT NULL,
      claimed_by text,
      claimed_until timestamptz
    )`
  }),
  "2026112520_connector_pulls": Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`ALTER TABLE connectors ADD COLUMN schedule_cron text, ADD COLUMN pull_url text, ADD COLUMN pull_token text`
    // When the connector is pulled next, its job, and its progress: everything before `place` is stored as pushes;
    // `is_whole` means that all of it was applied.
    yield* sql`CREATE TABLE connector_pulls (
      connector_id text PRIMARY KEY REFERENCES connectors (id) ON DELETE CASCADE,
      next_run_at bigint,
      job_id text,
      started_at bigint,
      place json,
      is_whole boolean NOT NULL DEFAULT false
    )`
    yield* sql`CREATE INDEX connector_pulls_due ON connector_pulls (next_run_at) WHERE next_run_at IS NOT NULL`
    // The validators of a page that was read, and the page after it.
    yield* sql`CREATE TABLE connector_pull_pages (
      connector_id text NOT NULL REFERENCES connectors (id) ON DELETE CASCADE,
      url_hash text NOT NULL,
      etag text,
      last_modified text,
      next text,
      PRIMARY KEY (connector_id, url_hash)
    )`
    // Products that the running pull has found, if it deletes missing ones.
    yield* sql`CREATE TABLE connector_pull_seen (
      connector_id text NOT NULL REFERENCES connectors (id) ON DELETE CASCADE,
      external_id text NOT NULL,
      PRIMARY KEY (connector_id, external_id)
    )`
  }),
  "2026112620_connector_leftovers": Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    // A connector has millions of these rows. A foreign key would take two fifths of the cost of writing each, and a
    // cascade would delete all in one statement; instead the id is stored here, and the rows are swept later.
    for (const table of ["connector_documents", "connector_journal", "connector_pull_seen"])
      yield* sql`ALTER TABLE ${sql(table)} DROP CONSTRAINT ${sql(`${table}_connector_id_fkey`)}`
    yield* sql`CREATE TABLE connector_leftovers (connector_id text PRIMARY KEY)`
    // The ids of the entries contain their creation times.
    yield* sql`DROP INDEX connector_journal_by_age`
    // An index over `applied_at` required new entries in two indexes whenever a document was pushed again.
    yield* sql`DROP INDEX connector_documents_deleted`
    yield* sql`CREATE INDEX connector_documents_deleted ON connector_documents (connector_id, external_id) WHERE deleted`
    yield* sql`ALTER TABLE connector_documents SET (fillfactor = 80)`
    // Length of the journal, which is limited.
    yield* sql`ALTER TABLE connector_states ADD COLUMN journal_entries bigint NOT NULL DEFAULT 0`
    yield* sql`INSERT INTO connector_states AS s (connector_id, journal_entries) SELECT connector_id, count(*) FROM connector_journal GROUP BY 1
      ON CONFLICT (connector_id) DO UPDATE SET journal_entries = EXCLUDED.journal_entries`
    yield* sql`CREATE INDEX connector_states_long ON connector_states (journal_entries)`
  })
}
