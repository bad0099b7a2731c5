/**
 * Crawls and sitemaps over HTTP, of sites on loopback: what becomes a document, which robots rules apply, what a second
 * crawl requests; two organizations side by side.
 */
import { createHash } from "node:crypto"
import { gzipSync } from "node:zlib"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import type { Program, Tenant } from "../support/program.ts"
import { sharedProgram } from "../support/shared-program.ts"
import { eventually, pause } from "../support/receiver.ts"
import { html, type Site, type SitePage, startSite } from "../support/site.ts"

let program: Program, tenant: Tenant, other: Tenant
const sites: Array<Site> = []
const site = async (pages: Readonly<Record<string, SitePage>>) => {
  const started = await startSite(pages)
  sites.push(started)
  return started
}
const send = (method: string, path: string, body?: unknown, key = tenant.full_key) =>
  program.request(method, path, { key, ...(body === undefined ? {} : { body }) })
const over = (id: string, key = tenant.full_key) =>
  eventually(`the end of ${id}`, async () => {
    const { body } = await send("GET", `/v1/ingest/jobs/${id}`, undefined, key)
    return body.finished_at === undefined ? undefined : body
  })
const start = async (body: object, key = tenant.full_key) => {
  const answer = await send("POST", "/v1/ingest/jobs", body, key)
  if (answer.status !== 202) throw new Error(`${answer.status} ${answer.text}`)
  return answer.body
}
let made = 0
const collection = () => `pages_${made++}`
const crawl = async (name: string, config: object, key = tenant.full_key, source = "url") =>
  over(
    (await start({ collection: name, source, config: { create_collection: true, delay_ms: 0, ...config } }, key)).id,
    key
  )
const stored = async (name: string, key = tenant.full_key): Promise<ReadonlyArray<any>> => {
  const { text } = await send("GET", `/v1/collections/${name}/documents/export`, undefined, key)
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line))
    .sort((a, b) => (a.url < b.url ? -1 : 1))
}
const pathsOf = async (name: string, key?: string) => (await stored(name, key)).map(({ url }) => new URL(url).pathname)
const idOf = (url: string) => createHash("sha256").update(url).digest("hex").slice(0, 32)
const words = (about: string) =>
  `<p>${`All that there is to say about ${about}, in a sentence that people read. `.repeat(6)}</p>`

beforeAll(async () => {
  program = await sharedProgram({ allowPrivateAddresses: true })
  tenant = await program.tenant("Crawls")
  other = await program.tenant("Beside")
})
afterAll(() => program.stop())
afterEach(async () => {
  for (const started of sites.splice(0)) await started.stop()
})

