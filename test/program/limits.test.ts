/**
 * Limits and money in programs as operators run them: over three processes of an installation, through a kill, and from
 * a terminal.
 */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { HELD_MAX } from "../../src/ports/counter/counter.ts"
import { freePort } from "../../src/runtime/free-port.ts"
import { inInstallation, type Process, run } from "../support/installation.ts"
import { kafkaMissing } from "../support/kafka.ts"
import { launch, launchPrepared } from "../support/launched.ts"

const shared = "exactly 600 requests of a key pass in a minute over three processes, and one that is killed adds none"
const missing = kafkaMissing()
if (missing !== undefined) it(shared, (ctx) => ctx.skip(missing))
else
  it.live(shared, () =>
    inInstallation(1, (place) =>
      Effect.gen(function* () {
        const ports = yield* Effect.promise(() => Promise.all([freePort(), freePort(), freePort()]))
        const first = yield* run(place, "p0", ["start", "--mode", "distributed", "--port", String(ports[0])])
        const secret = (name: string) => readFileSync(join(place.folder, "p0", `operator.${name}`), "utf8").trim()
        const others = yield* Effect.forEach(
          [1, 2],
          (i) =>
            run(place, `p${i}`, [
              "start",
              "--mode",
              "distributed",
              "--engine",
              "none",
              "--port",
              String(ports[i]),
              "--operator-key",
              secret("key"),
              "--operator-token",
              secret("token")
            ]),
          { concurrency: 2 }
        )
        const all = [first, ...others]
        const call = async (process: Process, method: string, path: string, key: string, body?: unknown) => {
          const response = await fetch(`${process.ready.base_url}${path}`, {
            method,
            headers: { "x-svc-api-key": key },
            ...(body === undefined ? {} : { body: JSON.stringify(body) })
          })
          return {
            status: response.status,
            reset: response.headers.get("x-ratelimit-reset") ?? "",
            remaining: Number(response.headers.get("x-ratelimit-remaining")),
            body: (await response.json()) as any
          }
        }
        for (let round = 0; round < 2; round++) {
          const key = (yield* Effect.promise(() =>
            call(first, "POST", "/keys", first.ready.full_key!, { description: "plain", scope: "full" })
          )).body.value as string
          // Uneven shares: each process gets sixteen concurrent requests, all at once. The minute may change meanwhile,
          // so each minute is checked separately.
          const answers = (yield* Effect.forEach(
            all,
            (process, i) =>
              Effect.forEach(
                Array.from({ length: [500, 300, 40][i]! }),
                () => Effect.promise(() => call(process, "GET", "/keys", key)),
                { concurrency: 16 }
              ),
            { concurrency: "unbounded" }
          )).flat()
          assert.deepStrictEqual(
            [...new Set(answers.map(({ status }) => status))].filter((status) => status !== 200 && status !== 429),
            []
          )
          const byMinute = Map.groupBy(answers, ({ reset }) => reset)
          for (const [reset, minute] of byMinute)
            assert.strictEqual(
              minute.filter(({ status }) => status === 200).length,
              Math.min(600, minute.length),
              reset
            )
        }
        // A process is killed while it holds tokens: they are lost for the minute, not passed twice.
        const key = (yield* Effect.promise(() =>
          call(first, "POST", "/keys", first.ready.full_key!, { description: "plain", scope: "full" })
        )).body.value as string
        const before = yield* Effect.forEach(
          Array.from({ length: 30 }),
          () => Effect.promise(() => call(others[1]!, "GET", "/keys", key)),
          { concurrency: 8 }
        )
        process.kill(others[1]!.child.pid!, "SIGKILL")
        const after = yield* Effect.forEach(
          Array.from({ length: 640 }),
          (_, i) => Effect.promise(() => call(all[i % 2]!, "GET", "/keys", key)),
          { concurrency: 16 }
        )
        for (const [, minute] of Map.groupBy([...before, ...after], ({ reset }) => reset)) {
          const passed = minute.filter(({ status }) => status === 200).length
          assert.isAtMost(passed, 600)
          assert.isAtLeast(passed, Math.min(600, minute.length) - HELD_MAX)
        }
        for (const { child } of all.slice(0, 2)) process.kill(child.pid!, "SIGTERM")
        assert.deepStrictEqual(
          yield* Effect.promise(() => Promise.all(all.slice(0, 2).map(({ exited }) => exited))),
          [0, 0],
          first.said()
        )
      })
    )
  )

