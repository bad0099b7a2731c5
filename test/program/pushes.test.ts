/**
 * Pushes through the whole program: killed with SIGKILL at random moments under load, it loses no acknowledged push and
 * applies none twice or out of order; and a flood by one tenant does not delay another's single pushes.
 */
import { createHmac } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { launchPrepared, type Launched } from "../support/launched.ts"
import { type Program, startProgram } from "../support/program.ts"
import { eventually, pause } from "../support/receiver.ts"

const signed = (text: string, secret: string) => {
  const at = Math.floor(Date.now() / 1_000)
  return {
    "x-signature-timestamp": String(at),
    "x-signature": createHmac("sha256", secret).update(`${at}.${text}`).digest("hex")
  }
}
const collection = {
  name: "products",
  fields: [
    { name: "title", type: "string" },
    { name: "n", type: "int32", facet: true }
  ]
}
const connector = { name: "Shop", collection: "products", provider: "generic", sync_mode: "push" }
const CLIENTS = 3,
  DOCUMENTS = 10,
  KILLS = 3

it("none is lost, applied twice or applied out of order after kill -9", async () => {
  const folder = mkdtempSync(join(tmpdir(), "dowser-pushes-"))
  const start = () => launchPrepared(join(folder, "data"), ["--no-demo"])
  let program: Launched | undefined = await start()
  try {
    const key = program.ready.full_key!
    const send = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
      const response = await fetch(`http://127.0.0.1:${program!.port}/v1${path}`, {
        method,
        headers: { "x-svc-api-key": key, ...headers },
        ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) })
      })
      return { status: response.status, body: (await response.json()) as any }
    }
    await send("POST", "/collections", collection)
    const { id, secret } = (await send("POST", "/connectors", connector)).body
    let isOver = false
    /** Sends every document's next number until it is acknowledged, and then the following one. */
    const client = async (mine: number) => {
      let n = 0
      const jobs: Array<string> = []
      for (; !isOver;) {
        const events = Array.from({ length: DOCUMENTS }, (_, i) => ({
          external_id: `${mine}-${i}`,
          version: n,
          document: { title: `Number ${n}`, n }
        }))
        const text = JSON.stringify({ events })
        const answer = await send("POST", `/connectors/${id}/webhook`, text, signed(text, secret)).catch(
          () => undefined
        )
        if (answer?.status === 202) {
          jobs.push(answer.body.job_id)
          n++
        } else await pause(20)
      }
      return { last: n - 1, jobs }
    }
    const clients = Array.from({ length: CLIENTS }, (_, mine) => client(mine))
    for (let kill = 0; kill < KILLS; kill++) {
      await pause(300 + Math.random() * 900)
      process.kill(program.pid(), "SIGKILL")
      await program.exited
      program = await start()
    }
    await pause(300)
    isOver = true
    const done = await Promise.all(clients)
    for (const [mine, { jobs, last }] of done.entries()) {
      for (const job of jobs)
        await eventually(
          `the job ${job}`,
          async () => (await send("GET", `/jobs/${job}`)).body.status === "ready" || undefined
        )
      for (let i = 0; i < DOCUMENTS; i++) {
        const document = (await send("GET", `/collections/products/documents/${mine}-${i}`)).body
        // The push in flight at the end was acknowledged as well, because its client waits for that.
        expect([`${mine}-${i}`, document.n]).toEqual([`${mine}-${i}`, last])
      }
      const lines: Array<{ version: number; status: string }> = []
      for (let cursor = ""; ;) {
        const page = (await send("GET", `/connectors/${id}/journal?external_id=${mine}-0&limit=250&cursor=${cursor}`))
          .body
        lines.push(...page.data)
        if (page.next_cursor === undefined) break
        cursor = page.next_cursor
      }
      const versions = lines.map(({ version }) => version).reverse()
      expect(lines.filter(({ status }) => status !== "applied")).toEqual([])
      expect(versions).toEqual([...versions].sort((a, b) => a - b))
      expect(new Set(versions)).toEqual(new Set(Array.from({ length: last + 1 }, (_, n) => n)))
      // Other than the acknowledged pushes, there are only those that a kill interrupted before their answer and that
      // were sent again.
      expect(versions.length).toBeLessThanOrEqual(last + 1 + KILLS)
    }
    console.log(`${done.reduce((sum, { jobs }) => sum + jobs.length, 0)} pushes were answered beside ${KILLS} kills`)
  } finally {
    program?.signal("SIGTERM")
    await program?.exited
    rmSync(folder, { recursive: true, force: true })
  }
})

