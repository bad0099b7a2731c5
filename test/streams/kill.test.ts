/**
 * The whole program under load, killed with SIGKILL at random moments and restarted over the same folder; whatever was
 * not acknowledged is sent again. Afterwards every event is counted exactly once, compared with the plain oracle.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import { freePort } from "../../src/runtime/free-port.ts"
import { denoFlags } from "../../scripts/runtime-flags.mjs"
import type { BehaviouralEvent } from "../../log/event-schema.ts"
import { generate, oracleRows, type OracleRow, seeded } from "../support/attribution-oracle.ts"

const KILLS = 5
const BATCH = 12
const SENDERS = 6
const pause = (ms: number) => new Promise((settle) => setTimeout(settle, ms))

interface Ready {
  readonly full_key: string
  readonly search_key: string
}
interface Life {
  readonly child: ChildProcess
  readonly ready: Ready
  readonly base: string
}
/** Each run uses a new port, because another test may take a released one. */
const start = async (dataDir: string): Promise<Life> => {
  const port = await freePort()
  const flags = (globalThis as { readonly Deno?: unknown }).Deno === undefined ? [] : denoFlags
  const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url))
  const child = spawn(
    process.execPath,
    [...flags, main, "start", "--no-demo", "--json", "--port", String(port), "--data-dir", dataDir],
    { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, DOWSER_MODELS: "off" } }
  )
  let errors = ""
  child.stderr!.on("data", (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-4_000)
  })
  const ready = await new Promise<Ready>((settle, reject) => {
    let text = ""
    child.stdout!.on("data", (chunk: Buffer) => {
      text += chunk.toString()
      const end = text.indexOf("\n")
      if (end >= 0) settle(JSON.parse(text.slice(0, end)) as Ready)
    })
    child.once("exit", (code) => reject(new Error(`The program ended while starting (exit code ${code}): ${errors}`)))
  })
  return { child, ready, base: `http://127.0.0.1:${port}/v1` }
}
/**
 * Signals by process id: after `ChildProcess.kill`, Deno reports that the process has ended while it is still ending.
 */
const end = (child: ChildProcess, signal: "SIGKILL" | "SIGTERM") =>
  child.exitCode !== null || child.signalCode !== null
    ? Promise.resolve()
    : new Promise<void>((settle) => {
        child.once("exit", () => settle())
        process.kill(child.pid!, signal)
      })

describe("kill -9", () => {
  it("at random points under load loses no acknowledged event and counts none twice", async () => {
    const folder = mkdtempSync(join(tmpdir(), "dowser-kill-"))
    const random = seeded(2_026)
    let program: ChildProcess | undefined
    try {
      const first = await start(join(folder, "data"))
      program = first.child
      let { base } = first
      const { full_key, search_key } = first.ready
      const began = Date.now()
      // Several visits at different times, so that there is much to count; every event has an id.
      const events: Array<BehaviouralEvent> = []
      for (let visit = 0; visit < 12; visit++) {
        const part = generate(visit + 1, 500, began - (visit + 2) * 3_600_000)
        events.push(
          ...part.events.map((event, i): BehaviouralEvent => ({
            ...event,
            event_id: `${visit}-${event.event_id ?? `n${i}`}`,
            session_id: event.session_id && `${visit}-${event.session_id}`,
            user_id: event.user_id && `${visit}-${event.user_id}`,
            query_id: event.query_id && `${visit}-${event.query_id}`
          }))
        )
      }
      const batches = Array.from({ length: Math.ceil(events.length / BATCH) }, (_, i) =>
        events.slice(i * BATCH, (i + 1) * BATCH)
      )
      let next = 0
      let acknowledged = 0
      let retries = 0
      let isDown = false
      let onSent: (() => void) | undefined
      const sender = async () => {
        while (next < batches.length) {
          const batch = batches[next++]!
          for (;;) {
            while (isDown) await pause(10)
            const request = fetch(`${base}/events`, {
              method: "POST",
              headers: { "x-svc-api-key": search_key },
              body: JSON.stringify({ events: batch })
            })
              .then(async (response) =>
                response.status === 200
                  ? ((await response.json()) as { accepted: number; deduplicated: number; rejected: Array<unknown> })
                  : undefined
              )
              .catch(() => undefined)
            onSent?.()
            const answer = await request
            if (answer !== undefined) {
              expect(answer.rejected).toEqual([])
              expect(answer.accepted + answer.deduplicated).toBe(batch.length)
              acknowledged++
              break
            }
            retries++
            await pause(5)
          }
          // Slow enough for the processors to count meanwhile.
          await pause(random() * 40)
        }
      }
      const senders = Promise.all(Array.from({ length: SENDERS }, sender))
      for (let kill = 0; kill < KILLS; kill++) {
        // Each run takes a share of the batches and ends while a request is in flight; the last one ends in the same
        // turn that sent a request, which then certainly stays unanswered, however fast the machine is.
        const until = ((kill + random()) / KILLS) * (batches.length - 8 * SENDERS)
        while (acknowledged < until) await pause(1)
        await new Promise<void>((settle) => {
          onSent = settle
        })
        onSent = undefined
        if (kill < KILLS - 1) await pause(random() * 8)
        isDown = true
        await end(program, "SIGKILL")
        const next = await start(join(folder, "data"))
        program = next.child
        base = next.base
        isDown = false
      }
      await senders
      expect(acknowledged).toBe(batches.length)
      expect(retries).toBeGreaterThan(0)

      const range = `from=${new Date(began - 20 * 3_600_000).toISOString()}&to=${new Date(began + 3_600_000).toISOString()}`
      const read = async (query: string) =>
        (await (
          await fetch(`${base}/analytics/metrics/queries?${range}&limit=1000&${query}`, {
            headers: { "x-svc-api-key": full_key }
          })
        ).json()) as { events: number; data: Array<Record<string, number | string>> }
      const distinct = new Set(events.map(({ event_id }) => event_id)).size
      let counted = await read("")
      for (let waited = 0; counted.events < distinct && waited < 60_000; waited += 50) {
        await pause(50)
        counted = await read("")
      }
      await pause(500)
      expect((await read("")).events).toBe(distinct)
      const expected = [...oracleRows({ organizationId: "", served: [], events })]
      for (const collection of ["products", "articles"]) {
        const rows = Object.fromEntries(
          (await read(`collection=${collection}`)).data.map(
            ({ q, searches, clicks, add_to_carts, purchases, revenue }) => [
              q,
              { searches, clicks, add_to_carts, purchases, revenue }
            ]
          )
        )
        const should = Object.fromEntries(
          expected
            .filter(([key]) => key.startsWith(`${collection}|`))
            .map(([key, row]: [string, OracleRow]) => [
              key.slice(collection.length + 1),
              {
                searches: row.searches,
                clicks: row.clicks,
                add_to_carts: row.add_to_carts,
                purchases: row.purchases,
                revenue: row.revenue
              }
            ])
        )
        expect(rows).toEqual(should)
      }
    } finally {
      if (program !== undefined) await end(program, "SIGTERM")
      // A server that just ended may still write its last files.
      rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
    }
  })
})
