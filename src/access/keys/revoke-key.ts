/** Revokes keys: a single one by id, that of a CMS installation, or all expired ones. */
import { Clock, Effect } from "effect"
import { stored } from "../../configuration/stored.ts"
import type { KeyRecord } from "../../identity/key-record.ts"
import { KeyNotFound } from "../errors.ts"
import type { KeyParts } from "./create-key.ts"

export const keyNotFound = () => new KeyNotFound({ message: "Not found." })

/** The row and its outbound event in one transaction. Fails with KeyNotFound if another process was faster. */
export const revoke = Effect.fnUntraced(function* ({ configuration, outbox, repository }: KeyParts, key: KeyRecord) {
  const { id, organization_id: organizationId } = key
  const at = yield* Clock.currentTimeMillis
  const effect = Effect.gen(function* () {
    if (!(yield* repository.revokeKey(id, at))) return yield* keyNotFound()
    yield* outbox.put(organizationId, "api_key.revoked", { key_id: id, scope: key.scope, description: key.description })
  })
  yield* stored(configuration.write({ kind: "api_key", organizationId, id }, effect))
  const revoked: KeyRecord = { ...key, revoked_at: at }
  return revoked
})

/** Revokes expired keys with `autodelete`; returns how many this process revoked. */
export const makeDeleteExpired = (parts: KeyParts) =>
  Effect.fn("Access.deleteExpired")(function* () {
    yield* parts.configuration.current
    const now_ms = yield* Clock.currentTimeMillis
    const expired = yield* stored(parts.repository.expired(Math.floor(now_ms / 1_000)))
    let deleted = 0
    for (const key of expired)
      if (
        yield* Effect.catch(Effect.as(revoke(parts, key), true), (error) =>
          error._tag === "KeyNotFound" ? Effect.succeed(false) : Effect.fail(error)
        )
      )
        deleted++
    return deleted
  })
