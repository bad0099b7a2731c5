/**
 * A backup of a program that continues to accept events, documents and configuration; then a restore into an empty
 * folder, and a recount: the restored program counts exactly the events in the backup's log, none missing and none
 * twice.
 */
import { spawn } from "node:child_process"
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { denoFlags } from "../../scripts/runtime-flags.mjs"
import { openLogEnvironment } from "../../log/event-log/lmdb-environment.ts"
import { freePort } from "../../src/runtime/free-port.ts"
import { decodeRecord } from "../../log/record.ts"
import { BEHAVIOUR_EVENTS } from "../../log/topics.ts"
import { codeCache, launch, launchPrepared, type Launched } from "../support/launched.ts"

const root = new URL("../..", import.meta.url).pathname
const folder = mkdtempSync(join(tmpdir(), "dowser-backup-"))
const at = (...parts: ReadonlyArray<string>) => join(folder, ...parts)
const today = new Date().toISOString().slice(0, 10)

/** Runs a command as a person types it. */
const dowser = (...args: ReadonlyArray<string>) =>
  new Promise<{ readonly code: number | null; readonly out: string; readonly said: string }>((settle) => {
    const node = (globalThis as { readonly Deno?: unknown }).Deno === undefined ? process.execPath : "node"
    const child = spawn(node, [join(root, "scripts", "bootstrap.mjs"), ...args], {
      cwd: root,
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("DOWSER_"))),
        ...codeCache()
      }
    })
    let out = "",
      said = ""
    child.stdout.on("data", (chunk: Buffer) => {
      out += chunk.toString()
    })
    child.stderr.on("data", (chunk: Buffer) => {
      said += chunk.toString()
    })
    child.once("exit", (code) => settle({ code, out, said }))
  })
const sending = (program: Launched, key: string) => async (method: string, path: string, body?: unknown) => {
  const response = await fetch(`http://127.0.0.1:${program.port}${path.startsWith("/console") ? "" : "/v1"}${path}`, {
    method,
    headers: { "x-svc-api-key": key, "x-dowser-console": "1" },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) })
  })
  const text = await response.text()
  return {
    status: response.status,
    text,
    body: text.startsWith("{") || text.startsWith("[") ? (JSON.parse(text.split("\n")[0]!) as any) : undefined,
    cookie: response.headers.get("set-cookie")
  }
}
const click = (event_id: string, n: number) => ({
  type: "click",
  collection: "goods",
  document_id: `p${n % 10}`,
  q: "oak",
  event_id,
  session_id: `s${n % 50}`
})
const ids = (prefix: string, from: number, count: number) =>
  Array.from({ length: count }, (_, i) => ({ id: `${prefix}${from + i}`, n: from + i }))
/** Repeats the look until it succeeds; the deadline is the test's own. */
const until = async <A>(look: () => Promise<A | undefined>): Promise<A> => {
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    await new Promise((settle) => setTimeout(settle, 100))
  }
}

let program: Launched
let key: string
/** What was acknowledged before the backup began. */
const before = { events: [] as Array<string>, documents: [] as Array<string> }
const during = { events: [] as Array<string>, documents: [] as Array<string>, presets: 0 }
let memberPassword: string
let oldCookie: string
let backedUp: { readonly bytes: number; readonly log_position: Readonly<Record<string, number>> }

