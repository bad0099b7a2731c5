/**
 * The whole program, killed with SIGKILL in the middle of a crawl and of a sitemap: it resumes from its frontier, every
 * page ends up in the collection, and no counted page is fetched again. A cancelled crawl fetches nothing more.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"
import { launchPrepared, type Launched } from "../support/launched.ts"
import { eventually, pause } from "../support/receiver.ts"
import { html, type Site, startSite } from "../support/site.ts"

const PAGES = 150
const flags = ["--no-demo", "--allow-private-addresses"]
let folder: string, program: Launched, key: string, site: Site
const send = async (method: string, path: string, body?: unknown) => {
  const answer = await fetch(`http://127.0.0.1:${program.port}/v1${path}`, {
    method,
    headers: { "x-svc-api-key": key },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  const text = await answer.text()
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
  return { text, body: (text.startsWith("{") ? JSON.parse(text.split("\n")[0]!) : undefined) as any }
}
const stored = async (collection: string) =>
  (await send("GET", `/collections/${collection}/documents/export`)).text.split("\n").filter(Boolean).length
/** A page that links to two others. */
const page = (path: string) => {
  const n = Number(path.slice(2))
  const links = [2 * n + 1, 2 * n + 2].filter((to) => to < PAGES).map((to) => `<a href="/p${to}">${to}</a>`)
  return html(`Page ${n}`, `<p>All about number ${n}, in words.</p>${links.join(" ")}`)
}
const countsOf = () => {
  const counts = new Map<string, number>()
  for (const path of site.paths()) if (path.startsWith("/p")) counts.set(path, (counts.get(path) ?? 0) + 1)
  return counts
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "dowser-crawl-kill-"))
  program = await launchPrepared(join(folder, "data"), flags)
  key = program.ready.full_key!
  site = await startSite()
  site.fallback = (path) => (/^\/p\d+$/.test(path) ? page(path) : { status: 404 })
  site.pages.set("/sitemap.xml", {
    headers: { "content-type": "application/xml" },
    body: `<urlset>${Array.from({ length: PAGES }, (_, i) => `<url><loc>${site.origin}/p${i}</loc></url>`).join("")}</urlset>`
  })
})
afterAll(async () => {
  await site.stop()
  program.signal("SIGTERM")
  expect(await program.exited).toBe(0)
  rmSync(folder, { recursive: true, force: true })
})

for (const source of ["url", "sitemap"])
  it(`${source} resumes, and fetches no page again that it had counted`, async () => {
    site.asked.length = 0
    const own =
      source === "url" ? { start_urls: [`${site.origin}/p0`], max_depth: 5 } : { url: `${site.origin}/sitemap.xml` }
    // A tree of that depth has 63 pages; the sitemap lists all of them.
    const pages = source === "url" ? 63 : PAGES
    const { body } = await send("POST", "/ingest/jobs", {
      collection: source,
      source,
      config: { ...own, delay_ms: 60, create_collection: true }
    })
    const before = await eventually("the middle of it", async () => {
      const { stats } = (await send("GET", `/ingest/jobs/${body.id}`)).body
      return stats.imported > 0 ? (stats as { readonly imported: number }) : undefined
    })
    process.kill(program.pid(), "SIGKILL")
    await program.exited
    const asked = new Set(countsOf().keys())
    expect(before.imported).toBeLessThan(pages)
    program = await launchPrepared(join(folder, "data"), flags)
    const ended = await eventually("the end of it", async () => {
      const job = (await send("GET", `/ingest/jobs/${body.id}`)).body
      return job.finished_at === undefined ? undefined : job
    })
    expect(ended).toMatchObject({ status: "ready", progress: 1, stats: { imported: pages, failed: 0 } })
    expect(await stored(source)).toBe(pages)
    const twice = [...countsOf()].filter(([, count]) => count > 1)
    expect(countsOf().size).toBe(pages)
    // Only pages that had been fetched but not counted yet; a batch takes two seconds and one page.
    expect(twice.every(([, count]) => count === 2)).toBe(true)
    expect(twice.length).toBeLessThanOrEqual(Math.min(32, asked.size - before.imported))
  })

it("a cancelled crawl fetches nothing more, and what it wrote stays", async () => {
  site.asked.length = 0
  const { body } = await send("POST", "/ingest/jobs", {
    collection: "cancelled",
    source: "url",
    config: { start_urls: [`${site.origin}/p0`], max_depth: 5, delay_ms: 300, create_collection: true }
  })
  await eventually("some pages", async () => {
    const { stats } = (await send("GET", `/ingest/jobs/${body.id}`)).body
    return stats.imported > 0 ? true : undefined
  })
  expect((await send("POST", `/ingest/jobs/${body.id}/cancel`)).body.status).toBe("cancelled")
  await pause(2_500)
  const asked = site.asked.length
  await pause(1_500)
  expect(site.asked.length).toBe(asked)
  expect(await stored("cancelled")).toBeGreaterThan(0)
})
