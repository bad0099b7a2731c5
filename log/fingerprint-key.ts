/**
 * The installation's secret for fingerprints of event ids, created once by migration 0010, the same in every process.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { fingerprintKeyFrom } from "./fingerprint.ts"

export const readFingerprintKey = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ value: Uint8Array }>`SELECT value FROM stream_settings WHERE name = 'fingerprint_key'`
  return fingerprintKeyFrom(row!.value)
})
