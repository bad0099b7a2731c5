/**
 * Members sign in and reach what their role permits, and nothing of another organization; the table of roles is walked.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Role, ROLES } from "../../src/identity/roles.ts"
import { twinId } from "../../src/console/twins.ts"
import { rooms } from "../../src/rooms.ts"
import { type Program, startProgram, type Tenant } from "../support/program.ts"

let program: Program
let first: Tenant
let second: Tenant
const operator = () => ({ authorization: `Bearer ${program.operatorToken}` })
const password = "correct horse battery"
const at = (tenant: Tenant, rest = "") => `/console/v1/organizations/${tenant.organization_id}${rest}`
const add = async (tenant: Tenant, email: string, role: Role) => {
  const { body, status } = await program.request("POST", at(tenant, "/members"), {
    headers: operator(),
    body: { email, role, name: email.split("@")[0], password }
  })
  expect(status).toBe(201)
  return body.id as string
}
const signIn = (email: string, body: Record<string, unknown> = {}, headers: Record<string, string> = {}) =>
  program.request("POST", "/console/v1/sessions", { body: { email, password, ...body }, headers })
const sessionOf = async (email: string) => (await signIn(email)).headers.get("set-cookie")!.split(";")[0]!
/** As the console's pages send requests: with the cookie and their own origin. */
const as = (cookie: string) => ({ cookie, origin: program.base })
const ids: Record<string, string> = {}
const sessions = {} as Record<Role, string>

beforeAll(async () => {
  program = await startProgram({ allowPrivateAddresses: true, trustedProxies: ["127.0.0.0/8"] })
  first = await program.tenant("First")
  second = await program.tenant("Second")
  for (const role of ROLES) {
    ids[role] = await add(first, `${role}@first.example`, role)
    sessions[role] = await sessionOf(`${role}@first.example`)
  }
  ids.foreign = await add(second, "owner@second.example", "owner")
})
afterAll(() => program.stop())

