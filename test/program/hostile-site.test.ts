/**
 * A site that attacks its crawler: endless links, redirects into our own network by address and by name, a few bytes
 * that become gigabytes, endless pages, bytes that hardly arrive, charsets that do not exist, pages made to be slow.
 * Each of them ends as an error that says what it was, and memory does not grow. Name server and route are simulated,
 * so that the program refuses private addresses as it does in production.
 */
import { Socket } from "node:net"
import { gzipSync } from "node:zlib"
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest"
import { type Program, startProgram, type Tenant } from "../support/program.ts"
import { eventually } from "../support/receiver.ts"
import { html, type Site, type SitePage, startSite } from "../support/site.ts"

const PUBLIC = "93.184.216.34",
  REBOUND = "93.184.216.35"
const addresses = new Map([
  ["site.example", PUBLIC],
  ["warm.example", PUBLIC],
  ["down.example", PUBLIC],
  ["maps.example", PUBLIC],
  ["late.example", PUBLIC],
  ["rebound.example", REBOUND],
  ["inside.example", "10.0.0.1"]
])
vi.mock("node:dns/promises", () => ({
  lookup: (host: string) => {
    const address = addresses.get(host)
    return address === undefined
      ? Promise.reject(new Error(`getaddrinfo ENOTFOUND ${host}`))
      : Promise.resolve([{ address, family: 4 }])
  }
}))
/** Both addresses lead to this machine; only one of them is allowed. */
const connect = Socket.prototype.connect
const reroute = () => {
  Socket.prototype.connect = function (this: Socket, ...given: ReadonlyArray<unknown>) {
    const [options, ...rest] = (Array.isArray(given[0]) ? given[0] : given) as [
      { host?: string; port?: number },
      ...ReadonlyArray<unknown>
    ]
    const host = options?.host
    if (host !== PUBLIC && host !== REBOUND) return Reflect.apply(connect, this, given) as Socket
    if (host === PUBLIC) Object.defineProperty(this, "remoteAddress", { value: PUBLIC })
    const callbacks = rest.filter((more) => typeof more === "function")
    return Reflect.apply(connect, this, [{ ...options, host: "127.0.0.1", lookup: undefined }, ...callbacks]) as Socket
  } as typeof connect
}

const xs = (n: number) => Buffer.alloc(n, "<p>words of a page </p>")
const bomb = gzipSync(Buffer.alloc(300_000_000, 97))
const typed = (more: object = {}) => ({ "content-type": "text/html", ...more })
const stream =
  (write: (response: import("node:http").ServerResponse) => void): SitePage =>
  (response) => {
    response.writeHead(200, typed())
    write(response)
  }
const hostile = (port: number): Record<string, SitePage> => ({
  "/loopback": { status: 302, headers: { location: `http://127.0.0.1:${port}/secret` } },
  "/metadata": { status: 302, headers: { location: "http://169.254.169.254/latest/meta-data/" } },
  "/mapped": { status: 302, headers: { location: `http://[::ffff:7f00:1]:${port}/secret` } },
  "/decimal": { status: 302, headers: { location: `http://2130706433:${port}/secret` } },
  "/rebound": { status: 302, headers: { location: `http://rebound.example:${port}/secret` } },
  "/inside": { status: 302, headers: { location: `http://inside.example:${port}/secret` } },
  "/file": { status: 302, headers: { location: "file:///etc/passwd" } },
  "/password": { status: 302, headers: { location: `http://user:secret@site.example:${port}/` } },
  "/circle": { status: 302, headers: { location: "/circle2" } },
  "/circle2": { status: 302, headers: { location: "/circle" } },
  "/bomb": { headers: typed({ "content-encoding": "gzip" }), body: bomb },
  "/no-gzip": { headers: typed({ "content-encoding": "gzip" }), body: "this is none" },
  "/huge": { headers: typed(), body: xs(10_000_000) },
  "/endless-page": stream((response) => {
    const piece = xs(65_536)
    const more = () => {
      while (response.writable && response.write(piece));
      if (response.writable) response.once("drain", more)
    }
    more()
  }),
  "/drip": stream((response) => {
    const timer = setInterval(() => response.write("."), 200)
    response.on("close", () => clearInterval(timer))
  }),
  "/silent": () => {},
  "/cut": stream((response) => {
    response.write("<p>half a page")
    setTimeout(() => response.socket?.destroy(), 50)
  }),
  "/charset": { headers: { "content-type": "text/html; charset=klingon" }, body: html("Odd", "<p>Grüße aus Köln</p>") },
  "/liar": {
    headers: { "content-type": "text/html; charset=utf-8" },
    body: Buffer.concat([Buffer.from("<p>caf"), Buffer.from([0xe9, 0xff, 0xfe]), Buffer.from("</p>")])
  },
  "/cyrillic": {
    headers: typed(),
    body: Buffer.concat([
      Buffer.from('<meta charset="windows-1251"><p>'),
      Buffer.from([0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2]),
      Buffer.from("</p>")
    ])
  },
  "/deep": { headers: typed(), body: "<div>".repeat(900_000) },
  "/tags": { headers: typed(), body: "<a href='/t'>x</a><h1>y</h1>".repeat(150_000) },
  "/json": {
    headers: typed(),
    body: `<script type="application/ld+json">${'{"@type":"Product","__proto__":{"name":"x"},"offers":'.repeat(5_000)}</script><p>after it</p>`
  }
})

