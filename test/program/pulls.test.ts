/**
 * A pull through the whole program, killed with SIGKILL at random pages: it resumes at the page where it was, every
 * product arrives, and each was applied once except those of the pages that a kill interrupted.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { launchPrepared, type Launched } from "../support/launched.ts"
import { eventually, pause } from "../support/receiver.ts"

const PAGES = 40,
  PAGE_PRODUCTS = 30,
  KILLS = 3

it("resumes at the page where it was killed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "dowser-pulls-"))
  const asked: Array<number> = []
  const shop = createServer(({ url }, response) => {
    const page = Number(new URL(url!, "http://shop").searchParams.get("cursor") ?? 0)
    asked.push(page)
    const data = Array.from({ length: PAGE_PRODUCTS }, (_, i) => ({ id: `${page}-${i}`, title: `Lamp ${i}`, n: page }))
    setTimeout(() => {
      response.setHeader("content-type", "application/json")
      response.end(JSON.stringify({ data, ...(page + 1 < PAGES ? { next_cursor: page + 1 } : {}) }))
    }, 40)
  })
  await new Promise<void>((settle) => shop.listen(0, "127.0.0.1", settle))
  const start = () => launchPrepared(join(folder, "data"), ["--no-demo", "--allow-private-addresses"])
  let program: Launched | undefined = await start()
  try {
    const key = program.ready.full_key!
    const send = async (method: string, path: string, body?: unknown) => {
      const response = await fetch(`http://127.0.0.1:${program!.port}/v1${path}`, {
        method,
        headers: { "x-svc-api-key": key },
        ...(body === undefined ? {} : { body: JSON.stringify(body) })
      })
      return { status: response.status, body: (await response.json()) as any }
    }
    await send("POST", "/collections", { name: "products", fields: [{ name: "title", type: "string" }] })
    const pull_url = `http://127.0.0.1:${(shop.address() as AddressInfo).port}/products`
    const connector = { name: "Shop", collection: "products", provider: "generic", sync_mode: "pull", pull_url }
    const { id } = (await send("POST", "/connectors", connector)).body
    const started = await send("POST", `/connectors/${id}/sync`, { full: true })
    expect(started.status, JSON.stringify(started.body)).toBe(202)
    for (let kill = 1; kill <= KILLS; kill++) {
      const until = (kill * PAGES) / (KILLS + 1)
      await eventually("it is at work", () => (Math.max(-1, ...asked) >= until ? true : undefined))
      await pause(Math.random() * 60)
      process.kill(program.pid(), "SIGKILL")
      await program.exited
      program = await start()
    }
    const job = await eventually("the pull is over", async () => {
      const { body } = await send("GET", `/jobs/${started.body.id}`)
      return body.finished_at === undefined ? undefined : body
    })
    expect(job).toMatchObject({
      status: "ready",
      result: { pages: PAGES, received: PAGES * PAGE_PRODUCTS, applied: PAGES * PAGE_PRODUCTS, ignored: 0, failed: 0 }
    })
    expect((await send("GET", "/collections/products")).body.num_documents).toBe(PAGES * PAGE_PRODUCTS)
    const repeated = asked.length - new Set(asked).size
    console.log(`${repeated} of ${PAGES} pages were asked for again after ${KILLS} kills`)
    expect(repeated).toBeLessThanOrEqual(KILLS)
  } finally {
    program?.signal("SIGTERM")
    await program?.exited
    shop.closeAllConnections()
    await new Promise((settle) => shop.close(settle))
    rmSync(folder, { recursive: true, force: true })
  }
})