describe("sessions", () => {
  it("are set as a cookie that scripts and other sites do not get, marked Secure behind TLS", async () => {
    const answer = await signIn("Owner@First.example ")
    expect(answer.status).toBe(201)
    expect(answer.body).toEqual({
      organization_id: first.organization_id,
      member: {
        id: ids.owner,
        email: "owner@first.example",
        name: "owner",
        role: "owner",
        created_at: expect.any(Number)
      },
      expires_at: expect.any(Number)
    })
    expect(answer.headers.get("set-cookie")).toMatch(
      /^dowser_session=[A-Za-z0-9]{43}; Path=\/console; HttpOnly; SameSite=Strict; Max-Age=43200$/
    )
    expect(
      (await signIn("owner@first.example", {}, { "x-forwarded-proto": "https" })).headers.get("set-cookie")
    ).toMatch(/; Secure$/)
  })
  it("are refused alike for a wrong password, an unknown address and the wrong organization", async () => {
    const answers = [
      await signIn("owner@first.example", { password: "wrong horse battery" }),
      await signIn("nobody@first.example"),
      await signIn("owner@first.example", { organization_id: second.organization_id }),
      await signIn("owner@first.example", { password: password.repeat(100) })
    ]
    for (const { body, headers, status } of answers) {
      expect([status, body]).toEqual([401, answers[0]!.body])
      expect(headers.get("set-cookie")).toBeNull()
    }
    expect(
      (await program.request("POST", "/console/v1/sessions", { body: { email: "a@b" } })).body.data.issues[0].path
    ).toBe("password")
  })
  it("end by signing out, by a new password, by removal, and only the caller's own", async () => {
    const email = "leaver@first.example"
    const id = await add(first, email, "member")
    const [one, two] = [await sessionOf(email), await sessionOf(email)]
    const current = (cookie: string) => program.request("GET", "/console/v1/sessions/current", { headers: as(cookie) })
    expect([(await current(one)).status, (await current(two)).status]).toEqual([200, 200])
    const out = await program.request("DELETE", "/console/v1/sessions/current", { headers: as(one) })
    expect([out.status, out.headers.get("set-cookie")]).toEqual([200, expect.stringContaining("Max-Age=0")])
    expect([(await current(one)).status, (await current(two)).status]).toEqual([401, 200])
    const wrong = await program.request("POST", "/console/v1/sessions/current/password", {
      headers: as(two),
      body: { current_password: "not this one", new_password: "another long one" }
    })
    expect(wrong.status).toBe(401)
    const changed = await program.request("POST", "/console/v1/sessions/current/password", {
      headers: as(two),
      body: { current_password: password, new_password: "another long one" }
    })
    const three = changed.headers.get("set-cookie")!.split(";")[0]!
    expect([changed.status, (await current(two)).status, (await current(three)).status]).toEqual([200, 401, 200])
    expect([(await signIn(email)).status, (await signIn(email, { password: "another long one" })).status]).toEqual([
      401, 201
    ])
    expect((await program.request("DELETE", at(first, `/members/${id}`), { headers: operator() })).status).toBe(200)
    expect([(await current(three)).status, (await signIn(email, { password: "another long one" })).status]).toEqual([
      401, 401
    ])
    expect((await current(sessions.owner)).status).toBe(200)
  })
  it("are limited to twenty per member: the oldest ends", async () => {
    await add(first, "many@first.example", "member")
    const cookies: Array<string> = []
    // Each correct password returns the attempts, so that a person who signs in often is not locked out.
    for (let i = 0; i < 22; i++) cookies.push(await sessionOf("many@first.example"))
    const statuses = await Promise.all(
      cookies.map((cookie) =>
        program.request("GET", "/console/v1/sessions/current", { headers: as(cookie) }).then(({ status }) => status)
      )
    )
    expect(statuses).toEqual([401, 401, ...Array.from({ length: 20 }, () => 200)])
  })
  it("allow writes only from the console's own pages", async () => {
    const write = (headers: Record<string, string>) =>
      program.request("PATCH", at(first, `/members/${ids.member}`), {
        headers: { cookie: sessions.owner, ...headers },
        body: { name: "x" }
      })
    for (const headers of [
      {},
      { origin: "https://evil.example" },
      { origin: "null" },
      { origin: "https://evil.example", "x-dowser-console": "1" }
    ] as ReadonlyArray<Record<string, string>>) {
      const { body, status } = await write(headers)
      expect([status, body.code], JSON.stringify(headers)).toEqual([403, "FORBIDDEN"])
    }
    expect((await write({ origin: program.base })).status).toBe(200)
    expect((await write({ "x-dowser-console": "1" })).status).toBe(200)
    expect((await write({ origin: "https://console.example", "x-forwarded-host": "console.example" })).status).toBe(200)
    expect((await signIn("owner@first.example", {}, { origin: "https://evil.example" })).status).toBe(403)
  })
  it("cannot be guessed: ten wrong passwords block the network for that account, not its owner elsewhere", async () => {
    await add(first, "guessed@first.example", "member")
    const stranger = { "x-forwarded-for": "198.51.100.7" }
    let wrong = 0
    while (
      wrong < 30 &&
      (await signIn("guessed@first.example", { password: `wrong password ${wrong}` }, stranger)).status === 401
    )
      wrong++
    // Twice as many if a new quarter of an hour began in the meantime.
    expect(wrong >= 10 && wrong <= 20, `${wrong} wrong ones`).toBe(true)
    const { body, headers, status } = await signIn("guessed@first.example", {}, stranger)
    expect((await signIn("guessed@first.example")).status).toBe(201)
    expect((await signIn("guessed@first.example", {}, { "x-forwarded-for": "2001:db8::1" })).status).toBe(201)
    expect([
      status,
      body.code,
      Number(headers.get("retry-after")) > 0 && Number(headers.get("retry-after")) <= 900
    ]).toEqual([429, "TOO_MANY_REQUESTS", true])
    expect((await signIn("owner@first.example", {}, stranger)).status).toBe(201)
  })
})