describe("a crawl", () => {
  it("makes documents of pages along their links, and of nothing that visitors do not see", async () => {
    const shop = await site({
      "/": html(
        "Lamps",
        `<h1>Lamps &amp; more</h1>${words("lamps")}<a href="/desk?utm_source=x#top">Desk</a> <a href="product">P</a>
         <div style="display: none">hiddenone</div><div hidden>hiddentwo</div><span aria-hidden="true">hiddenthree</span>
         <template>hiddenfour</template><noscript>hiddenfive</noscript><!-- hiddensix --><p>vis\u200bible</p><script>hiddenseven</script>`,
        `<meta name="description" content="A shop of lamps"><meta property="og:image" content="/lamp.png"><meta property="article:published_time" content="2026-01-02T00:00:00Z">`
      ),
      "/desk": html("Desk lamps", words("desks") + `<a href="/">home</a><a href="/deep">deep</a>`),
      "/deep": html("Deep", words("depth")),
      "/product": html(
        "ignored",
        "<p>text</p>",
        `<script type="application/ld+json">{"@context":"https://schema.org","@graph":[{"@type":"Product","name":"Reading lamp","description":"<b>Warm</b> light","brand":{"@type":"Brand","name":"Lumen"},"sku":"L-1","image":["/a.png","https://cdn.example/b.png"],"offers":{"@type":"Offer","price":"1 299,50","priceCurrency":"EUR","availability":"https://schema.org/InStock"},"additionalProperty":[{"@type":"PropertyValue","name":"Colour","value":"red"}]},{"@type":"BreadcrumbList","itemListElement":[{"position":2,"name":"Desk"},{"position":1,"item":{"name":"Home"}},{"position":3,"name":"Reading lamp"}]}]}</script>`
      )
    })
    const name = collection()
    const job = await crawl(name, { start_urls: [`${shop.origin}/`] })
    expect(job).toMatchObject({ status: "ready", progress: 1, source: "url" })
    expect(job.stats).toMatchObject({ fetched: 4, imported: 4, failed: 0, errors: [] })
    const documents = await stored(name)
    expect(documents.map(({ id, url }) => [id, url])).toEqual(
      ["/", "/deep", "/desk", "/product"].map((path) => [idOf(shop.origin + path), shop.origin + path])
    )
    const [home, , , product] = documents
    expect(home).toMatchObject({
      title: "Lamps",
      description: "A shop of lamps",
      headings: ["Lamps & more"],
      image: `${shop.origin}/lamp.png`,
      lang: "en",
      published_at: 1_767_312_000
    })
    expect(home.content).toContain("All that there is to say about lamps")
    expect(JSON.stringify(home)).not.toMatch(/hidden|\u200b/)
    expect(home.content).toContain("visible")
    expect(product).toEqual({
      id: idOf(`${shop.origin}/product`),
      url: `${shop.origin}/product`,
      title: "Reading lamp",
      description: "Warm light",
      brand: "Lumen",
      price: 1299.5,
      currency: "EUR",
      categories: ["Home", "Desk"],
      image: `${shop.origin}/a.png`,
      images: [`${shop.origin}/a.png`, "https://cdn.example/b.png"],
      in_stock: true,
      sku: "L-1",
      attributes: { Colour: "red" }
    })
    expect(shop.paths()[0]).toBe("/robots.txt")
    expect(new Set(shop.paths()).size).toBe(shop.paths().length)
    expect(shop.asked[1]!.headers["user-agent"]).toMatch(/^DowserBot\/\d/)
  })
  it("obeys robots.txt, directives of pages, globs, the host and its bounds", async () => {
    const away = await site({ "/": html("Away", words("away")) })
    const shop = await site({
      "/robots.txt": {
        headers: { "content-type": "text/plain" },
        body: "User-agent: *\nDisallow: /\n\nUser-agent: DowserBot\nDisallow: /private\nAllow: /private/open\n"
      },
      "/": html(
        "Home",
        `${words("home")}<a href="/private/a">1</a><a href="/private/open">2</a><a href="/noindex">3</a><a href="/nofollow">4</a><a href="/copy">5</a><a href="/skip/a">6</a><a rel="nofollow" href="/rel">7</a><a href="http://localhost:${away.port}/">8</a><a href="/moved">9</a><a href="/pdf">10</a><a href="/gone">11</a><a href="/header">12</a>`
      ),
      "/private/open": html("Open", words("openness")),
      "/noindex": html("No", `${words("no")}<a href="/behind">x</a>`, `<meta name="robots" content="noindex">`),
      "/behind": html("Behind", words("behind")),
      "/nofollow": html("Nf", `${words("nf")}<a href="/never">x</a>`, `<meta name="robots" content="nofollow">`),
      "/never": html("Never", words("never")),
      "/copy": html("Copy", words("copy"), `<link rel="canonical" href="/original">`),
      "/original": html("Original", words("original"), `<link rel="canonical" href="/original">`),
      "/skip/a": html("Skip", words("skip")),
      "/moved": { status: 301, headers: { location: "/target" } },
      "/target": html("Target", words("target")),
      "/pdf": { headers: { "content-type": "application/pdf" }, body: "%PDF" },
      "/header": { headers: { "x-robots-tag": "otherbot: index, dowserbot: noindex" }, body: html("H", words("h")) }
    })
    const name = collection()
    const job = await crawl(name, { urls: [`${shop.origin}/`], exclude: ["/skip/*"] })
    expect(await pathsOf(name)).toEqual(["/", "/behind", "/nofollow", "/original", "/private/open", "/target"])
    expect(job.stats.errors).toEqual([
      { id: `${shop.origin}/pdf`, error: "is application/pdf, which is no page" },
      { id: `${shop.origin}/gone`, error: "is not there (404 or 410)" }
    ])
    expect(shop.paths()).not.toContain("/private/a")
    expect(shop.paths()).not.toContain("/never")
    expect(shop.paths()).not.toContain("/skip/a")
    expect(shop.paths()).not.toContain("/rel")
    expect(away.asked).toEqual([])
    const few = collection()
    await crawl(few, { start_urls: [`${shop.origin}/`], max_depth: 0 })
    expect(await pathsOf(few)).toEqual(["/"])
    const three = collection()
    expect((await crawl(three, { start_urls: [`${shop.origin}/`], max_pages: 3 })).stats.fetched).toBe(3)
    const blind = collection()
    await crawl(blind, { start_urls: [`${shop.origin}/`], obey_robots: false, include: ["/private/*", "/noindex"] })
    expect(await pathsOf(blind)).toEqual(["/noindex", "/private/open"])
    const wide = collection()
    await crawl(wide, { start_urls: [`${shop.origin}/`], same_host: false, include: ["*://*/"] })
    expect((await stored(wide)).map(({ title }) => title).sort()).toEqual(["Away", "Home"])
  })
  it("is refused with every wrong field, and shows no job of another organization", async () => {
    for (const [config, path] of [
      [{}, "config"],
      [{ urls: ["http://a.example"], start_urls: ["http://a.example"] }, "config"],
      [{ urls: [] }, "config.urls"],
      [{ urls: ["ftp://a.example"] }, "config.urls[0]"],
      [{ urls: ["http://u:p@a.example"] }, "config.urls[0]"],
      [{ urls: ["http://a.example"], max_pages: 10_001 }, "config.max_pages"],
      [{ urls: ["http://a.example"], max_depth: 6 }, "config.max_depth"],
      [{ urls: ["http://a.example"], depth: 6 }, "config.depth"]
    ] as const) {
      const answer = await send("POST", "/v1/ingest/jobs", {
        collection: "x",
        source: "url",
        config: { ...config, create_collection: true }
      })
      expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(path)])
    }
    const shop = await site({ "/": html("Home", words("home")) })
    const name = collection()
    const mine = await crawl(name, { urls: [`${shop.origin}/`] })
    const theirs = await crawl(name, { urls: [`${shop.origin}/`] }, other.full_key)
    expect((await send("GET", `/v1/ingest/jobs/${mine.id}`, undefined, other.full_key)).status).toBe(404)
    expect(theirs.stats.imported).toBe(1)
    // What one organization stores about a page is not shared with the other.
    expect(shop.paths().filter((path) => path === "/").length).toBe(2)
    expect(shop.paths().filter((path) => path === "/robots.txt").length).toBe(1)
  })
})