let program: Program, tenant: Tenant, site: Site
const send = (method: string, path: string, body?: unknown) =>
  program.request(method, path, { key: tenant.full_key, ...(body === undefined ? {} : { body }) })
const crawl = async (config: object, source = "url") => {
  const answer = await send("POST", "/v1/ingest/jobs", {
    collection: "pages",
    source,
    config: { create_collection: true, delay_ms: 0, ...config }
  })
  if (answer.status !== 202) throw new Error(`${answer.status} ${answer.text}`)
  return eventually(
    "the end of the crawl",
    async () => {
      const { body } = await send("GET", `/v1/ingest/jobs/${answer.body.id}`)
      return body.finished_at === undefined ? undefined : body
    },
    240_000
  )
}
const origin = () => `http://site.example:${site.port}`

beforeAll(async () => {
  reroute()
  program = await startProgram()
  tenant = await program.tenant("Hunted")
  site = await startSite()
})
afterAll(async () => {
  Socket.prototype.connect = connect
  await site.stop()
  await program.stop()
})
beforeEach(() => {
  site.pages.clear()
  site.fallback = undefined
  site.asked.length = 0
})

describe("a hostile site", () => {
  it("causes errors that say what it did, and takes no memory", async () => {
    const links = (paths: ReadonlyArray<string>) => paths.map((path) => `<a href="${path}">x</a>`).join(" ")
    // A first crawl loads and creates everything that is loaded and created only once.
    site.fallback = (path) =>
      html(path, `<p>${"An ordinary page of words. ".repeat(40)}</p>${links([`${path}1`, `${path}2`])}`)
    await crawl({ start_urls: [`${origin()}/`], max_pages: 60, max_depth: 5 })
    const traps = hostile(site.port)
    for (const [path, page] of Object.entries(traps)) site.pages.set(path, page)
    // A second one lets the heaps grow to their usual size: ours and that of the site, which is in this process.
    const quick = Object.keys(traps).filter((path) => path !== "/drip" && path !== "/silent")
    await crawl({ start_urls: quick.map((path) => `http://warm.example:${site.port}${path}`), max_pages: 60 })
    site.asked.length = 0
    // Every unlisted page has 500 links to others.
    site.fallback = (path) =>
      html("More", `<p>${path}</p>${links(Array.from({ length: 500 }, (_, i) => `${path}/${i}`))}`)
    site.pages.set("/", html("Home", links(Object.keys(traps).filter((path) => path !== "/circle2"))))
    site.pages.set("/secret", html("Secret", "<p>secret</p>"))
    const before = process.memoryUsage().rss
    let peak = before
    const timer = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage().rss)
    }, 20)
    const job = await crawl({
      start_urls: [`${origin()}/`, `${origin()}/more`],
      max_pages: 150,
      max_depth: 5,
      same_host: false
    })
    clearInterval(timer)
    expect(job.status).toBe("ready")
    const errors = new Map<string, string>(job.stats.errors.map(({ error, id }: any) => [id, error]))
    const said = (path: string) => errors.get(origin() + path)
    expect(said("/bomb")).toBe("Unpacked, the answer has more than 5000000 bytes")
    expect(said("/no-gzip")).toMatch(/^The answer cannot be unpacked/)
    expect(said("/huge")).toBe("The answer has more than 5000000 bytes")
    expect(said("/endless-page")).toBe("The answer has more than 5000000 bytes")
    expect(said("/drip")).toBe("The answer did not end within 30 s")
    expect(said("/silent")).toBe("No answer within 10 s")
    expect(said("/cut")).toBeDefined()
    expect(said("/file")).toMatch(/neither http nor https/)
    expect(said("/password")).toMatch(/name and a password/)
    expect(site.paths().filter((path) => path.startsWith("/circle"))).toEqual(["/circle", "/circle2"])
    const hosts = [
      `127.0.0.1:${site.port}`,
      "169.254.169.254",
      `[::ffff:7f00:1]:${site.port}`,
      `rebound.example:${site.port}`,
      `inside.example:${site.port}`
    ]
    for (const host of hosts)
      expect([host, errors.get(host)]).toEqual([host, expect.stringMatching(/private or reserved address/)])
    expect(site.paths()).not.toContain("/secret")
    // The number of pages is as requested, that of addresses is bounded, and the program is as large as before.
    expect(job.stats.fetched).toBeLessThanOrEqual(150)
    expect(job.stats.cursor).toBeLessThanOrEqual(2 * 150 + 100)
    console.log(
      `memory grew by ${Math.round((peak - before) / 1e6)} MB at most, ${Math.round((process.memoryUsage().rss - before) / 1e6)} MB at the end`
    )
    expect((peak - before) / 1e6).toBeLessThan(150)

    const { text } = await send("GET", "/v1/collections/pages/documents/export")
    const contents = new Map(
      text
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line))
        .map((one: any) => [one.url.replace(origin(), ""), one.content])
    )
    expect(contents.get("/charset")).toBe("Grüße aus Köln")
    expect(contents.get("/cyrillic")).toBe("Привет")
    expect(contents.get("/liar")).toMatch(/^caf\ufffd+$/)
    expect(text).not.toContain("secret")
  })
  it("that is down, or asks for endless patience, is left alone", async () => {
    site.pages.set("/robots.txt", { status: 500 })
    const down = await crawl({
      start_urls: [`http://down.example:${site.port}/`, `http://down.example:${site.port}/a`]
    })
    expect(down).toMatchObject({ status: "ready", stats: { fetched: 0, imported: 0 } })
    expect(down.stats.errors).toEqual([
      { id: `down.example:${site.port}`, error: "the host is asked no more: robots.txt answered 500" }
    ])
    expect(site.paths()).toEqual(["/robots.txt"])
    site.asked.length = 0
    // Its robots.txt is cached from before.
    site.fallback = () => ({ status: 500 })
    const failing = await crawl({ start_urls: Array.from({ length: 20 }, (_, i) => `${origin()}/x${i}`) })
    expect(site.asked.length).toBe(5)
    expect(failing.stats.errors.at(-1)).toEqual({
      id: `site.example:${site.port}`,
      error: "the host is asked no more: 5 failures in a row; the last one: answered 500"
    })
    site.asked.length = 0
    site.pages.set("/robots.txt", { status: 404 })
    site.fallback = () => ({ status: 503, headers: { "retry-after": "86400" } })
    const patient = await crawl({
      start_urls: [`http://late.example:${site.port}/y1`, `http://late.example:${site.port}/y2`]
    })
    expect(site.paths()).toEqual(["/robots.txt", "/y1"])
    expect(patient.stats.errors[1].error).toMatch(/asks to come again in 86400 s/)
  })
  it("whose sitemap is hostile too ends as an error", async () => {
    const maps = `http://maps.example:${site.port}`
    const xml = (body: string | Uint8Array, more: object = {}): SitePage => ({
      headers: { "content-type": "text/xml", ...more },
      body
    })
    const root = (text: string) => xml(`<urlset>${text}</urlset>`)
    for (const [path, page, error] of [
      [
        "/bomb.xml",
        xml(gzipSync(`<urlset>${"<url></url>".repeat(5_000_000)}`)),
        /more than (50000000 bytes|100 times)/
      ],
      ["/page.xml", xml(html("No", "")), /begins with <html>|not well-formed/],
      [
        "/laughs.xml",
        xml('<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><urlset><url><loc>&b;</loc></url></urlset>'),
        /not well-formed/
      ],
      ["/text.xml", root("x".repeat(3_000_000)), /more text between two tags/],
      ["/deep.xml", root("<a>".repeat(100_000)), /nests deeper/],
      ["/self.xml", xml(`<sitemapindex><sitemap><loc>${maps}/self.xml</loc></sitemap></sitemapindex>`), undefined],
      ["/gone.xml", { status: 404 } as SitePage, /answered 404/]
    ] as const) {
      site.pages.set(path, page)
      const job = await crawl({ url: maps + path }, "sitemap")
      expect([path, job.status, job.stats.errors.map(({ error: said }: any) => said)]).toEqual([
        path,
        "ready",
        error === undefined ? [] : [expect.stringMatching(error)]
      ])
    }
  })
})