describe("roles", () => {
  it("permit what the table says, each operation with each role, and nothing without a session", async () => {
    const { paths } = (await program.request("GET", "/v1/openapi.json")).body as {
      paths: Record<string, Record<string, { operationId: string; "x-scope": string }>>
    }
    const operations = Object.entries(paths)
      .flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, entry]) => ({
          path,
          method: method.toUpperCase(),
          id: entry.operationId,
          scope: entry["x-scope"]
        }))
      )
      .filter(({ scope }) => scope === "console")
    // A room names an operation of its own, or one of the tenant API that has a twin.
    const said = rooms.table("roles"),
      known = new Set(operations.map(({ id }) => id))
    const consoleRoles = new Map([...said].map(([id, role]) => [known.has(id) ? id : twinId(id), role]))
    expect(operations.map(({ id }) => id).sort()).toEqual([...consoleRoles.keys()].sort())
    for (const { id, method, path } of operations) {
      // Those that would end what the others need are called last, by hand, above.
      if (id === "deleteCurrentSession" || id === "changeOwnPassword") continue
      const address = path.replace("{organizationId}", first.organization_id).replace(/\{\w+\}/g, "nothing")
      const body = method === "GET" || method === "DELETE" ? {} : { body: "not json" }
      const least = consoleRoles.get(id)!
      expect((await program.request(method, address, body)).status, id).toBe(401)
      expect(
        (await program.request(method, address, { ...body, key: first.full_key })).status,
        `${id} with a key`
      ).toBe(401)
      expect(
        (await program.request(method, address, { ...body, headers: { authorization: "Bearer wrong" } })).status,
        id
      ).toBe(401)
      for (const role of ROLES) {
        const { status } = await program.request(method, address, { ...body, headers: as(sessions[role]) })
        if (ROLES.indexOf(role) < ROLES.indexOf(least)) expect(status, `${id} as ${role}`).toBe(403)
        else expect([200, 400, 404], `${id} as ${role}`).toContain(status)
        const elsewhere = path.includes("{organizationId}")
          ? await program.request(method, address.replace(first.organization_id, second.organization_id), {
              ...body,
              headers: as(sessions[role])
            })
          : undefined
        if (elsewhere !== undefined) {
          const nowhere = await program.request(method, address.replace(first.organization_id, "org_none"), {
            ...body,
            headers: as(sessions[role])
          })
          expect([elsewhere.status, elsewhere.text], `${id} of another organization`).toEqual([403, nowhere.text])
        }
      }
      if (path.includes("{organizationId}"))
        expect(
          (
            await program.request(method, address.replace(first.organization_id, "org_none"), {
              ...(method === "GET" || method === "DELETE"
                ? {}
                : {
                    body: {
                      description: "x",
                      email: "x@y",
                      name: "x",
                      role: "member",
                      url: "https://x.example",
                      events: ["*"],
                      since: 0,
                      scope: "search"
                    }
                  }),
              headers: operator()
            })
          ).status,
          `${id} of nothing`
        ).toBe(404)
    }
  })
  it("show a session its own organization only", async () => {
    const listed = async (headers: Record<string, string>) =>
      (await program.request("GET", "/console/v1/organizations", { headers })).body.data.map(
        ({ id }: { id: string }) => id
      )
    expect(await listed(as(sessions.member))).toEqual([first.organization_id])
    expect((await listed(operator())).sort()).toEqual([first.organization_id, second.organization_id].sort())
    expect((await program.request("GET", at(first), { headers: as(sessions.member) })).body).toMatchObject({
      id: first.organization_id,
      name: "First"
    })
  })
  it("do not permit the operator's own operations", async () => {
    for (const [method, path, body] of [
      ["POST", "/pause", { reason: "manual" }],
      ["POST", "/resume", undefined]
    ] as const)
      expect(
        (
          await program.request(method, at(first, path), {
            headers: as(sessions.owner),
            ...(body === undefined ? {} : { body })
          })
        ).status
      ).toBe(401)
    expect(
      (await program.request("POST", "/console/v1/organizations", { headers: as(sessions.owner), body: { name: "x" } }))
        .status
    ).toBe(401)
    expect((await program.request("GET", "/console/v1/status", { headers: as(sessions.owner) })).status).toBe(401)
  })
  it("let a member list and test webhooks, and an admin change them, by the rooms' own handlers", async () => {
    const made = await program.request("POST", at(first, "/webhooks"), {
      headers: as(sessions.admin),
      body: { name: "w", url: "http://127.0.0.1:9/", events: ["*"] }
    })
    expect([made.status, made.body.secret]).toEqual([201, expect.stringMatching(/^whsec_/)])
    expect(
      (await program.request("GET", at(first, "/webhooks"), { headers: as(sessions.member) })).body.data.map(
        ({ id }: { id: string }) => id
      )
    ).toEqual([made.body.id])
    expect(
      (await program.request("POST", at(first, `/webhooks/${made.body.id}/test`), { headers: as(sessions.member) }))
        .status
    ).toBe(202)
    expect(
      (await program.request("GET", "/v1/webhooks", { key: first.full_key })).body.data.map(
        ({ id }: { id: string }) => id
      )
    ).toEqual([made.body.id])
    expect((await program.request("GET", at(second, "/webhooks"), { headers: operator() })).body.data).toEqual([])
    const key = await program.request("POST", at(first, "/keys"), {
      headers: as(sessions.admin),
      body: { description: "by hand", scope: "search" }
    })
    expect(
      (await program.request("GET", "/v1/collections/nowhere/documents/search?q=*", { key: key.body.value })).status
    ).toBe(404)
    expect(
      (await program.request("DELETE", at(first, `/keys/${key.body.id}`), { headers: as(sessions.admin) })).status
    ).toBe(200)
    expect(
      (await program.request("GET", "/v1/collections/nowhere/documents/search?q=*", { key: key.body.value })).status
    ).toBe(401)
    const audited = (
      await program.request("GET", at(first, `/audit?actor=${ids.admin}`), { headers: as(sessions.admin) })
    ).body.data as ReadonlyArray<{ subject: { kind: string }; action: string; operation: string }>
    expect(audited.slice(0, 3).map(({ action, operation, subject }) => [subject.kind, action, operation])).toEqual(
      [
        ["api_key", "deleted", "consoleDeleteKey"],
        ["api_key", "created", "createOrganizationKey"],
        ["webhook", "created", "consoleCreateWebhook"]
      ].map(([kind, action, operation]) => [
        kind,
        kind === "api_key" && action === "deleted" ? "updated" : action,
        operation
      ])
    )
  })
})