describe("a second crawl", () => {
  it("sends conditional requests, writes what changed, deletes what is missing twice, and nothing else", async () => {
    const tagged =
      (text: string, tag: string): SitePage =>
      (response, request) =>
        request.headers["if-none-match"] === tag
          ? void response.writeHead(304).end()
          : void response.writeHead(200, { "content-type": "text/html", etag: tag }).end(text)
    const shop = await site({
      "/": tagged(html("Home", `${words("home")}<a href="/a">a</a><a href="/b">b</a>`), '"1"'),
      "/a": tagged(html("A", words("a")), '"1"'),
      "/b": html("B", words("b"))
    })
    const name = collection()
    const config = { urls: [`${shop.origin}/`] }
    expect((await crawl(name, config)).stats).toMatchObject({ fetched: 3, imported: 3 })
    shop.asked.length = 0
    expect((await crawl(name, config)).stats).toMatchObject({ fetched: 3, imported: 0, failed: 0 })
    expect([...shop.paths()].sort()).toEqual(["/", "/a", "/b"])
    expect(shop.asked.map(({ headers }) => headers["if-none-match"]).filter((tag) => tag !== undefined)).toEqual([
      '"1"',
      '"1"'
    ])
    // A new page linked from a changed one, a changed page, and a page that is temporarily unavailable.
    shop.pages.set("/a", html("A2", `${words("another a")}<a href="/new">new</a>`))
    shop.pages.set("/new", html("New", words("new")))
    shop.pages.delete("/b")
    const third = await crawl(name, config)
    expect(third.stats).toMatchObject({ imported: 2, failed: 0 })
    expect(third.stats.deleted ?? 0).toBe(0)
    expect((await stored(name)).map(({ title }) => title).sort()).toEqual(["A2", "B", "Home", "New"])
    expect((await crawl(name, config)).stats).toMatchObject({ imported: 0, deleted: 1 })
    expect(await pathsOf(name)).toEqual(["/", "/a", "/new"])
    // Available again, and then missing: counted from the beginning.
    shop.pages.set("/a", { status: 404 })
    await crawl(name, config)
    shop.pages.set("/a", html("A2", `${words("another a")}<a href="/new">new</a>`))
    await crawl(name, config)
    shop.pages.set("/a", { status: 404 })
    await crawl(name, config)
    expect(await pathsOf(name)).toEqual(["/", "/a", "/new"])
  })
  it("writes everything again into a recreated collection, and if requested", async () => {
    const shop = await site({ "/": { headers: { etag: '"1"' }, body: html("Home", words("home")) } })
    const name = collection()
    await crawl(name, { urls: [`${shop.origin}/`] })
    expect((await crawl(name, { urls: [`${shop.origin}/`], refresh: true })).stats.imported).toBe(1)
    await send("DELETE", `/v1/collections/${name}`)
    await pause(1_100)
    expect((await crawl(name, { urls: [`${shop.origin}/`] })).stats.imported).toBe(1)
  })
  it("deletes sections that a page lost, and pages that may no longer be indexed", async () => {
    const long = Array.from(
      { length: 6 },
      (_, i) => `<h2>Part ${i}</h2><p>${`Sentence ${i} of a long page. `.repeat(40)}</p>`
    ).join("")
    const shop = await site({
      "/": html("Long", `<article><h1>Top</h1>${long}</article><a href="/x">x</a>`),
      "/x": html("X", words("x"))
    })
    const name = collection()
    const config = { urls: [`${shop.origin}/`] }
    await crawl(name, config)
    const sections = (await stored(name)).filter(({ parent_url }) => parent_url === `${shop.origin}/`)
    expect(sections.length).toBeGreaterThanOrEqual(6)
    expect(sections.map(({ section }) => section).sort((a, b) => a - b)).toEqual(sections.map((_, i) => i + 1))
    for (const { content } of sections) expect(content.length).toBeLessThanOrEqual(1_200)
    expect(sections.find(({ section }) => section === 3)!.headings.length).toBeGreaterThan(0)
    shop.pages.set("/", html("Short", `<p>Short now.</p><a href="/x">x</a>`))
    shop.pages.set("/x", html("X", words("x"), `<meta name="robots" content="none">`))
    const again = await crawl(name, config)
    expect(again.stats).toMatchObject({ imported: 1, deleted: sections.length })
    expect((await stored(name)).map(({ title }) => title)).toEqual(["Short"])
  })
})

