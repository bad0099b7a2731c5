/**
 * Scopes and sessions that no current room declares, on this test's own operations over the real routes and keys:
 * whatever later rooms only have to declare already works.
 */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Exit, Layer, Schema, Scope } from "effect"
import { HttpRouter } from "effect/http"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Access, NEVER_EXPIRES, type NewKey } from "../../src/access/access.ts"
import { OperatorAuth } from "../../src/identity/operator.ts"
import { ConsoleAuthenticator, KeyAuthenticator } from "../../src/identity/authenticators.ts"
import type { Reach } from "../../src/identity/reach.ts"
import { RequestFigures } from "../../src/http/request-figures.ts"
import { freePort } from "../../src/runtime/free-port.ts"
import { makeServer } from "../../src/http/edges.ts"
import { NotFound } from "../../src/http/errors.ts"
import { operation } from "../../src/http/operation.ts"
import { implement } from "../../src/api/implement.ts"
import { routesOf } from "../../src/api/route.ts"
import { type Program, startProgram, type Tenant } from "../support/program.ts"

const payload = Schema.Struct({ text: Schema.String })
const at = { group: "health", summary: "Of the test", description: "Of the test.", plane: "control" } as const
const ofOne = { example: { params: { collectionName: "products" } } } as const
const speak = operation({
  ...at,
  id: "speak",
  method: "POST",
  path: "/v1/t/ai/:resourceId",
  scope: "search",
  isAi: true,
  errors: [NotFound],
  payload,
  example: { params: { resourceId: "one" } }
})
const report = operation({
  ...at,
  id: "report",
  method: "POST",
  path: "/v1/t/runtime",
  scope: "installation",
  payload,
  example: {}
})
const push = operation({
  ...at,
  ...ofOne,
  id: "push",
  method: "POST",
  path: "/api/v1/t/:collectionName/documents",
  plane: "gateway",
  scope: "connector_write"
})
const look = operation({
  ...at,
  ...ofOne,
  id: "look",
  method: "POST",
  path: "/api/v1/t/:collectionName/search",
  plane: "gateway",
  scope: "search"
})
const turn = operation({
  ...at,
  id: "turn",
  method: "GET",
  path: "/v1/t/pages/:page",
  scope: "public",
  params: { page: Schema.FiniteFromString.check(Schema.isBetween({ minimum: 1, maximum: 9 })) },
  example: { params: { page: "3" } }
})

let program: Program
let tenant: Tenant
let base: string
let close: () => Promise<void>
const keys: Record<string, string> = {}
beforeAll(async () => {
  program = await startProgram()
  tenant = await program.tenant("Scopes")
  const access = await program.run(
    Effect.gen(function* () {
      return yield* Access
    })
  )
  // None of these operations belongs to the console.
  const people = {} as ConsoleAuthenticator["Service"]
  const port = await freePort()
  const scope = Effect.runSync(Scope.make())
  const routes = HttpRouter.addAll(
    routesOf(
      [
        implement(speak, ({ params, payload: body }) =>
          Effect.gen(function* () {
            if (params.resourceId === "gone") return yield* new NotFound({ message: "No such thing." })
            return { said: (yield* body).text }
          })
        ),
        implement(turn, ({ params }) => Effect.succeed({ next: params.page + 1 })),
        implement(report, ({ caller }) => Effect.succeed({ installation: caller.key.installation_id })),
        implement(push, ({ caller }) => Effect.succeed({ by: caller.key.scope })),
        implement(look, ({ caller }) => Effect.succeed({ filter: caller.embedded?.filter_by ?? null }))
      ],
      {
        reaches: new Map<string, Reach>([
          ["speak", "none"],
          ["report", "none"],
          ["push", "path"],
          ["look", "path"]
        ])
      }
    )
  )
  await Effect.runPromise(
    Layer.buildWithScope(
      HttpRouter.serve(routes, { disableLogger: true, disableListenLog: true }).pipe(
        Layer.provide(
          Layer.mergeAll(
            NodeHttpServer.layer(makeServer(), { host: "127.0.0.1", port }),
            RequestFigures.layer,
            Layer.succeed(KeyAuthenticator, access),
            Layer.succeed(ConsoleAuthenticator, people),
            OperatorAuth.layer("t")
          )
        )
      ),
      scope
    )
  )
  base = `http://127.0.0.1:${port}`
  close = () => Effect.runPromise(Scope.close(scope, Exit.void))
  const make = (more: Partial<NewKey>) =>
    Effect.runPromise(
      access.createKey({
        organization_id: tenant.organization_id,
        scope: "search",
        description: "s",
        actions: [],
        collections: ["*"],
        isGateway: true,
        cidrs: [],
        origins: [],
        filter_by: {},
        rate_limit_per_minute: 0,
        expires_at: NEVER_EXPIRES,
        ...more
      })
    )
  const search = await make({})
  keys.search = search.value
  keys.connector = (await make({ scope: "connector_write" })).value
  keys.installation = (await make({ scope: "installation", installation_id: "cms_7" })).value
  const token = (more: Record<string, unknown>) =>
    Effect.runPromise(
      access.mintScopedToken({
        organization_id: tenant.organization_id,
        key_id: search.key.id,
        index: "goods",
        scopedFilter: "shop:=a",
        expires_at: 9_999_999_999,
        ...more
      })
    )
  keys.token = await token({})
  keys["token, expired"] = await token({ expires_at: 1 })
  keys["token, of a connector"] = await token({ key_id: (await make({ scope: "connector_write" })).key.id })
  keys["token, forged"] = `${keys.token.slice(0, -4)}AAAA`
})
afterAll(async () => {
  await close()
  await program.stop()
})