describe("members", () => {
  it("always include an owner, whoever makes the change, even with two at once", async () => {
    const only = await program.tenant("Only")
    const [a, b] = [await add(only, "a@only.example", "owner"), await add(only, "b@only.example", "owner")]
    const answers = await Promise.all(
      [a, b].map((id) =>
        program.request("PATCH", at(only, `/members/${id}`), { headers: operator(), body: { role: "member" } })
      )
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
    const owner = answers[0]!.status === 409 ? a : b
    expect((await program.request("DELETE", at(only, `/members/${owner}`), { headers: operator() })).status).toBe(409)
    expect(
      (await program.request("GET", at(only, "/members"), { headers: operator() })).body.data
        .filter(({ role }: { role: string }) => role === "owner")
        .map(({ id }: { id: string }) => id)
    ).toEqual([owner])
  })
  it("are changed by admins, except owners", async () => {
    const asAdmin = (method: string, path: string, body?: unknown) =>
      program.request(method, at(first, path), { headers: as(sessions.admin), ...(body === undefined ? {} : { body }) })
    expect((await asAdmin("POST", "/members", { email: "x@first.example", role: "owner" })).status).toBe(403)
    expect((await asAdmin("PATCH", `/members/${ids.owner}`, { name: "x" })).status).toBe(403)
    expect((await asAdmin("PATCH", `/members/${ids.owner}`, { password: "a stolen password" })).status).toBe(403)
    expect((await asAdmin("PATCH", `/members/${ids.admin}`, { role: "owner" })).status).toBe(403)
    expect((await asAdmin("DELETE", `/members/${ids.owner}`)).status).toBe(403)
    const made = await asAdmin("POST", "/members", { email: "new@first.example", role: "admin" })
    expect([made.status, made.body.initial_password.length]).toEqual([201, 20])
    expect((await signIn("new@first.example", { password: made.body.initial_password })).status).toBe(201)
    // A change of role takes effect at once.
    const cookie = (await signIn("new@first.example", { password: made.body.initial_password })).headers
      .get("set-cookie")!
      .split(";")[0]!
    expect((await program.request("GET", at(first, "/audit"), { headers: as(cookie) })).status).toBe(200)
    expect((await asAdmin("PATCH", `/members/${made.body.id}`, { role: "member" })).status).toBe(200)
    expect((await program.request("GET", at(first, "/audit"), { headers: as(cookie) })).status).toBe(403)
  })
  it("are refused with the field's name, and found in their own organization only", async () => {
    const refused = async (body: unknown) =>
      (await program.request("POST", at(first, "/members"), { headers: operator(), body })).body
    expect((await refused({ email: "no address", role: "member" })).data.issues[0].path).toBe("email")
    expect((await refused({ email: "a@b", role: "member", password: "short" })).data.issues[0].path).toBe("password")
    expect((await refused({ email: "a@b", role: "chief" })).data.issues[0].path).toBe("role")
    expect((await refused({ email: "a@b", role: "member", colour: "red" })).data.issues[0].path).toBe("colour")
    expect((await refused({ email: "OWNER@first.example", role: "member" })).code).toBe("CONFLICT")
    expect(
      (
        await program.request("PATCH", at(first, `/members/${ids.foreign}`), {
          headers: operator(),
          body: { name: "x" }
        })
      ).status
    ).toBe(404)
    expect(
      (await program.request("DELETE", at(first, `/members/${ids.foreign}`), { headers: operator() })).status
    ).toBe(404)
  })
  it("name the organization they mean if they belong to two", async () => {
    await add(first, "both@example.com", "member")
    await add(second, "both@example.com", "admin")
    expect((await signIn("both@example.com")).status).toBe(401)
    for (const tenant of [first, second])
      expect((await signIn("both@example.com", { organization_id: tenant.organization_id })).body.organization_id).toBe(
        tenant.organization_id
      )
  })
})
