/** The guide as a site: its pages are listed, no link is dead, generated parts are current, and it can be searched. */
import { readFileSync } from "node:fs"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { commandPage } from "../../src/cli/command-page.ts"
import { deadLinks } from "../../src/docs/guide/dead-links.ts"
import { declaredSite } from "../../src/docs/guide/declared-site.ts"
import { targetOf } from "../../src/docs/guide/places.ts"
import { readPage } from "../../src/docs/guide/read-page.ts"
import type { GuideSite } from "../../src/docs/guide/site.ts"
import { allOperations } from "../support/operations.ts"
import type { Program } from "../support/program.ts"
import { sharedProgram } from "../support/shared-program.ts"

let program: Program
let site: GuideSite
beforeAll(async () => {
  program = await sharedProgram()
  site = await declaredSite()
})
afterAll(() => program.stop())

const PLANTED = ["docs", "planted.md"].join("/")
/** The site with one additional, planted page. */
const planted = (text: string): Pick<GuideSite, "fileOf" | "ids" | "places" | "read"> => ({
  places: () => site.places(),
  ids: async () => [...(await site.ids()), "planted"],
  fileOf: async (id) => (id === "planted" ? PLANTED : site.fileOf(id)),
  read: async (id) => {
    const places = await site.places()
    return id === "planted" ? readPage(text, (href) => targetOf(places, PLANTED, href)) : site.read(id)
  }
})

describe("the guide", () => {
  it("has no dead link, to a page, a heading, a picture or a file", { timeout: 120_000 }, async () => {
    expect(await deadLinks(site)).toEqual([])
  })
  it("reports a dead link that is planted", { timeout: 120_000 }, async () => {
    const fine =
      "[a](plans.md#ai-credits) [b](../src/room.ts) ![c](demo.png) [d](/docs) [e](#here) [f](https://example.com)"
    expect(await deadLinks(planted(`# Planted\n\n${fine}\n\n## Here\n`))).toEqual([])
    const dead = [
      "[1](none.md)",
      "[2](plans.md#no-such-heading)",
      "[3](../src/none.ts)",
      "![4](none.png)",
      "[5](#nowhere)",
      "[6](/docs/guide/none)",
      "[7](/nothing)",
      "[8](../../outside.md)"
    ]
    const found = await deadLinks(planted(`# Planted\n\n${dead.join(" ")}\n`))
    expect(found.map((each) => /^docs\/planted\.md: ([^ ]+):/.exec(each)?.[1])).toEqual(
      dead.map((each) => /\(([^)]+)\)/.exec(each)![1])
    )
  })
  it("lists every page in the sidebar", async () => {
    const listed = (await site.sections()).flatMap(({ pages }) => pages.map(({ id }) => id))
    expect((await site.ids()).filter((id) => id !== "" && !listed.includes(id))).toEqual([])
    expect(new Set(listed).size).toBe(listed.length)
  })
  it("has every operation on a page of the API, as it is declared", async () => {
    const texts = await Promise.all(
      (await site.ids()).filter((id) => id.startsWith("api")).map(async (id) => (await site.read(id))!.html())
    )
    const html = texts.join("\n").replaceAll("&amp;", "&")
    const public_ = (await allOperations()).filter(({ path }) => /^\/(v1|console|api\/v1)\//.test(path))
    expect(public_.length).toBeGreaterThan(300)
    const missing = public_.filter(
      ({ method, path }) => !html.includes(`${method} ${path.replace(/:([A-Za-z_]+)/g, "{$1}")}`)
    )
    expect(missing.map(({ id }) => id)).toEqual([])
  })
  it("has every command as it is declared: `npm run docs` writes the page", async () => {
    const written = readFileSync(new URL("../../docs/commands.md", import.meta.url), "utf8")
    expect(written).toBe(await Effect.runPromise(commandPage))
    for (const command of ["start", "org create", "keys create", "bench engine", "models install"])
      expect(written).toContain(`\n## ${command}\n`)
  })
})

describe("a page", () => {
  it("escapes HTML and scripts in its text", async () => {
    const html = readPage(
      "# <b>A</b>\n\n<script>alert(1)</script> [x](javascript:alert(1)) ![y](javascript:alert(2))\n\n```html\n<script>\n```\n\n```constructor\n<i>\n```\n",
      () => ({ kind: "elsewhere", address: "https://example.com" })
    ).html()
    expect(html).not.toMatch(/<(script|b|i)>|href="javascript|src="javascript/)
    expect(html).toContain("&lt;script&gt;")
  })
  it("is served as one page, and not sent again to a client that has it", async () => {
    const first = await program.request("GET", "/docs/guide/plans")
    expect([first.status, first.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"])
    expect(first.text).toContain('<h2 id="ai-credits">AI credits</h2>')
    expect(first.text).toContain('<a href="/docs/guide/plans" aria-current="page">')
    const again = { headers: { "if-none-match": first.headers.get("etag") ?? "" } }
    expect((await program.request("GET", "/docs/guide/plans", again)).status).toBe(304)
    expect((await program.request("GET", "/docs/guide/engine-sdk/architecture")).status).toBe(200)
    const picture = await program.request("GET", "/docs/guide/architecture.svg")
    expect([picture.status, picture.headers.get("content-type")]).toEqual([200, "image/svg+xml"])
    expect(picture.headers.get("content-security-policy")).toContain("sandbox")
  })
  it("that does not exist is not found, however it is spelled", async () => {
    for (const name of [
      "none",
      "__proto__",
      "constructor",
      "..%2Fpackage.json",
      "plans.md",
      "engine-sdk/none",
      "%2e%2e%2f/x"
    ])
      expect([name, (await program.request("GET", `/docs/guide/${name}`)).status]).toEqual([name, 404])
  })
})

describe("the search of the guide", () => {
  const search = async (q: string) => program.request("GET", `/docs/guide/search.json?q=${encodeURIComponent(q)}`)
  it("finds passages in spite of typing errors, at addresses that exist", { timeout: 120_000 }, async () => {
    const { body, status } = await search("restore a bakcup")
    expect(status).toBe(200)
    expect(body.hits.length).toBeGreaterThan(2)
    expect(body.hits.length).toBeLessThanOrEqual(10)
    expect(body.hits.map(({ url }: { url: string }) => url)).toContain("/docs/guide/operating#backups")
    for (const { url } of body.hits) expect((await program.request("GET", url.split("#")[0])).status).toBe(200)
  })
  it("takes a query of at most 100 characters and says so", async () => {
    expect((await search("x".repeat(100))).status).toBe(200)
    expect((await search("x".repeat(101))).status).toBe(400)
    expect((await program.request("GET", "/docs/guide/search.json")).status).toBe(400)
    expect((await search("")).status).toBe(200)
  })
})
