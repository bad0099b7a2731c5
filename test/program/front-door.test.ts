/**
 * The program as a person runs it: what it prints, how it refuses, how it stops, that nothing is left behind, and that
 * a kill at any moment loses nothing acknowledged.
 */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { spawnSync } from "node:child_process"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { launch, launchPrepared, type Launched, processesNaming } from "../support/launched.ts"
import { freePort } from "../../src/runtime/free-port.ts"

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "dowser-front-"))
  // Other users may enter it, as with a usual place for data folders: a program started by root runs as nobody.
  chmodSync(folder, 0o755)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const gone = async (text: string, within_ms: number) => {
  for (let waited = 0; waited < within_ms; waited += 50) {
    if (processesNaming(text).length === 0) return true
    await new Promise((settle) => setTimeout(settle, 50))
  }
  return false
}
const get = (program: Launched, path: string, key: string) =>
  fetch(`http://127.0.0.1:${program.port}${path}`, { headers: { "x-svc-api-key": key } })
const root = new URL("../..", import.meta.url).pathname
const command = (args: ReadonlyArray<string>) =>
  spawnSync("node", [join(root, "scripts", "bootstrap.mjs"), ...args], {
    encoding: "utf8",
    cwd: root,
    env: Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("DOWSER_")))
  })

