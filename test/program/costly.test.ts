/**
 * Searches built to be slow, against a running program, while another tenant searches: 99 of 100 of its small searches
 * wait at most `WAIT_MS` for the searching thread, nothing is answered with 500, and memory is flat. This runs a share
 * of them; `DOWSER_COSTLY_SEARCHES=2000 npm test -- program/costly` runs all, and `DOWSER_COSTLY_SEED` selects another
 * seed.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { makeRandom } from "../../fixtures/random.ts"
import { percentile, searchBeside } from "../support/costly/beside.ts"
import { makeCatalogue } from "../support/costly/catalogue.ts"
import { costlyRequest } from "../support/costly/searches.ts"
import { launchPrepared, type Launched } from "../support/launched.ts"
import { promised } from "../support/patience.ts"

const seed = process.env.DOWSER_COSTLY_SEED ?? "dowser"
const searches = Number(process.env.DOWSER_COSTLY_SEARCHES ?? 16)
const isLong = process.env.DOWSER_COSTLY_SEARCHES !== undefined
/** The longest that a small search may wait for the searching thread. */
const WAIT_MS = promised(50)
/** The number of concurrent searches, half of them by each organization. */
const AT_ONCE = isLong ? 8 : 2
/**
 * Growth of the program's own pages: the index of the catalogue, what two threads derive from it, and heaps that are
 * collected at their own time.
 */
const GROWTH_MB_MAX = 600

let folder: string
let program: Launched
const request = async (
  method: string,
  path: string,
  key: string,
  body?: unknown
): Promise<{ readonly status: number; readonly text: string }> => {
  const response = await fetch(`http://127.0.0.1:${program.port}${path}`, {
    method,
    headers: path.startsWith("/api/") ? { authorization: `Bearer ${key}` } : { "x-svc-api-key": key },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) })
  })
  return { status: response.status, text: await response.text() }
}
/** Creates a full key without a rate limit, because fifty entries of a multi-search take fifty tokens. */
const organization = async (name: string): Promise<string> => {
  const operator = async (path: string, body: unknown) => {
    const answer = await fetch(`http://127.0.0.1:${program.port}/console/v1/${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${readFileSync(join(folder, "data", "operator.token"), "utf8").trim()}` },
      body: JSON.stringify(body)
    })
    return (await answer.json()) as Readonly<Record<string, string>>
  }
  const { id, organization_id = id } = await operator("organizations", { name, plan: "standard" })
  return (
    await operator(`organizations/${organization_id}/keys`, {
      description: "fast",
      scope: "full",
      rate_limit_per_minute: 1_000_000
    })
  ).value!
}
const pagesMb = () =>
  Number(/RssAnon:\s+(\d+) kB/.exec(readFileSync(`/proc/${program.pid()}/status`, "utf8"))?.[1]) / 1024
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "dowser-costly-"))
  program = await launchPrepared(join(folder, "data"), ["--no-demo"])
})
afterAll(async () => {
  program.signal("SIGTERM")
  await program.exited
  rmSync(folder, { recursive: true, force: true })
})

describe("costly searches", () => {
  it(`delay nobody: ${searches} by seed ${seed}`, async () => {
    const attackers = [await organization("Costly 1"), await organization("Costly 2")],
      quiet = await organization("Quiet")
    for (const key of attackers)
      await makeCatalogue((method, path, body) => request(method, path, key, body), makeRandom(seed).fork("catalogue"))
    await request("POST", "/v1/collections", quiet, {
      name: "shop",
      fields: [{ name: "title", type: "string", facet: true }]
    })
    await request(
      "POST",
      "/v1/collections/shop/documents/import",
      quiet,
      Array.from({ length: 200 }, (_document, i) => JSON.stringify({ id: String(i), title: `lamp number ${i}` })).join(
        "\n"
      )
    )

    const random = makeRandom(seed).fork("searches")
    const faults: Array<string> = [],
      kinds = new Map<string, number>(),
      memory: Array<number> = []
    let next = 0,
      refused = 0
    const beside = searchBeside(
      program.pid(),
      () => request("GET", "/v1/collections/shop/documents/search?q=lamp&query_by=title&facet_by=title", quiet),
      (text) => text.includes('"found":200,')
    )
    const worker = async (): Promise<void> => {
      while (next < searches) {
        const number = next++,
          { body, kind, method, path } = costlyRequest(random)
        const { status, text } = await request(method, path, attackers[number % 2]!, body).catch(
          async (error: unknown) => {
            throw new Error(
              `${number} ${kind}: ${String(error)}\n  ${path.slice(0, 300)} ${JSON.stringify(body)
                ?.replaceAll(/(.)\1{20,}/g, "$1…")
                .slice(
                  0,
                  1_500
                )}\n${program.stderr().slice(-3_000)}\nexit: ${String(await Promise.race([program.exited, new Promise((settle) => setTimeout(settle, 2_000))]))}`
            )
          }
        )
        kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
        if (status >= 400) refused++
        if (status >= 500 && status !== 503 && status !== 504)
          faults.push(
            `${number} ${kind} ${status}: ${text.slice(0, 300)}\n  ${path.slice(0, 300)} ${JSON.stringify(body)?.slice(0, 600)}`
          )
        // A failed entry of a multi-search is inside the answer.
        if (text.includes('"code":500'))
          faults.push(`${number} ${kind}: ${text.slice(text.indexOf('"code":500'), text.indexOf('"code":500') + 200)}`)
        if (number % 10 === 9) memory.push(pagesMb())
      }
    }
    const from = performance.now()
    try {
      await Promise.all(Array.from({ length: AT_ONCE }, worker))
    } finally {
      await beside.stop()
    }
    const { failures, waits_ms } = beside
    console.log(
      `${searches} costly searches in ${((performance.now() - from) / 1_000).toFixed(0)} s (${[...kinds].map(([kind, count]) => `${count} ${kind}`).join(", ")}; ${refused} refused); beside them ${waits_ms.length} small ones waited for ms of the thread: median ${percentile(waits_ms, 0.5).toFixed(1)}, p99 ${percentile(waits_ms, 0.99).toFixed(1)}, most ${Math.max(...waits_ms).toFixed(1)}; own pages, MB: ${memory.map((mb) => mb.toFixed(0)).join(" ")}`
    )
    expect(faults).toEqual([])
    expect(failures).toEqual([])
    // Nearly all of them must be searches, not refusals.
    expect(refused / searches).toBeLessThan(0.2)
    expect(waits_ms.length).toBeGreaterThan(50)
    expect(percentile(waits_ms, 0.99)).toBeLessThanOrEqual(WAIT_MS)
    expect(memory.at(-1)! - memory[Math.floor(memory.length / 3)]!).toBeLessThan(GROWTH_MB_MAX)
  }, 1_200_000)
})
