/**
 * What operators monitor: the table of `docs/metrics.md` matches what the program measures, counts are exact after
 * known work of two tenants, and nothing that a tenant named is shown.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { Effect } from "effect"
import { afterAll, beforeAll, expect, it } from "vitest"
import { measures } from "../../src/admin-server.ts"
import { exposition } from "../../src/metrics/exposition.ts"
import type { Measure } from "../../src/metrics/measure.ts"
import { processMeasures } from "../../src/metrics/process-measures.ts"
import { type Program, startProgram, type Tenant } from "../support/program.ts"

const file = new URL("../../docs/metrics.md", import.meta.url)
const BEGIN = "<!-- table -->\n"
const END = "<!-- /table -->"

let program: Program
const tenants: Array<Tenant> = []
beforeAll(async () => {
  program = await startProgram()
  for (const name of ["Lamplight", "Moonshine"]) tenants.push(await program.tenant(name))
})
afterAll(() => program.stop())

/** The program has everything that metrics are read from; its helpers name the few services that most tests need. */
const run = <A>(effect: Effect.Effect<A, never, any>): Promise<A> => program.run(effect as Effect.Effect<A>)
const all = (): Promise<ReadonlyArray<Measure>> => run(Effect.map(measures, (own) => [...processMeasures, ...own]))
const scraped = async (): Promise<ReadonlyMap<string, number>> => {
  const text = await Effect.runPromise(exposition(await all()))
  for (const { organization_id } of tenants) expect(text).not.toContain(organization_id)
  expect(text).not.toMatch(/Lamplight|Moonshine|lanterns|candle/)
  return new Map(
    text
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#"))
      .map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ") + 1))])
  )
}

it("the table of the guide matches what the program measures", async () => {
  const wanted = (await all())
    .map(({ help, name, type }) => `| \`${name}\` | ${type} | ${help} |\n`)
    .toSorted((a, b) => (a < b ? -1 : 1))
    .join("")
  const text = readFileSync(file, "utf8")
  const from = text.indexOf(BEGIN) + BEGIN.length
  const rows = text.slice(from, text.indexOf(END)).split("\n").slice(2).join("\n")
  if (process.env.UPDATE_GOLDEN === "1")
    writeFileSync(
      file,
      `${text.slice(0, from)}| Metric | Type | Meaning |\n|---|---|---|\n${wanted}${text.slice(text.indexOf(END))}`
    )
  else expect(rows).toBe(wanted)
})

it("counts what was requested, appended and answered, over all tenants and without their names", async () => {
  const before = await scraped()
  const grownBy = async (name: string) => ((await scraped()).get(name) ?? 0) - (before.get(name) ?? 0)
  for (const { full_key: key } of tenants) {
    const send = (method: string, path: string, body?: unknown) => program.request(method, path, { key, body })
    await send("POST", "/v1/collections", { name: "lanterns", fields: [{ name: "title", type: "string" }] })
    await send("POST", "/v1/collections/lanterns/documents", { id: "1", title: "candle" })
    for (const collection of ["lanterns", "lanterns", "unknown"])
      await send("GET", `/v1/collections/${collection}/documents/search?q=candle&query_by=title`)
    const event = { type: "view", collection: "lanterns", document_id: "1", session_id: "s" }
    await send("POST", "/v1/events", { events: [event, event, { type: "no such type" }] })
  }
  expect(await grownBy('dowser_http_requests_total{operation="searchCollection",status="200"}')).toBe(4)
  expect(await grownBy('dowser_http_requests_total{operation="searchCollection",status="404"}')).toBe(2)
  expect(await grownBy('dowser_http_request_seconds_count{operation="searchCollection"}')).toBe(6)
  expect(await grownBy('dowser_http_request_seconds_bucket{operation="searchCollection",le="+Inf"}')).toBe(6)
  expect(await grownBy("dowser_engine_collections")).toBe(2)
  expect(await grownBy("dowser_engine_documents")).toBe(2)
  expect(await grownBy('dowser_engine_call_seconds_count{call="search"}')).toBe(4)
  expect(await grownBy('dowser_engine_call_seconds_count{call="write"}')).toBe(2)
  expect(await grownBy('dowser_events_total{verdict="accepted"}')).toBe(4)
  expect(await grownBy('dowser_events_total{verdict="refused"}')).toBe(2)
  expect(await grownBy('dowser_log_records_total{topic="behaviour.events.v1"}')).toBe(2)
  await expect.poll(() => grownBy('dowser_background_seconds_count{task="search reports"}')).toBeGreaterThan(0)
  // The health check runs every two seconds.
  const flushes = async () =>
    [...(await scraped())]
      .filter(([name]) => name.startsWith('dowser_stream_flushes_total{group="attribution"'))
      .reduce((sum, [, value]) => sum + value, 0)
  await expect.poll(flushes, { interval: 200, timeout: 60_000 }).toBeGreaterThan(0)
})