const call = async (path: string, headers: Record<string, string>, body = '{"text":"hello"}') => {
  const response = await fetch(`${base}${path}`, { method: "POST", headers, body })
  return { status: response.status, body: (await response.json()) as any }
}
const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

describe("an AI operation", () => {
  it("needs a session of a search key: after the resource, before the body", async () => {
    const search = { "x-svc-api-key": tenant.search_key },
      session = { "x-svc-session-id": "s1" }
    expect((await call("/v1/t/ai/gone", search)).status).toBe(404)
    for (const body of ['{"text":"hello"}', "not json", "{}"]) {
      const refused = await call("/v1/t/ai/here", search, body)
      expect([refused.status, refused.body.message]).toEqual([400, "Header `X-SVC-SESSION-ID` is required."])
    }
    expect((await call("/v1/t/ai/here", { ...search, "x-svc-session-id": "" })).status).toBe(400)
    expect((await call("/v1/t/ai/here", { ...search, ...session })).body).toEqual({ said: "hello" })
    expect((await call("/v1/t/ai/here", { ...search, ...session }, "{}")).body.message).toBe("Input validation failed")
    expect((await call("/v1/t/ai/here", { "x-svc-api-key": tenant.full_key })).body).toEqual({ said: "hello" })
  })
})
describe("an installation's runtime", () => {
  it("accepts installations' keys as bearer tokens, and nothing else", async () => {
    expect((await call("/v1/t/runtime", bearer(keys.installation))).body).toEqual({ installation: "cms_7" })
    for (const key of [tenant.full_key, tenant.search_key, keys.search, keys.connector, keys.token])
      expect((await call("/v1/t/runtime", bearer(key))).status).toBe(401)
    expect((await call("/v1/t/runtime", { "x-svc-api-key": keys.installation })).status).toBe(401)
    expect((await call("/v1/t/ai/here", { "x-svc-api-key": keys.installation })).status).toBe(401)
  })
})
describe("the gateway", () => {
  const error = async (path: string, headers: Record<string, string>) => {
    const { body, status } = await call(path, headers)
    return [status, body.error ?? body.by ?? body.filter]
  }
  it("lets connectors write and searchers search", async () => {
    expect(await error("/api/v1/t/goods/documents", bearer(keys.connector))).toEqual([200, "connector_write"])
    expect(await error("/api/v1/t/goods/search", bearer(keys.connector))).toEqual([403, "scope_denied"])
    expect(await error("/api/v1/t/goods/search", bearer(keys.search))).toEqual([200, null])
    for (const key of [keys.search, keys.token])
      expect(await error("/api/v1/t/goods/documents", bearer(key))).toEqual([403, "scope_denied"])
    expect(await error("/api/v1/t/goods/search", {})).toEqual([401, "missing_bearer_token"])
    for (const headers of [bearer("ss_search_nobody"), bearer(keys.installation)])
      expect(await error("/api/v1/t/goods/search", headers)).toEqual([401, "invalid_or_revoked_key"])
    expect(await error("/api/v1/t/goods/search", { "x-svc-api-key": keys.search })).toEqual([
      401,
      "missing_bearer_token"
    ])
  })
  it("narrows a search key by a scoped token to one index and its filter", async () => {
    expect(await error("/api/v1/t/goods/search", bearer(keys.token))).toEqual([200, "shop:=a"])
    expect(await error("/api/v1/t/other/search", bearer(keys.token))).toEqual([403, "tenant_mismatch"])
    for (const name of ["token, expired", "token, forged", "token, of a connector"])
      expect([name, ...(await error("/api/v1/t/goods/search", bearer(keys[name])))]).toEqual([
        name,
        401,
        "invalid_or_expired_scoped_token"
      ])
  })
})

it("a parameter of the path is what its schema says, for the handler and in the refusal", async () => {
  const asked = async (page: string) => {
    const answer = await fetch(`${base}/v1/t/pages/${page}`)
    return [answer.status, await answer.json()] as const
  }
  expect(await asked("3")).toEqual([200, { next: 4 }])
  for (const page of ["0", "10"]) {
    const [status, body] = await asked(page)
    expect([status, body.data.issues.map(({ path }: { readonly path: string }) => path)]).toEqual([400, ["page"]])
  }
})
