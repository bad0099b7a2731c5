/**
 * Ids of conversations, `cnv_` and a ULID whose last 40 random bits identify the session that began it. So no other
 * session can continue it, in any process and whatever else is in the history's collection.
 */
import { createHmac, timingSafeEqual } from "node:crypto"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Identifiers } from "@dowser/log/identifiers"

const OURS = /^cnv_[0-9A-HJKMNP-TV-Z]{26}$/
const CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
const MARK = 8

/** The installation's secret for fingerprints, the same in every process. */
const readSecret = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ value: Uint8Array }>`SELECT value FROM stream_settings WHERE name = 'fingerprint_key'`
  return row!.value
})

export const makeConversationIds = Effect.gen(function* () {
  const identifiers = yield* Identifiers
  const secret = yield* Effect.orDie(readSecret)
  const markOf = (organizationId: string, sessionId: string | undefined, stem: string): string => {
    const owner = JSON.stringify(["conversation", organizationId, sessionId ?? null, stem])
    const digest = createHmac("sha256", secret).update(owner).digest()
    return Array.from({ length: MARK }, (_, i) => CROCKFORD[digest[i]! & 31]!).join("")
  }
  return {
    make: (organizationId: string, sessionId: string | undefined) =>
      Effect.map(identifiers.make("cnv"), (id) => {
        const stem = id.slice(0, -MARK)
        return stem + markOf(organizationId, sessionId, stem)
      }),
    isOurs: (id: string): boolean => OURS.test(id),
    /** Checks an id that we created. */
    isOf: (id: string, organizationId: string, sessionId: string | undefined): boolean =>
      timingSafeEqual(Buffer.from(id.slice(-MARK)), Buffer.from(markOf(organizationId, sessionId, id.slice(0, -MARK))))
  }
})
