/** Outbound events exist exactly when their cause does: one row for each change, in the transaction of the change. */
import { it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { expect } from "vitest"
import { Access, NEVER_EXPIRES } from "../../../src/access/access.ts"
import { Organizations } from "../../../src/organizations/organizations.ts"
import { Configuration } from "../../../src/configuration/configuration.ts"
import { Seal } from "../../../src/access/seal.ts"
import { Outbox } from "../../../log/outbox.ts"
import { layerLeased } from "../../../src/ports/counter/leased-sql.ts"
import { Identifiers } from "../../../log/identifiers.ts"
import { layerTestSql } from "../../support/postgres.ts"

const layer = Layer.provideMerge(Access.layer, Organizations.layer).pipe(
  Layer.provideMerge(Outbox.layer),
  Layer.provideMerge(layerLeased({ isAlone: true })),
  Layer.provideMerge(
    Layer.provideMerge(
      Layer.mergeAll(Seal.layer(new Uint8Array(32).fill(7)), Configuration.layerEmbedded),
      Identifiers.layer
    )
  ),
  Layer.provideMerge(layerTestSql)
)
const newKey = (organization_id: string, description: string) => ({
  organization_id,
  scope: "search" as const,
  description,
  actions: ["documents:search"],
  collections: ["*"],
  isGateway: false,
  cidrs: [],
  origins: [],
  filter_by: {},
  rate_limit_per_minute: 600,
  expires_at: NEVER_EXPIRES
})

it.live("keys put api_key.created and api_key.revoked into the outbox, and a failing write puts nothing anywhere", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const access = yield* Access
    const { id: organizationId } = yield* (yield* Organizations).create("Outbox", "standard")
    const { key, value } = yield* access.createKey(newKey(organizationId, "one"))
    yield* access.revokeKey(organizationId, key.id)
    const rows = yield* sql<{
      event: string
      data: { key_id: string }
      organization_id: string
      delivery_id: string
    }>`SELECT event, data, organization_id, delivery_id FROM outbox ORDER BY id`
    expect(rows.map(({ event, organization_id }) => [event, organization_id])).toEqual([
      ["api_key.created", organizationId],
      ["api_key.revoked", organizationId]
    ])
    expect(rows.every(({ data, delivery_id }) => data.key_id === key.id && delivery_id.startsWith("dlv_"))).toBe(true)
    expect(JSON.stringify(rows)).not.toContain(value)

    // If the outbox cannot be written, the key must not exist either.
    yield* sql`ALTER TABLE outbox RENAME TO outbox_away`
    const failed = yield* Effect.exit(access.createKey(newKey(organizationId, "two")))
    expect(failed._tag).toBe("Failure")
    yield* sql`ALTER TABLE outbox_away RENAME TO outbox`
    expect(yield* sql`SELECT 1 FROM api_keys WHERE description = 'two'`).toEqual([])
    expect(access.listKeys(organizationId).map(({ description }) => description)).toEqual([])
  }).pipe(Effect.provide(layer), Effect.scoped)
)

it.live("an unreadable row, or one whose seal cannot be opened, disables that key only", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const access = yield* Access
    const { id } = yield* (yield* Organizations).create("Damaged", "standard")
    const [good, bad, unsealed] = [
      yield* access.createKey(newKey(id, "good")),
      yield* access.createKey(newKey(id, "bad")),
      yield* access.createKey(newKey(id, "unsealed"))
    ]
    yield* sql`UPDATE api_keys SET restrictions = '{"cidrs":7}' WHERE id = ${bad.key.id}`
    yield* sql`UPDATE api_keys SET sealed_digest = 'AAAA' WHERE id = ${unsealed.key.id}`
    const again = yield* Effect.provide(
      Access,
      Layer.fresh(Layer.provideMerge(Access.layer, Organizations.layer)).pipe(
        Layer.provide(Layer.fresh(Outbox.layer)),
        Layer.provide(Layer.mergeAll(Identifiers.layer, Seal.layer(new Uint8Array(32).fill(7))))
      )
    )
    const asked = (value: string) =>
      Effect.match(
        again.check({
          key: value,
          scope: "search",
          address: "127.0.0.1",
          origin: undefined,
          collection: undefined,
          sessionId: undefined,
          isRateFree: false,
          isGateway: false
        }),
        { onFailure: ({ _tag }) => _tag as string, onSuccess: ({ key }) => key.description }
      )
    expect([yield* asked(good.value), yield* asked(bad.value), yield* asked(unsealed.value)]).toEqual([
      "good",
      "Unauthorized",
      "unsealed"
    ])
  }).pipe(Effect.provide(layer), Effect.scoped)
)

it.live("keys are restored after a restart from what is stored, and no plaintext is stored", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const access = yield* Access
    const { id } = yield* (yield* Organizations).create("Stored", "standard")
    const { value } = yield* access.createKey(newKey(id, "kept"))
    const dump = JSON.stringify(yield* sql`SELECT to_jsonb(api_keys) AS row FROM api_keys`)
    expect(dump).not.toContain(value)
    expect(dump).not.toContain(value.slice(4, 40))
    // The same rows are read by a second program: the key still works.
    const again = yield* Effect.provide(
      Access,
      Layer.provideMerge(Access.layer, Organizations.layer).pipe(
        Layer.provide(Outbox.layer),
        Layer.provide(Layer.mergeAll(Identifiers.layer, Seal.layer(new Uint8Array(32).fill(7))))
      )
    )
    const caller = yield* again.check({
      key: value,
      scope: "search",
      address: "127.0.0.1",
      origin: undefined,
      collection: undefined,
      sessionId: undefined,
      isRateFree: false,
      isGateway: false
    })
    expect(caller.organizationId).toBe(id)
  }).pipe(Effect.provide(layer), Effect.scoped)
)
