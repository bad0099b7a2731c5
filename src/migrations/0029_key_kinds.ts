/** Keys of CMS installations, and keys that disappear when they expire. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE api_keys DROP CONSTRAINT api_keys_scope_check`
  yield* sql`ALTER TABLE api_keys ADD CONSTRAINT api_keys_scope_check CHECK (scope IN ('full', 'search', 'connector_write', 'installation'))`
  yield* sql`ALTER TABLE api_keys ADD COLUMN installation_id text, ADD COLUMN autodelete boolean NOT NULL DEFAULT false`
  yield* sql`ALTER TABLE api_keys ADD CONSTRAINT api_keys_installation_check CHECK ((scope = 'installation') = (installation_id IS NOT NULL))`
})
