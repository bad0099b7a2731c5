/**
 * The room of `docs/rooms.md`, added to a copy of the program as its folder and one line: served, documented, audited,
 * isolated, in the console, measured and fuzzed.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { linkPackages } from "../../scripts/link-packages.mjs"
import { describedOf } from "../support/fuzz/described.ts"
import { fuzz } from "../support/fuzz/run.ts"
import { makeWorld } from "../support/fuzz/world.ts"
import { freePort } from "../../src/runtime/free-port.ts"
import { launchPrepared, type Launched } from "../support/launched.ts"

const root = new URL("../..", import.meta.url).pathname
const guide = readFileSync(join(root, "docs", "rooms.md"), "utf8")
/** The guide's code for each file, without the line that names the file. */
const parts = new Map(
  [...guide.matchAll(/```ts\n\/\/ (src\/\S+)\n([\s\S]*?)```/g)].map(([, path, text]) => [path!, text!])
)

const folder = mkdtempSync(join(tmpdir(), "dowser-room-"))
const tree = join(folder, "clone"),
  data = join(folder, "data")
let program: Launched
let adminPort: number
beforeAll(async () => {
  for (const part of [
    "src",
    "streams",
    "log",
    "engine-sdk",
    "fixtures",
    "bench",
    "scripts",
    "package.json",
    "package-lock.json",
    "deno.json"
  ]) {
    cpSync(join(root, part), join(tree, part), {
      recursive: true,
      preserveTimestamps: true,
      filter: (path) => !path.includes("node_modules") && !path.includes(join("bench", "results"))
    })
  }
  linkPackages(root, tree)
  for (const [path, text] of parts) {
    if (path === "src/rooms.ts") continue
    mkdirSync(dirname(join(tree, path)), { recursive: true })
    writeFileSync(join(tree, path), text)
  }
  const list = join(tree, "src", "rooms.ts"),
    before = readFileSync(list, "utf8")
  writeFileSync(
    list,
    `import { room as notes } from "./notes/room.ts"\n${before.replace(/(\n {2}\.with\(demo\)\n)/, `$1${parts.get("src/rooms.ts")}`)}`
  )
  adminPort = await freePort()
  program = await launchPrepared(data, ["--no-demo", "--admin-port", String(adminPort)], undefined, {}, tree)
})
afterAll(async () => {
  program.signal("SIGTERM")
  await program.exited
  rmSync(folder, { recursive: true, force: true })
})

const send = async (method: string, path: string, headers: Readonly<Record<string, string>>, body?: unknown) => {
  const response = await fetch(`http://127.0.0.1:${program.port}${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  return { status: response.status, body: (await response.json()) as any }
}
const operatorToken = () => readFileSync(join(data, "operator.token"), "utf8").trim()
const operator = () => ({ authorization: `Bearer ${operatorToken()}` })
const own = () => ({ "x-svc-api-key": program.ready.full_key! })
const organization = () => program.ready.organization_id!

describe("a room that is one folder and one line", () => {
  it("is served, and refuses requests with every wrong field", async () => {
    const { body, status } = await send("POST", "/v1/notes", own(), { text: "Order more lamps" })
    expect([status, body.text]).toEqual([201, "Order more lamps"])
    expect((await send("GET", "/v1/notes", own())).body).toEqual({ data: [body] })
    expect((await send("POST", "/v1/notes", own(), { text: 5, more: 1 })).status).toBe(400)
    expect(
      (await send("POST", "/v1/notes", { "x-svc-api-key": program.ready.search_key! }, { text: "x" })).status
    ).toBe(403)
  })
  it("is documented", async () => {
    const { paths } = (await send("GET", "/v1/openapi.json", {})).body
    expect(paths["/v1/notes"].post).toMatchObject({ operationId: "createNote", tags: ["notes"], "x-scope": "full" })
  })
  it("is audited, with the state after the change", async () => {
    const { body } = await send("GET", "/v1/audit", own())
    const found = body.data.filter(
      ({ subject }: { readonly subject: { readonly kind: string } }) => subject.kind === "note"
    )
    expect(found.map(({ action, after, operation }: any) => [operation, action, after.text])).toEqual([
      ["createNote", "created", "Order more lamps"]
    ])
  })
  it("is in the console by its roles, for the operator too", async () => {
    const { body, status } = await send("GET", `/console/v1/organizations/${organization()}/notes`, operator())
    expect([status, body.data.length]).toEqual([200, 1])
    expect((await send("GET", `/console/v1/organizations/${organization()}/notes`, own())).status).toBe(401)
  })
  it("shows another organization nothing", async () => {
    const {
      body: { full_key }
    } = await send("POST", "/console/v1/organizations", operator(), { name: "Other", plan: "standard" })
    expect((await send("GET", "/v1/notes", { "x-svc-api-key": full_key })).body).toEqual({ data: [] })
    expect((await send("POST", "/v1/notes", { "x-svc-api-key": full_key }, { text: "Mine" })).status).toBe(201)
    expect((await send("GET", "/v1/notes", own())).body.data.length).toBe(1)
  })
  it("respects its plan's bound: usage is shown, and more is refused with 403", async () => {
    const {
      body: { full_key }
    } = await send("POST", "/console/v1/organizations", operator(), { name: "Small", plan: "free" })
    const key = { "x-svc-api-key": full_key }
    expect((await send("GET", "/v1/entitlement", key)).body.features.notes).toBe(3)
    const statuses = await Promise.all(
      Array.from({ length: 8 }, async (_note, i) => (await send("POST", "/v1/notes", key, { text: String(i) })).status)
    )
    expect(statuses.sort()).toEqual([201, 201, 201, 403, 403, 403, 403, 403])
    expect(await send("POST", "/v1/notes", key, { text: "one more" })).toMatchObject({
      status: 403,
      body: { feature: "notes", plan: "free", limit: 3 }
    })
  })
  it("is measured on the admin port, and not on the public port", async () => {
    await send("POST", "/v1/notes", own(), { text: "One more" })
    const response = await fetch(`http://127.0.0.1:${adminPort}/metrics`)
    expect([response.status, response.headers.get("content-type")]).toEqual([
      200,
      "text/plain; version=0.0.4; charset=utf-8"
    ])
    const text = await response.text()
    expect(text).toMatch(/^# TYPE dowser_notes_created_total counter\ndowser_notes_created_total [1-9]\d*$/m)
    expect(text).toContain('dowser_part_up{part="engine"} 1')
    expect((await fetch(`http://127.0.0.1:${program.port}/metrics`)).status).toBe(404)
    expect((await fetch(`http://127.0.0.1:${adminPort}/v1/notes`)).status).toBe(404)
  })
  it("is fuzzed because it is in the document", async () => {
    const operations = describedOf([
      await (await fetch(`http://127.0.0.1:${program.port}/v1/openapi.json`)).json()
    ]).filter(({ id }) => /note/i.test(id))
    expect(operations.map(({ id }) => id).sort()).toEqual([
      "consoleCreateNote",
      "consoleListNotes",
      "createNote",
      "listNotes"
    ])
    const world = await makeWorld(program.port, operatorToken())
    const report = await fuzz(
      {
        port: program.port,
        seed: "room",
        operations,
        attacker: await world.furnish("Attacker"),
        decoy: await world.furnish("Decoy"),
        operatorToken: operatorToken(),
        folder,
        connections: 4
      },
      0,
      400
    )
    expect(report.faults).toEqual([])
    expect(report.answered.has("createNote")).toBe(true)
  })
})