beforeAll(async () => {
  program = await launchPrepared(at("data"))
  key = program.ready.full_key!
  const send = sending(program, key)
  await send("POST", "/collections", {
    name: "goods",
    fields: [
      { name: "title", type: "string" },
      { name: "clicks", type: "int32", optional: true }
    ]
  })
  await send("POST", "/analytics/rules", {
    name: "clicks",
    type: "counter",
    collection: "goods",
    event_type: "click",
    params: { counter_field: "clicks", weight: 1 }
  })
  await send("PUT", "/presets/oak", { value: { query_by: "title" } })
  await send("PUT", "/search_policies/woods", { params: { num_typos: 1 } })
  await send("POST", "/collections/goods/search-profiles", {
    name: "shop",
    searchable_fields: ["title"],
    search_policy: "woods"
  })
  await send("POST", "/collections/goods/search-profiles/shop/publish", { expected_revision: 1, note: "First" })
  await send("PUT", "/collections/goods/search-profiles/shop", { searchable_fields: ["title"], per_page_max: 3 })
  await send("PUT", "/synonym_sets/woods", { items: [{ id: "1", synonyms: ["oak", "quercus"] }] })
  const operatorToken = readFileSync(at("data", "operator.token"), "utf8").trim()
  const made = await dowser(
    "org",
    "members",
    "add",
    program.ready.organization_id!,
    "owner@example.com",
    "--role",
    "owner",
    "--json",
    "--url",
    `http://127.0.0.1:${program.port}`,
    "--operator-token",
    operatorToken
  )
  memberPassword = JSON.parse(made.out).initial_password as string
  oldCookie = (
    await send("POST", "/console/v1/sessions", { email: "owner@example.com", password: memberPassword })
  ).cookie!.split(";")[0]!
  const documents = async (prefix: string, from: number, count: number, list: Array<string>) => {
    const lines = ids(prefix, from, count)
      .map(({ id }) => JSON.stringify({ id, title: `oak table ${id}` }))
      .join("\n")
    const answer = await send("POST", "/collections/goods/documents/import", lines)
    if (answer.status === 200) for (const { id } of ids(prefix, from, count)) list.push(id)
  }
  const events = async (prefix: string, from: number, count: number, list: Array<string>) => {
    const answer = await send("POST", "/events", { events: ids(prefix, from, count).map(({ id, n }) => click(id, n)) })
    if (answer.status === 200) for (const { id } of ids(prefix, from, count)) list.push(id)
  }
  await documents("p", 0, 1_000, before.documents)
  for (let i = 0; i < 10; i++) await events("e", i * 300, 300, before.events)
  let isOver = false
  const flow = async (work: (i: number) => Promise<unknown>) => {
    for (let i = 0; !isOver; i++) await work(i)
  }
  const flows = [
    flow((i) => events("f", i * 100, 100, during.events)),
    flow((i) => documents("d", i * 200, 200, during.documents)),
    flow(async (i) => {
      if ((await send("PUT", `/presets/during${i}`, { value: { q: "x" } })).status === 200) during.presets = i + 1
    })
  ]
  // Writes must be under way before the backup begins.
  await until(async () =>
    during.events.length > 500 && during.documents.length > 400 && during.presets > 5 ? true : undefined
  )
  before.events.push(...during.events)
  before.documents.push(...during.documents)
  const presetsBefore = during.presets
  const answer = await dowser("backup", at("backup"), "--data-dir", at("data"), "--json")
  isOver = true
  await Promise.all(flows)
  expect([answer.code, answer.said.includes("rror")], answer.said).toEqual([0, false])
  backedUp = JSON.parse(answer.out)
  // They continued during the backup; otherwise the test would show nothing.
  expect([during.events.length > before.events.length - 3_000, during.presets > presetsBefore]).toEqual([true, true])
  process.kill(program.pid(), "SIGKILL")
  await program.exited
})
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

describe("at the same time", () => {
  it("two backups of one program are both complete, and only one of two into the same folder", async () => {
    const second = await launchPrepared(at("twice", "data"))
    try {
      const take = (name: string) => dowser("backup", at("twice", name), "--data-dir", at("twice", "data"), "--json")
      const answers = await Promise.all([take("one"), take("other"), take("shared"), take("shared")])
      expect(
        answers.slice(0, 2).map(({ code }) => code),
        answers.map(({ said }) => said).join("\n")
      ).toEqual([0, 0])
      expect(
        answers
          .slice(2)
          .map(({ code }) => code)
          .sort()
      ).toEqual([0, 1])
      expect(answers.slice(2).find(({ code }) => code === 1)!.said).toMatch(
        /is not an empty folder, or another backup is being written into it|is not an empty folder; a backup/
      )
      // The refused backup leaves nothing behind, and removed nothing of the other one.
      for (const name of ["one", "other", "shared"]) {
        expect(readdirSync(at("twice", name)).sort()).toEqual(readdirSync(at("twice", "one")).sort())
        expect(readdirSync(at("twice", name)).filter((file) => file.startsWith("."))).toEqual([])
      }
      const restores = await Promise.all(
        [1, 2].map(() => dowser("restore", at("twice", "shared"), at("twice", "restored"), "--json"))
      )
      expect(restores.map(({ code }) => code).sort(), restores.map(({ said }) => said).join("\n")).toEqual([0, 1])
      expect(restores.find(({ code }) => code === 1)!.said).toMatch(/is not an empty folder/)
    } finally {
      second.signal("SIGTERM")
      await second.exited
    }
    const restored = await launch(at("twice", "restored"))
    restored.signal("SIGTERM")
    expect(await restored.exited).toBe(0)
  })
  it("a folder that is being restored is neither backed up nor started, and a backup that is being written is not restored", async () => {
    mkdirSync(at("restoring"))
    writeFileSync(at("restoring", "restoring"), "")
    const backups = await dowser("backup", at("never"), "--data-dir", at("restoring"))
    expect([backups.code, backups.said]).toEqual([1, expect.stringContaining("No running Dowser owns the data folder")])
    const again = await dowser("restore", at("backup"), at("restoring"))
    expect([again.code, again.said]).toEqual([1, expect.stringContaining("is not an empty folder")])
    const started = await dowser("start", "--data-dir", at("restoring"), "--port", String(await freePort()))
    expect([started.code, started.said]).toEqual([1, expect.stringContaining("A restore into")])
    mkdirSync(at("half"))
    writeFileSync(at("half", ".backing-up"), "1")
    const half = await dowser("restore", at("half"), at("never"))
    expect(half.code).toBe(1)
    expect(existsSync(at("never"))).toBe(false)
  })
})

