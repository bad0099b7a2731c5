/**
 * Keys are found by a hash of their digest. Earlier, the digest itself was stored, which signs secured keys: a copy of
 * the table could have signed them, although the digest next to it is sealed.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE api_keys SET lookup_hash = encode(sha256(convert_to('dowser look-up', 'UTF8') || decode(lookup_hash, 'hex')), 'hex')`
})
