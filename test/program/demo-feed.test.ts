/** A first start as a person does it: the demo shop has a feed, whose job is shown to its owner and on its page. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { launchPrepared } from "../support/launched.ts"
import { eventually } from "../support/receiver.ts"

it("the demo imports a supplier's feed by a job", async () => {
  const folder = mkdtempSync(join(tmpdir(), "dowser-demo-feed-"))
  const program = await launchPrepared(join(folder, "data"), ["--demo-products", "300"])
  try {
    const base = `http://127.0.0.1:${program.port}`
    const feed = await eventually("the feed", async () => {
      const figures = (await (await fetch(`${base}/demo/figures.json`)).json()) as { feed?: { status: string } }
      return figures.feed?.status === "ready" ? figures.feed : undefined
    })
    expect(feed).toEqual({ name: "Supplier feed", status: "ready", progress: 1, imported: 300 })
    const answer = await fetch(`${base}/v1/ingest/jobs`, { headers: { "x-svc-api-key": program.ready.full_key! } })
    expect(((await answer.json()) as { data: ReadonlyArray<object> }).data).toMatchObject([
      { name: "Supplier feed", source: "inline", stats: { imported: 300, failed: 0 } }
    ])
  } finally {
    program.signal("SIGTERM")
    expect(await program.exited).toBe(0)
    rmSync(folder, { recursive: true, force: true })
  }
})