describe("starting and stopping", () => {
  it("prints one JSON line, keeps keys valid over a restart, stops on SIGTERM and leaves nothing", async () => {
    const data = join(folder, "one")
    const first = await launch(data)
    expect(Object.keys(first.ready)).toEqual([
      "ready",
      "base_url",
      "gateway_url",
      "console_url",
      "organization_id",
      "full_key",
      "search_key"
    ])
    expect((await get(first, "/v1/collections", first.ready.full_key)).status).toBe(200)
    expect((await get(first, "/v1/collections", first.ready.search_key)).status).toBe(403)
    first.signal("SIGTERM")
    expect(await first.exited).toBe(0)
    expect(first.stdout().trim().split("\n")).toHaveLength(1)
    expect(await gone(data, 5000)).toBe(true)

    const second = await launch(data)
    expect(second.ready.full_key).toBeUndefined()
    expect(second.ready.keys_hint).toContain("dowser keys create")
    expect(second.ready.organization_id).toBe(first.ready.organization_id)
    expect((await get(second, "/v1/collections", first.ready.full_key)).status).toBe(200)

    const made = command([
      "keys",
      "create",
      "--organization",
      second.ready.organization_id,
      "--scope",
      "search",
      "--rate-limit",
      "0",
      "--json",
      "--data-dir",
      data
    ])
    const line = JSON.parse(made.stdout) as { organization_id: string; search_key: string; key: string }
    expect(line.organization_id).toBe(second.ready.organization_id)
    expect(line.search_key).toBe(line.key)
    const organization = JSON.parse(command(["org", "create", "Another", "--json", "--data-dir", data]).stdout) as {
      organization_id: string
      full_key: string
      search_key: string
    }
    expect((await get(second, "/v1/keys", organization.full_key)).status).toBe(200)

    // Only the launcher is killed: the program notices it and stops Postgres too.
    second.signal("SIGKILL")
    expect(await gone(data, 10_000)).toBe(true)
  })
  it("refuses in one sentence: taken port, unwritable folder, newer data, a folder in use", async () => {
    const data = join(folder, "two")
    const port = await freePort()
    const blocker = createServer().listen(port, "127.0.0.1")
    await new Promise((settle) => blocker.once("listening", settle))
    const refused = async (folderName: string, args: ReadonlyArray<string>, onPort?: number) =>
      launch(folderName, args, onPort).then(
        () => "started",
        (error: Error) => error.message.replace(/Runs as root: .*\n/, "")
      )
    expect(await refused(data, ["--no-demo"], port)).toMatch(
      /^exit 1: Port \d+ on 127\.0\.0\.1 is taken; choose another with --port\.\n$/
    )
    blocker.close()
    const file = join(folder, "a-file")
    writeFileSync(file, "")
    expect(await refused(join(file, "below"), ["--no-demo"])).toMatch(
      /^exit 1: The data folder .* cannot be written: .*\.\n$/
    )
    mkdirSync(data, { recursive: true })
    writeFileSync(join(data, "version.json"), JSON.stringify({ data_version: 9_999_999_999 }))
    expect(await refused(data, ["--no-demo"])).toMatch(
      /^exit 1: The data folder .* was written by a newer version of Dowser .*\.\n$/
    )
    const used = join(folder, "three")
    const owner = await launch(used)
    expect(await refused(used, ["--no-demo"])).toMatch(
      /^exit 1: The data folder .* is in use by a running Dowser .*\.\n$/
    )
    owner.signal("SIGINT")
    expect(await owner.exited).toBe(0)
    expect(await gone(used, 5000)).toBe(true)
  })
  it("imports and exports files from the command line", async () => {
    const data = join(folder, "four")
    const program = await launchPrepared(data)
    await fetch(`${program.ready.base_url}/collections`, {
      method: "POST",
      headers: { "x-svc-api-key": program.ready.full_key },
      body: JSON.stringify({ name: "lines", fields: [{ name: "title", type: "string" }] })
    })
    const source = join(folder, "lines.jsonl")
    writeFileSync(
      source,
      Array.from({ length: 2500 }, (_, i) => JSON.stringify({ id: String(i), title: `Line ${i}` })).join("\n")
    )
    const target = ["--data-dir", data, "--key", program.ready.full_key]
    expect(JSON.parse(command(["import", "lines", source, ...target, "--json"]).stdout)).toEqual({
      imported: 2500,
      failed: 0
    })
    const exported = join(folder, "out.jsonl")
    expect(command(["export", "lines", exported, ...target]).status).toBe(0)
    expect(readFileSync(exported, "utf8").split("\n")).toHaveLength(2500)
    // The stream worker reports once its thread is running, which may be after the first answers.
    await expect
      .poll(() => JSON.parse(command(["status", "--data-dir", data, "--json"]).stdout) as unknown, {
        timeout: 30_000,
        interval: 500
      })
      .toMatchObject({
        status: "ok",
        worker_restarts: 0,
        reports_dropped: 0,
        partitions: expect.arrayContaining([
          expect.objectContaining({
            group: "attribution",
            partition: 0,
            records_behind: 0,
            entries_per_second: expect.any(Number)
          })
        ]),
        webhooks: { deliveries_pending: 0, deliveries_failed: 0, outbox_waiting: 0 }
      })
    expect(command(["status", "--data-dir", data]).stdout).toMatch(
      /^Dowser \S+: ok\n {2}ok {4}engine {5}answers\n {2}ok {4}event_log {2}takes records\n/
    )
    expect(command(["import", "nowhere", source, ...target]).stderr).toContain("Collection not found")
    program.signal("SIGTERM")
    await program.exited
    expect(command(["org", "list", "--data-dir", data]).stderr).toMatch(/^No running Dowser owns the data folder .*\n$/)
  })
})