describe("a flood", () => {
  let program: Program
  beforeAll(async () => {
    program = await startProgram()
  })
  afterAll(() => program.stop())
  const prepared = async (name: string) => {
    const tenant = await program.tenant(name)
    const send = (method: string, path: string, body?: unknown) =>
      program.request(method, `/v1${path}`, { key: tenant.full_key, body })
    await send("POST", "/collections", collection)
    const { id, secret } = (await send("POST", "/connectors", connector)).body
    const push = async (events: ReadonlyArray<unknown>) => {
      const text = JSON.stringify({ events })
      const answer = await program.request("POST", `/v1/connectors/${id}/webhook`, {
        body: text,
        headers: { "content-type": "application/json", ...signed(text, secret) }
      })
      expect(answer.status, answer.text).toBe(202)
      return answer.body.job_id as string
    }
    const isOver = async (job: string) =>
      (await send("GET", `/jobs/${job}`)).body.finished_at !== undefined || undefined
    return { push, isOver, send }
  }

  it("does not delay another tenant's single pushes beyond two seconds", async () => {
    const flood = await prepared("Flood")
    const quiet = await prepared("Quiet")
    const jobs: Array<string> = []
    const flooding = (async () => {
      for (let i = 0; i < 60; i++)
        jobs.push(
          await flood.push(
            Array.from({ length: 500 }, (_, k) => ({
              external_id: `${i}-${k}`,
              document: { title: `Lamp ${k}`, n: i }
            }))
          )
        )
    })()
    const waits: Array<number> = []
    for (let i = 0; i < 12; i++) {
      const job = await quiet.push([{ external_id: `${i}`, document: { title: "One", n: i } }])
      const began = performance.now()
      while (!(await quiet.isOver(job))) await pause(20)
      waits.push(performance.now() - began)
      await pause(100)
    }
    await flooding
    await eventually("the flood is applied", () => flood.isOver(jobs.at(-1)!))
    console.log(`single pushes beside a flood waited ${Math.round(Math.max(...waits))} ms at most`)
    expect(Math.max(...waits)).toBeLessThan(2_000)
  })
  it("whose second half is older than its first changes nothing twice", async () => {
    const { isOver, push, send } = await prepared("Shop of two feeds")
    const jobs: Array<string> = []
    // Each is a batch of its own, and nothing is applied before all have arrived: the older ones are written while the
    // newer ones are recorded.
    await send("DELETE", "/collections/products")
    for (const version of [2, 1])
      for (let i = 0; i < 8; i++)
        jobs.push(
          await push(
            Array.from({ length: 500 }, (_, k) => ({
              external_id: `${i}-${k}`,
              version,
              document: { title: `Version ${version}`, n: version }
            }))
          )
        )
    await send("POST", "/collections", collection)
    for (const job of jobs) await eventually(`the job ${job}`, () => isOver(job))
    const found = (await send("GET", "/collections/products/documents/search?q=*&facet_by=n")).body
    expect([found.found, found.facet_counts[0].counts]).toEqual([
      4_000,
      [expect.objectContaining({ value: "2", count: 4_000 })]
    ])
    const results = await Promise.all(jobs.map(async (job) => (await send("GET", `/jobs/${job}`)).body.result))
    const nothing = { applied: 0, ignored: 0, failed: 0 }
    expect(results.slice(0, 8)).toEqual(Array.from({ length: 8 }, () => ({ ...nothing, applied: 500 })))
    expect(results.slice(8)).toEqual(Array.from({ length: 8 }, () => ({ ...nothing, ignored: 500 })))
  })
})