it("a quota, a plan and a wallet survive a kill, and are set and topped up from a terminal", async () => {
  const folder = mkdtempSync(join(tmpdir(), "dowser-limits-"))
  const root = new URL("../..", import.meta.url).pathname
  const data = join(folder, "data")
  const command = (...args: ReadonlyArray<string>) => {
    const ended = spawnSync("node", [join(root, "scripts", "bootstrap.mjs"), ...args, "--data-dir", data], {
      encoding: "utf8",
      cwd: root,
      env: Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("DOWSER_")))
    })
    return { status: ended.status, out: ended.stdout.trim(), said: ended.stderr }
  }
  try {
    let program = await launchPrepared(data)
    const { full_key: key, organization_id: organization } = program.ready as Record<string, string>
    const send = async (method: string, path: string, body?: unknown) => {
      const response = await fetch(`http://127.0.0.1:${program.port}/v1${path}`, {
        method,
        headers: { "x-svc-api-key": key! },
        ...(body === undefined ? {} : { body: JSON.stringify(body) })
      })
      return { status: response.status, body: (await response.json()) as any }
    }
    const planned = command("org", "plan", organization!, "standard", "--quota", "300", "--overage", "--json")
    assert.deepStrictEqual(
      JSON.parse(planned.out),
      { organization_id: organization, plan: "standard", quota: 300, overage: true },
      planned.said
    )
    assert.deepStrictEqual(
      JSON.parse(command("org", "top-up", organization!, "2.5", "--reference", "invoice 7", "--json").out),
      { organization_id: organization, credits: { balance: 2.5, reserved: 0, available: 2.5 } }
    )
    assert.strictEqual(
      command("org", "top-up", organization!, "2.5", "--reference", "invoice 7").out,
      "2.5 credits, 2.5 of them available"
    )
    const wrong = command("org", "top-up", organization!, "-1")
    assert.notStrictEqual(wrong.status, 0)
    await send("POST", "/collections", { name: "goods", fields: [{ name: "title", type: "string" }] })
    const search = () => send("GET", "/collections/goods/documents/search?q=x&query_by=title")
    for (let i = 0; i < 40; i++) assert.strictEqual((await search()).status, 200)
    const { body } = await send("GET", "/entitlement")
    assert.deepStrictEqual(
      [body.plan.id, body.quota.used, body.quota.limit, body.credits.balance, body.features.wallet_overage],
      ["standard", 40, 300, 2.5, true]
    )
    process.kill(program.pid(), "SIGKILL")
    await program.exited
    program = await launch(data)
    const later = (await send("GET", "/entitlement")).body
    // What the killed program held counts as used; nothing used is forgotten.
    assert.isAtLeast(later.quota.used, 40)
    assert.isAtMost(later.quota.used, 40 + HELD_MAX)
    assert.deepStrictEqual([later.plan.id, later.quota.limit, later.credits.balance], ["standard", 300, 2.5])
    program.signal("SIGTERM")
    assert.strictEqual(await program.exited, 0)
    program = await launch(data)
    // An orderly stop loses nothing.
    assert.strictEqual((await send("GET", "/entitlement")).body.quota.used, later.quota.used)
    assert.strictEqual(
      command("org", "plan", organization!, "free").out,
      "free, 10000 searches a month, no more than that"
    )
    assert.strictEqual((await send("GET", "/entitlement")).body.plan.id, "free")
    assert.deepInclude(JSON.parse(command("org", "pause", organization!, "--reason", "payment", "--json").out), {
      id: organization,
      status: "paused"
    })
    assert.strictEqual((await send("GET", "/entitlement")).status, 402)
    assert.strictEqual(command("org", "resume", organization!).out, `${organization} is active`)
    assert.deepInclude(JSON.parse(command("org", "resume", organization!, "--json").out), {
      id: organization,
      status: "active"
    })
    program.signal("SIGTERM")
    assert.strictEqual(await program.exited, 0)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