describe("kill -9 at random moments under load", () => {
  it("loses no acknowledged document and counts every acknowledged event once", async () => {
    const data = join(folder, "crash")
    let program = await launchPrepared(data)
    const { full_key } = program.ready
    const send = async (path: string, body: unknown) => {
      const response = await fetch(`http://127.0.0.1:${program.port}${path}`, {
        method: "POST",
        headers: { "x-svc-api-key": full_key },
        body: typeof body === "string" ? body : JSON.stringify(body)
      })
      const text = await response.text()
      if (!response.ok) throw new Error(`${response.status} ${text}`)
      return text
    }
    await send("/v1/collections", {
      name: "goods",
      fields: [
        { name: "title", type: "string" },
        { name: "n", type: "int32" }
      ]
    })
    const acknowledged = new Set<string>()
    /** The documents and events sent so far; an unacknowledged batch is sent again with the same bytes. */
    let nextDocument = 0
    let nextEvent = 0
    const pendingEvents: Array<string> = []
    const load = async (until: () => boolean) => {
      while (!until()) {
        const from = nextDocument
        const lines = Array.from({ length: 40 }, (_, i) =>
          JSON.stringify({ id: `d${from + i}`, title: `Thing ${from + i}`, n: from + i })
        ).join("\n")
        try {
          const verdicts = await send("/v1/collections/goods/documents/import?action=upsert", lines)
          if (verdicts.split("\n").filter((line) => line === '{"success":true}').length !== 40)
            throw new Error(verdicts.slice(0, 200))
          for (let i = 0; i < 40; i++) acknowledged.add(`d${from + i}`)
          nextDocument = from + 40
        } catch {
          return
        }
      }
    }
    const eventLoad = async (until: () => boolean) => {
      while (!until()) {
        const batch =
          pendingEvents.shift() ??
          JSON.stringify({
            events: Array.from({ length: 25 }, (_, i) => ({
              type: "search",
              q: `query ${(nextEvent + i) % 5}`,
              collection: "goods",
              event_id: `ev-${nextEvent + i}`,
              user_id: `u-${nextEvent + i}`,
              results_found: 1
            }))
          })
        if (!batch.includes(`"ev-${nextEvent}"`)) {
          /* sent again */
        } else nextEvent += 25
        try {
          await send("/v1/events", batch)
        } catch {
          pendingEvents.push(batch)
          return
        }
      }
    }
    const moments = [350, 120, 600]
    for (const moment of moments) {
      let isOver = false
      const loads = Promise.all([load(() => isOver), eventLoad(() => isOver)])
      await new Promise((settle) => setTimeout(settle, moment))
      process.kill(program.pid(), "SIGKILL")
      isOver = true
      await loads
      await program.exited
      program = await launch(data)
    }
    // A busy machine acknowledges little between the kills, so this part goes on until there is enough to count.
    const least = performance.now() + 300,
      most = performance.now() + 30_000
    const isOver = (isEnough: boolean): boolean =>
      performance.now() > (isEnough && pendingEvents.length === 0 ? least : most)
    await Promise.all([load(() => isOver(acknowledged.size > 100)), eventLoad(() => isOver(nextEvent > 100))])

    const exported = await (await get(program, "/v1/collections/goods/documents/export", full_key)).text()
    const ids = new Set(exported.split("\n").map((line) => (JSON.parse(line) as { id: string }).id))
    expect([...acknowledged].filter((id) => !ids.has(id))).toEqual([])
    expect(acknowledged.size).toBeGreaterThan(100)
    const found = (await (
      await get(program, `/v1/collections/goods/documents/search?q=thing&query_by=title&per_page=1`, full_key)
    ).json()) as { found: number }
    expect(found.found).toBe(ids.size)

    const day = new Date().toISOString().slice(0, 10)
    let counted = 0
    for (let waited = 0; waited < 30_000 && counted !== nextEvent; waited += 200) {
      const rows = (await (
        await get(program, `/v1/analytics/metrics/queries?from=${day}&to=${day}&collection=goods`, full_key)
      ).json()) as { data: ReadonlyArray<{ q: string; searches: number }> }
      counted = rows.data.filter(({ q }) => q.startsWith("query ")).reduce((sum, { searches }) => sum + searches, 0)
      await new Promise((settle) => setTimeout(settle, 200))
    }
    expect(nextEvent).toBeGreaterThan(100)
    expect(counted).toBe(nextEvent)
    program.signal("SIGTERM")
    expect(await program.exited).toBe(0)
    expect(await gone(data, 5000)).toBe(true)
    expect(existsSync(join(data, "running.json"))).toBe(false)
  })
})
