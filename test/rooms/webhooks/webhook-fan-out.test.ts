/**
 * One batch of the outbox with events of two organizations: each event reaches all endpoints of its own organization,
 * and no others.
 */
import { it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { expect } from "vitest"
import { Seal } from "../../../src/access/seal.ts"
import { Outbox } from "../../../log/outbox.ts"
import { Identifiers } from "../../../log/identifiers.ts"
import { layer as layerHttp } from "../../../src/ports/outbound-http/node.ts"
import { makeFanOut } from "../../../src/webhooks/fan-out.ts"
import { Webhooks } from "../../../src/webhooks/webhooks.ts"
import { layerTestSql } from "../../support/postgres.ts"

const stack = Layer.mergeAll(Webhooks.layer, Outbox.layer).pipe(
  Layer.provideMerge(
    Layer.mergeAll(
      Identifiers.layer,
      Seal.layer(new Uint8Array(32).fill(3)),
      layerHttp({ allowPrivateAddresses: true })
    )
  ),
  Layer.provideMerge(layerTestSql)
)

it.live("events of two organizations in one batch go to their own organization's endpoints only", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const webhooks = yield* Webhooks
    const outbox = yield* Outbox
    const made: Record<string, string> = {}
    for (const organization of ["org_one", "org_two", "org_three"]) {
      yield* sql`INSERT INTO organizations (id, name, status, plan, created_at) VALUES (${organization}, ${organization}, 'active', 'standard', 0)`
      for (const [name, events] of [
        ["all", ["*"]],
        ["some", ["media.uploaded"]]
      ] as const)
        made[`${organization} ${name}`] = (yield* webhooks.create(organization, {
          name,
          url: "http://127.0.0.1:9/",
          events,
          enabled: true
        })).id
    }
    // Alternating, so that neither organization is only at the start or end of the batch; the third one has no events.
    for (const [organization, event] of [
      ["org_one", "hosting.enabled"],
      ["org_two", "media.uploaded"],
      ["org_one", "media.uploaded"],
      ["org_two", "hosting.updated"]
    ] as const)
      yield* outbox.put(organization, event, { of: organization })
    const { endpointIds, taken } = yield* yield* makeFanOut
    expect(taken).toBe(4)
    const got = yield* sql<{
      readonly endpoint_id: string
      readonly organization_id: string
      readonly event: string
      readonly body: string
    }>`SELECT endpoint_id, organization_id, event, body FROM webhook_deliveries ORDER BY outbox_id`
    const of = (endpoint: string) =>
      got.filter(({ endpoint_id }) => endpoint_id === made[endpoint]).map(({ event }) => event)
    expect(Object.fromEntries(Object.keys(made).map((endpoint) => [endpoint, of(endpoint)]))).toEqual({
      "org_one all": ["hosting.enabled", "media.uploaded"],
      "org_one some": ["media.uploaded"],
      "org_two all": ["media.uploaded", "hosting.updated"],
      "org_two some": ["media.uploaded"],
      "org_three all": [],
      "org_three some": []
    })
    for (const { body, endpoint_id, organization_id } of got) {
      expect(made[`${organization_id} all`] === endpoint_id || made[`${organization_id} some`] === endpoint_id).toBe(
        true
      )
      expect(JSON.parse(body).data).toEqual({ of: organization_id })
    }
    expect([...endpointIds].sort()).toEqual(
      Object.entries(made)
        .flatMap(([endpoint, id]) => (endpoint.startsWith("org_three") ? [] : [id]))
        .sort()
    )
    expect((yield* yield* makeFanOut).taken).toBe(0)
  }).pipe(Effect.provide(stack))
)