/** The ids and documents of all clicks in the backup's log, read from a copy of it. */
const clicksOfBackup = async () => {
  cpSync(at("backup", "log"), at("recount"), { recursive: true })
  const environment = openLogEnvironment(at("recount"))
  const clicks = new Map<string, string>()
  const { endOffset, startOffset } = environment.bounds(BEHAVIOUR_EVENTS.name, 0)
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return
    const { document_id, event_id } = value as { readonly event_id?: unknown; readonly document_id?: unknown }
    if (typeof event_id === "string" && typeof document_id === "string") clicks.set(event_id, document_id)
    for (const each of Object.values(value)) visit(each)
  }
  for (let offset = startOffset; offset < endOffset; offset++) {
    const record = environment.get(BEHAVIOUR_EVENTS.name, 0, offset)
    if (record !== undefined) visit(decodeRecord(record.value).payload)
  }
  await environment.close()
  return { clicks, endOffset }
}

describe("a backup", () => {
  it("is readable by its owner only, and contains everything acknowledged before it", async () => {
    expect(statSync(at("backup")).mode & 0o777).toBe(0o700)
    for (const name of readdirSync(at("backup"), { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile()
    ))
      expect(statSync(join(name.parentPath, name.name)).mode & 0o077, name.name).toBe(0)
    const { clicks, endOffset } = await clicksOfBackup()
    expect(backedUp.log_position[`${BEHAVIOUR_EVENTS.name}/0`]).toBe(endOffset)
    expect(before.events.filter((id) => !clicks.has(id))).toEqual([])
    // No temporary file is left in the program's own folder.
    expect(readdirSync(at("data", "postgres")).filter((name) => name.includes("transfer"))).toEqual([])
  })
  it("restored, counts every event of its log once, finds every document, and knows its members and keys", async () => {
    const restored = await dowser("restore", at("backup"), at("restored"), "--json")
    expect(restored.code, restored.said).toBe(0)
    const { clicks } = await clicksOfBackup().catch(() => {
      throw new Error("the log of the backup cannot be read")
    })
    const again = await launch(at("restored"))
    try {
      const send = sending(again, key)
      const perProduct = new Map<string, number>()
      for (const document of clicks.values()) perProduct.set(document, (perProduct.get(document) ?? 0) + 1)
      const expected = [...perProduct].sort()
      const counted = async () =>
        (
          (await send("GET", `/analytics/metrics/products?from=${today}&to=${today}&limit=100`)).body
            .data as ReadonlyArray<{ document_id: string; clicks: number }>
        )
          .map(({ clicks: n, document_id }) => [document_id, n] as const)
          .sort()
      await until(async () => ((await counted()).reduce((sum, [, n]) => sum + n, 0) >= clicks.size ? true : undefined))
      expect(await counted()).toEqual(expected)
      // Events from the backup are recognised, and not counted again.
      expect((await send("POST", "/events", { events: [click("e1", 1), click("f1", 1)] })).body).toMatchObject({
        accepted: 0,
        deduplicated: 2
      })
      expect((await send("POST", "/events", { events: [click("new", 1)] })).body).toMatchObject({ accepted: 1 })
      perProduct.set("p1", perProduct.get("p1")! + 1)
      await until(async () => ((await counted()).reduce((sum, [, n]) => sum + n, 0) > clicks.size ? true : undefined))
      expect(await counted()).toEqual([...perProduct].sort())
      // The published release is in effect, and its draft is unchanged.
      const searched = await send("GET", "/collections/goods/documents/search?q=oak&profile=shop&per_page=5")
      expect(searched.body).toMatchObject({ profile: { name: "shop", version: 1 }, hits: { length: 5 } })
      const { releases } = (await send("GET", "/collections/goods/search-profiles/shop/releases")).body
      expect(releases).toMatchObject([{ id: searched.body.profile.release_id, note: "First" }])
      expect((await send("GET", "/collections/goods/search-profiles/shop")).body).toMatchObject({
        revision: 2,
        per_page_max: 3
      })
      // Counts by rules over documents, which involve two stores, are the same.
      const shown = async () =>
        Promise.all(
          [...perProduct.keys()]
            .sort()
            .map(async (id) => [id, (await send("GET", `/collections/goods/documents/${id}`)).body.clicks] as const)
        )
      await until(async () =>
        (await shown()).reduce((sum, [, n]) => sum + (n ?? 0), 0) >= clicks.size + 1 ? true : undefined
      )
      expect(await shown()).toEqual([...perProduct].sort())

      const exported = new Set(
        (await send("GET", "/collections/goods/documents/export?include_fields=id")).text
          .split("\n")
          .filter((line) => line !== "")
          .map((line) => (JSON.parse(line) as { id: string }).id)
      )
      expect(before.documents.filter((id) => !exported.has(id))).toEqual([])
      expect(
        (await send("GET", "/collections/goods/documents/search?q=quercus&preset=oak&synonym_sets=woods")).body.found
      ).toBe(exported.size)
      expect((await send("GET", "/audit?subject=api_key")).body.data.length).toBe(2)
      // A session that was open at the backup is over, because it may have been ended since. The member still exists.
      expect(
        (await fetch(`http://127.0.0.1:${again.port}/console/v1/sessions/current`, { headers: { cookie: oldCookie } }))
          .status
      ).toBe(401)
      expect(
        (await send("POST", "/console/v1/sessions", { email: "owner@example.com", password: memberPassword })).status
      ).toBe(201)
    } finally {
      again.signal("SIGTERM")
      await again.exited
    }
  })
})

describe("a restore refuses", () => {
  const copyOf = (name: string) => {
    cpSync(at("backup"), at(name), { recursive: true })
    return at(name)
  }
  const refused = async (source: string, to: string, sentence: RegExp) => {
    const { code, said } = await dowser("restore", source, to)
    expect(said).toMatch(sentence)
    expect(code).toBe(1)
  }
  it("a damaged or incomplete backup, one of a newer program, or none, before it changes anything", async () => {
    const damaged = copyOf("damaged")
    const file = join(damaged, "engine", "documents.mdb")
    const bytes = readFileSync(file)
    bytes[bytes.length - 100]! ^= 1
    writeFileSync(file, bytes)
    await refused(damaged, at("none"), /documents\.mdb is not what was written/)
    appendFileSync(file, "x")
    await refused(damaged, at("none"), /documents\.mdb has \d+ bytes instead of/)
    rmSync(file)
    await refused(damaged, at("none"), /documents\.mdb is missing/)
    const manifest = JSON.parse(readFileSync(join(damaged, "manifest.json"), "utf8"))
    writeFileSync(join(damaged, "manifest.json"), JSON.stringify({ ...manifest, data_version: 9_999_999_999 }))
    await refused(damaged, at("none"), /newer version of Dowser/)
    writeFileSync(join(damaged, "manifest.json"), JSON.stringify({ ...manifest, format: 2 }))
    await refused(damaged, at("none"), /has format 2/)
    rmSync(join(damaged, "manifest.json"))
    await refused(damaged, at("none"), /no backup, or one that was interrupted/)
    expect(existsSync(at("none"))).toBe(false)
    mkdirSync(at("full"))
    writeFileSync(at("full", "mine"), "")
    await refused(at("backup"), at("full"), /not an empty folder/)
    expect(readdirSync(at("full"))).toEqual(["mine"])
  })
  it("to leave a folder that starts when it is killed", async () => {
    // The command itself, not its launcher, which would notice its end and clean up.
    const flags = (globalThis as { readonly Deno?: unknown }).Deno === undefined ? [] : denoFlags
    const child = spawn(
      process.execPath,
      [...flags, join(root, "src", "main.ts"), "restore", at("backup"), at("killed")],
      { cwd: root, stdio: "ignore" }
    )
    const exited = new Promise((settle) => child.once("exit", settle))
    await until(async () => (existsSync(at("killed", "postgres")) || child.exitCode !== null ? true : undefined))
    process.kill(child.pid!, "SIGKILL")
    await exited
    expect(existsSync(at("killed", "restoring"))).toBe(true)
    const { code, said } = await dowser(
      "start",
      "--no-demo",
      "--data-dir",
      at("killed"),
      "--port",
      String(await freePort())
    )
    expect([code, said]).toEqual([1, expect.stringMatching(/A restore into .* was interrupted/)])
  })
})

describe("a backup refuses", () => {
  it("if no program runs, or the folder is not empty", async () => {
    const idle = await dowser("backup", at("other"), "--data-dir", at("data"))
    expect([idle.code, idle.said]).toEqual([1, expect.stringContaining("No running Dowser owns the data folder")])
    expect(existsSync(at("other"))).toBe(false)
  })
})