describe("a sitemap", () => {
  it("reads the pages that it and its nested sitemaps list, compressed or not, and skips unchanged ones", async () => {
    const shop = await site({})
    const urls = (...paths: ReadonlyArray<string>) =>
      `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e "boom">]><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${paths.map((path) => `<url><loc> ${path.startsWith("/") ? shop.origin + path : path} </loc><lastmod>2020-01-01</lastmod></url>`).join("")}</urlset>`
    const xml = (body: string | Uint8Array): SitePage => ({ headers: { "content-type": "application/xml" }, body })
    shop.pages.set(
      "/sitemap.xml",
      xml(
        `<sitemapindex><sitemap><loc>${shop.origin}/one.xml.gz</loc></sitemap><sitemap><loc>${shop.origin}/two.xml</loc></sitemap><sitemap><loc>${shop.origin}/broken.xml</loc></sitemap><sitemap><loc>${shop.origin}/absent.xml</loc></sitemap></sitemapindex>`
      )
    )
    shop.pages.set("/one.xml.gz", xml(gzipSync(urls("/a", "/b?x=1&amp;y=2"))))
    shop.pages.set("/two.xml", xml(urls("/c", "/blog/d", "http://elsewhere.example/")))
    shop.pages.set("/broken.xml", xml("<urlset><url></urlset>"))
    for (const path of ["/a", "/b?x=1&y=2", "/c", "/blog/d"])
      shop.pages.set(path, html(path, `${words(path)}<a href="/linked">x</a>`))
    const name = collection()
    const config = { url: `${shop.origin}/sitemap.xml`, exclude: ["/blog/**"] }
    const job = await crawl(name, config, tenant.full_key, "sitemap")
    expect(job).toMatchObject({ status: "ready", stats: { fetched: 3, imported: 3 } })
    expect((await stored(name)).map(({ url }) => url)).toEqual([
      `${shop.origin}/a`,
      `${shop.origin}/b?x=1&y=2`,
      `${shop.origin}/c`
    ])
    expect(job.stats.errors.map(({ error, id }: any) => [id, error.replace(/\(.*/, "")])).toEqual([
      [`${shop.origin}/broken.xml`, "The sitemap is not well-formed XML "],
      [`${shop.origin}/absent.xml`, "The sitemap answered 404"],
      [`${shop.origin}/sitemap.xml`, "1 addresses of the sitemap are of another host, or are none"]
    ])
    shop.asked.length = 0
    expect((await crawl(name, config, tenant.full_key, "sitemap")).stats.fetched).toBe(0)
    expect(shop.paths().filter((path) => !path.includes(".xml"))).toEqual([])
  })
})
