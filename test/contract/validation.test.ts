/** A body or a query with several errors gets all of them in one answer. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Program, startProgram, type Tenant } from "../support/program.ts"

let program: Program
let tenant: Tenant
beforeAll(async () => {
  program = await startProgram()
  tenant = await program.tenant("Wrong")
  expect(
    (
      await program.request("POST", "/v1/collections", {
        key: tenant.full_key,
        body: { name: "c", fields: [{ name: "t", type: "string" }] }
      })
    ).status
  ).toBe(201)
})
afterAll(() => program.stop())

const send = (method: string, path: string, body?: unknown) =>
  program.request(method, path, {
    key: tenant.full_key,
    headers: path.startsWith("/console") ? { authorization: `Bearer ${program.operatorToken}` } : {},
    ...(body === undefined ? {} : { body })
  })
const paths = (answer: Awaited<ReturnType<typeof send>>) => [
  answer.status,
  ...(answer.body.data?.issues ?? []).map(({ path }: { path: string }) => path).sort()
]

interface Described {
  readonly type?: string
  readonly properties?: Record<string, Described>
  readonly $ref?: string
  readonly enum?: ReadonlyArray<unknown>
  readonly allOf?: ReadonlyArray<Described>
}
interface Document {
  readonly paths: Record<
    string,
    Record<
      string,
      {
        readonly operationId: string
        readonly parameters?: ReadonlyArray<{ name: string; in: string }>
        readonly requestBody?: { readonly content: Record<string, { readonly schema: Described }> }
      }
    >
  >
  readonly components: { readonly schemas: Record<string, Described> }
}
const resolved = (document: Document, schema: Described): Described =>
  schema.$ref === undefined ? schema : resolved(document, document.components.schemas[schema.$ref.split("/").pop()!]!)

describe("every invalid field is named at once", () => {
  it("in the bodies of all operations that have a schema of fields", async () => {
    const document = (await program.request("GET", "/v1/openapi.json")).body as Document
    const judged: Array<string> = []
    for (const [path, methods] of Object.entries(document.paths))
      for (const [method, { operationId, requestBody }] of Object.entries(methods)) {
        const content = requestBody?.content["application/json"]
        if (content === undefined) continue
        const { properties } = resolved(document, content.schema)
        if (properties === undefined || Object.keys(properties).length < 2) continue
        const wrong = Object.fromEntries(
          Object.entries(properties).map(([name, schema]) => [
            name,
            resolved(document, schema).type === "string" ? 5 : "wrong"
          ])
        )
        const at = path
          .replace("{organizationId}", tenant.organization_id)
          .replace("{collectionName}", "c")
          .replace("{port}", "text_embedder")
          .replaceAll(/\{\w+\}/g, "x")
        const answer = await send(method.toUpperCase(), at, wrong)
        // The engine's messages name one thing; a missing resource is reported before the body is validated.
        if (answer.status !== 400 || answer.body.data?.issues === undefined) continue
        // A property that accepts anything cannot be wrong.
        const free = Object.entries(properties)
          .filter(([, schema]) => {
            const { allOf, enum: values, type } = resolved(document, schema)
            return type === undefined && values === undefined && allOf === undefined
          })
          .map(([name]) => name)
        const named = new Set(
          paths(answer)
            .slice(1)
            .map((issue) => String(issue).split(/[.[]/)[0])
        )
        expect(
          Object.keys(properties).filter((name) => !free.includes(name) && !named.has(name)),
          operationId
        ).toEqual([])
        judged.push(operationId)
      }
    expect(judged.length).toBeGreaterThanOrEqual(12)
  })
  it("even if the type is right and the value is not", async () => {
    expect(paths(await send("POST", "/v1/webhooks", { name: "n".repeat(121), url: 5, events: ["nothing"] }))).toEqual([
      400,
      "events[0]",
      "name",
      "url"
    ])
    expect(paths(await send("POST", "/v1/webhooks", { name: "", url: "ftp://a", events: [], enabled: "yes" }))).toEqual(
      [400, "enabled", "events", "name", "url"]
    )
    expect(
      paths(
        await send("POST", `/console/v1/organizations/${tenant.organization_id}/members`, {
          email: "nobody",
          name: "n".repeat(201),
          role: "king",
          password: "short"
        })
      )
    ).toEqual([400, "email", "name", "password", "role"])
    expect(paths(await send("POST", "/console/v1/organizations", { name: " ", plan: "golden" }))).toEqual([
      400,
      "name",
      "plan"
    ])
    expect(
      paths(
        await send("POST", "/v1/keys", {
          description: "d".repeat(1_001),
          scope: "search",
          value: "short",
          cidrs: ["nowhere"],
          origins: ["not an origin"],
          collections: [],
          filter_by: { "a(": "x", b: " " },
          fields: ["*"],
          rate_limit_per_minute: -1
        })
      )
    ).toEqual([
      400,
      "cidrs[0]",
      "collections",
      "description",
      "fields[0]",
      "filter_by.b",
      "origins[0]",
      "rate_limit_per_minute",
      "value"
    ])
    expect(
      paths(
        await send("POST", "/v1/keys", {
          description: "d",
          actions: ["collections:*"],
          filter_by: { b: "x:1" },
          fields: ["a"]
        })
      )
    ).toEqual([400, "actions", "fields", "filter_by"])
    expect(
      paths(
        await send("POST", "/v1/keys", {
          description: "d",
          scope: "search",
          filter_by: Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`c${i}`, "x".repeat(3_900)]))
        })
      )
    ).toEqual([400, "body"])
    expect(
      paths(await send("POST", "/v1/browser_keys", { ttl_seconds: 5, collections: ["a(b"], origins: ["x y"] }))
    ).toEqual([400, "collections[0]", "origins[0]", "ttl_seconds"])
    expect(
      paths(await send("POST", "/v1/events/replays", { from: "x", to: "y", target: "nothing", types: ["search"] }))
    ).toEqual([400, "target", "types"])
    expect(paths(await send("POST", "/v1/events/replays", { from: "x", to: "y", target: "analytics" }))).toEqual([
      400,
      "from",
      "to"
    ])
    expect(
      paths(
        await send("POST", "/v1/analytics/rules", {
          name: "",
          type: "counter",
          collection: "nowhere",
          event_type: "search",
          params: { counter_field: "id", weight: 0, more: 1 },
          odd: 1
        })
      )
    ).toEqual([400, "collection", "event_type", "name", "odd", "params.counter_field", "params.more", "params.weight"])
  })
  it("in the query too", async () => {
    expect(paths(await send("GET", "/v1/jobs?limit=0&status=odd&type=a-b&cursor=%20"))).toEqual([
      400,
      "cursor",
      "limit",
      "status",
      "type"
    ])
    expect(paths(await send("GET", "/v1/audit?limit=251&cursor=x&from=then&to=now"))).toEqual([
      400,
      "cursor",
      "from",
      "limit",
      "to"
    ])
    expect(paths(await send("GET", "/v1/analytics/metrics/queries?from=a&limit=0&offset=-1&segment=moon"))).toEqual([
      400,
      "from",
      "limit",
      "offset",
      "segment",
      "to"
    ])
  })
})
