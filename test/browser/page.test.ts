/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/**
 * The demo page in headless Chromium, from its own origin and from a second one: search as you type with typos, facets,
 * sorts, a cart whose events reach analytics, no request to any other host, and the basics of accessibility.
 */
import { createServer, type Server } from "node:http"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { Browser, Page } from "playwright-core"
import sharp from "sharp"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { launchBrowser } from "../support/browser.ts"
import { freePort } from "../../src/runtime/free-port.ts"
import { installedModels } from "../support/models.ts"
import { type Program, startProgram } from "../support/program.ts"

const page_ = new URL("../../src/demo/page/", import.meta.url).pathname
let program: Program
let browser: Browser | string
beforeAll(async () => {
  browser = await launchBrowser()
  if (typeof browser === "string") return
  program = await startProgram({ demoProducts: 1500 })
})
afterAll(async () => {
  if (typeof browser !== "string") await browser.close()
  await program?.stop()
})

const open = async (address: string) => {
  if (typeof browser === "string") throw new Error(browser)
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  const errors: Array<string> = []
  const hosts = new Set<string>()
  /** The bodies of the searches that the page sent. */
  const searched: Array<string> = []
  page.on("pageerror", (error) => errors.push(error.message))
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text())
  })
  page.on("request", (request) => {
    if (!request.url().startsWith("data:")) hosts.add(new URL(request.url()).hostname)
    if (request.url().includes("multi_search")) searched.push(request.postData() ?? "")
  })
  await page.goto(address)
  await page.waitForSelector(".ais-Hits-item")
  return { page, errors, hosts, searched }
}
const foundOn = async (page: Page) =>
  Number(((await page.textContent(".ais-Stats-text")) ?? "").replace(/,/g, "").match(/^\s*(\d+)/)?.[1])
const settled = async (page: Page, condition: (found: number) => boolean) => {
  for (let waited = 0; waited < 5000; waited += 50) {
    if (condition(await foundOn(page))) return
    await page.waitForTimeout(50)
  }
  throw new Error(`the page still shows ${await page.textContent(".ais-Stats-text")}`)
}

/**
 * Waits until both lists of a product's page have content: the page requests them once, so it must be opened
 * afterwards.
 */
const counted = async (key: string, document_id: string) => {
  const { models } = await (await fetch(`${program.base}/demo/config.json`)).json()
  for (const model_id of [models.also_viewed, models.bought_together])
    await expect
      .poll(
        async () => {
          const asked = { model_id, document_id, anonymous_id: "waiting", filter_by: "in_stock:true", limit: 6 }
          const { body } = await program.request("POST", "/v1/recommendations", { key, body: asked })
          return body.hits?.[0]?.reason.support ?? body
        },
        { interval: 100, timeout: 60_000 }
      )
      .toBe(3)
}

describe("a product of the demo page", () => {
  it("shows what others looked at and bought with it, and why, at any width", async (context) => {
    if (typeof browser === "string") return context.skip(`browser lane: ${browser}`)
    const { full_key: key } = program.demo!
    const { body } = await program.request(
      "GET",
      "/v1/collections/products/documents/search?q=*&filter_by=in_stock:true",
      { key }
    )
    const [one, other] = body.hits.map(({ document }: { document: { id: string; title: string } }) => document)
    const event = { collection: "products", revenue: 1, type: "purchase" }
    for (const session_id of ["a", "b", "c"])
      await program.request("POST", "/v1/events", {
        key,
        body: { events: [one, other].map(({ id }) => ({ ...event, document_id: id, session_id })) }
      })
    await counted(key, one.id)
    const { errors, page } = await open(`${program.base}/`)
    const opener = page.locator(`[data-open="${one.id}"]`)
    const bought = page.locator("#bought-together li:first-child"),
      seen = page.locator("#also-viewed li:first-child")
    const find = async () => {
      await page.fill(".ais-SearchBox-input", one.title)
      await opener.waitFor()
    }
    await find()
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 844 })
      await opener.click()
      await page.waitForSelector("#bought-together:not([hidden])")
      await page.waitForSelector("#also-viewed:not([hidden])")
      // Where other tests keep the processors busy, an answer may be late, and other products are shown in its place.
      const isLate = async () =>
        !(await bought.textContent())!.includes("Bought with it") ||
        !(await seen.textContent())!.includes("Seen with it")
      for (let looks = 1; looks < 20 && (await isLate()); looks++) {
        await page.reload()
        await find()
        await opener.click()
        await page.waitForSelector("#bought-together:not([hidden])")
        await page.waitForSelector("#also-viewed:not([hidden])")
      }
      expect(await page.textContent("#product-title")).toBe(one.title)
      expect(await bought.textContent()).toContain("Bought with it 3 times")
      expect(await page.textContent("#also-viewed li:first-child")).toContain("Seen with it in 3 visits")
      expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
      if (process.env.DOWSER_SCREENSHOTS !== undefined)
        await page.screenshot({ path: join(process.env.DOWSER_SCREENSHOTS, `product-${width}.png`) })
      await page.keyboard.press("Escape")
    }
    await opener.click()
    await page.locator("#bought-together li button").first().click()
    await page.waitForFunction((title) => document.querySelector("#product-title")!.textContent === title, other.title)
    expect(errors).toEqual([])
    await page.close()
  })
})

describe("the switch for meaning", () => {
  it("says why only words are searched, then finds what is meant, at any width", async (context) => {
    if (typeof browser === "string") return context.skip(`browser lane: ${browser}`)
    const { missing } = await installedModels()
    if (missing !== undefined) return context.skip(missing)
    const small = await startProgram({ demoProducts: 60 })
    try {
      const { errors, page } = await open(`${small.base}/`)
      const note = (text: string) =>
        expect.poll(() => page.textContent("#meaning-note"), { interval: 50, timeout: 60_000 }).toContain(text)
      await page.fill(".ais-SearchBox-input", "something for reading at night")
      await page.check("#meaning")
      await note("Vectors of the catalogue are being made")
      const again = async () => {
        await page.uncheck("#meaning")
        await page.check("#meaning")
      }
      const asked = { q: "something for reading at night", profile: "shop", per_page: 24 }
      const answers = async () => {
        const path = "/v1/collections/products/documents/semantic_search"
        return small.request("POST", path, { key: small.demo!.full_key, body: asked })
      }
      await expect.poll(async () => (await answers()).status, { interval: 500, timeout: 120_000 }).toBe(402)
      await again()
      await note("credits")
      await small.topUp(small.demo!.organization_id, 10)
      const expected = (await answers()).body.hits.map(({ document }: any) => document.id)
      await again()
      await page.waitForFunction(
        (ids) =>
          JSON.stringify(
            [...document.querySelectorAll<HTMLElement>("[data-open]")].map(({ dataset }) => dataset.open)
          ) === JSON.stringify(ids),
        expected
      )
      expect(expected.length).toBeGreaterThan(3)
      expect(await page.isHidden("#meaning-note")).toBe(true)
      // Typing twenty letters must cost one paid search, not twenty.
      const paid: Array<string> = []
      page.on("request", (request) => {
        if (request.url().includes("semantic_search")) paid.push(JSON.parse(request.postData()!).q)
      })
      await page.fill(".ais-SearchBox-input", "")
      await page.type(".ais-SearchBox-input", "gift for a good cook", { delay: 20 })
      await expect.poll(() => paid.at(-1), { timeout: 60_000 }).toBe("gift for a good cook")
      expect(paid.length).toBeLessThanOrEqual(3)
      await page.locator("[data-open]").first().click()
      await page.waitForSelector("#similar:not([hidden])")
      expect(await page.textContent("#similar li:first-child")).toContain("Much like it")
      await page.keyboard.press("Escape")
      for (const width of [1280, 390]) {
        await page.setViewportSize({ width, height: 844 })
        expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
        if (process.env.DOWSER_SCREENSHOTS !== undefined)
          await page.screenshot({ path: join(process.env.DOWSER_SCREENSHOTS, `meaning-${width}.png`) })
      }
      // The two refusals, as the browser's console reports them.
      expect(errors.filter((text) => !/status of (402|409)/.test(text))).toEqual([])
      await page.close()
    } finally {
      await small.stop()
    }
  })
})

describe("demo page", () => {
  it("searches as you type, corrects typos, filters and sorts", async (context) => {
    if (typeof browser === "string") return context.skip(`browser lane: ${browser}`)
    const { errors, hosts, page, searched } = await open(`${program.base}/`)
    const all = await foundOn(page)
    expect(all).toBe(1500)
    // Every visible product has its picture.
    await page.waitForFunction(() => {
      const pictures = [...document.querySelectorAll("img.picture")] as Array<HTMLImageElement>
      const seen = pictures.filter(
        (each) => each.getBoundingClientRect().height > 0 && each.getBoundingClientRect().top < innerHeight
      )
      return seen.length > 3 && seen.every(({ naturalWidth }) => naturalWidth === 160)
    })
    await page.type(".ais-SearchBox-input", "hedphones", { delay: 30 })
    await settled(page, (found) => found > 0 && found < all)
    expect((await page.textContent(".ais-Hits-item h3"))?.toLowerCase()).toContain("headphones")
    expect(await page.locator(".ais-Hits-item mark").count()).toBeGreaterThan(0)
    const typed = await foundOn(page)
    await page.locator("#brand .ais-RefinementList-checkbox").first().check()
    await settled(page, (found) => found > 0 && found < typed)
    await page.selectOption("#sort select", { label: "Price, low first" })
    await page.waitForFunction(() => {
      const prices = [...document.querySelectorAll(".price")].map((each) =>
        Number(/€([\d,.]+)$/.exec(each.textContent ?? "")?.[1].replace(/,/g, ""))
      )
      return prices.length > 1 && prices.every((price, i) => i === 0 || price >= prices[i - 1])
    })
    expect(errors).toEqual([])
    expect([...hosts]).toEqual(["127.0.0.1"])
    // The browser names a profile and one of its sorts; the server alone knows fields and expressions.
    expect(searched.some((body) => body.includes('"sort":"price_up"'))).toBe(true)
    for (const body of searched) {
      expect(body).toContain('"profile":"shop"')
      expect(body).not.toMatch(/query_by|sort_by|facet_by|price:asc/)
    }
    // Screenshots for a person to look at: DOWSER_SCREENSHOTS names a folder.
    const screenshots = process.env.DOWSER_SCREENSHOTS
    if (screenshots !== undefined) await page.screenshot({ path: join(screenshots, "dowser-demo.png") })
    await page.close()
  })

  it("says what it searched instead, and turns named values into filters, on a laptop and a phone", async (context) => {
    if (typeof browser === "string") return context.skip(`browser lane: ${browser}`)
    const { errors, page } = await open(`${program.base}/`)
    await page.fill(".ais-SearchBox-input", "hedphones black")
    await page.waitForFunction(() => document.querySelector("#understood strong")?.textContent === "headphones black")
    expect((await page.textContent("#understood p"))?.trim()).toBe(
      "Showing results for headphones black instead of “hedphones black”"
    )
    const before = await foundOn(page)
    await page.locator('#understood button[data-field="color"]').click()
    await settled(page, (found) => found > 0 && found < before)
    await page.waitForSelector('#understood button[data-field="color"][aria-pressed="true"]')
    expect(await page.textContent(".ais-CurrentRefinements-item")).toContain("Black")
    await page.fill(".ais-SearchBox-input", "дфзещз")
    await page.waitForFunction(() => document.querySelector("#understood strong")?.textContent === "laptop")
    await page.setViewportSize({ width: 390, height: 844 })
    const overflow = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth
    )
    expect(overflow).toBeLessThanOrEqual(0)
    const screenshots = process.env.DOWSER_SCREENSHOTS
    if (screenshots !== undefined) {
      await page.fill(".ais-SearchBox-input", "hedphones black")
      await page.waitForFunction(() => document.querySelector("#understood strong")?.textContent === "headphones black")
      await page.screenshot({ path: join(screenshots, "dowser-demo-phone.png") })
      await page.setViewportSize({ width: 1280, height: 900 })
      await page.screenshot({ path: join(screenshots, "dowser-demo-understood.png") })
    }
    await page.fill(".ais-SearchBox-input", "")
    await page.waitForFunction(() => document.querySelector("#understood")?.childElementCount === 0)
    expect(errors).toEqual([])
    await page.close()
  })

  it("reports its visitor's actions to analytics", async (context) => {
    if (typeof browser === "string") return context.skip(`browser lane: ${browser}`)
    const { page } = await open(`${program.base}/`)
    // The strip shows a sliding day. The same figures from a fixed moment on show exactly what this visitor added.
    const from = new Date().toISOString()
    const to = new Date(Date.now() + 3_600_000).toISOString()
    const read = async () =>
      (
        await program.request("GET", `/v1/analytics/metrics/overview?from=${from}&to=${to}&collection=products`, {
          key: program.demo?.full_key
        })
      ).body.totals as { add_to_carts: number; purchases: number; clicks: number; searches: number }
    await page.fill(".ais-SearchBox-input", "olive oil")
    await settled(page, (found) => found > 0 && found < 1500)
    await page.locator("[data-open]").first().click()
    await page.keyboard.press("Escape")
    await page.locator("[data-cart]:not([disabled])").first().click()
    await page.click("#checkout")
    let after = await read()
    for (let waited = 0; waited < 60_000 && (after.purchases === 0 || after.clicks === 0); waited += 100) {
      await page.waitForTimeout(100)
      after = await read()
    }
    expect([after.purchases, after.add_to_carts, after.clicks]).toEqual([1, 1, 1])
    expect(after.searches).toBeGreaterThan(0)
    const shown = (await program.request("GET", "/demo/figures.json")).body as { purchases: number }
    await page.waitForFunction(
      (expected) => document.querySelector("#figures")?.textContent?.includes(expected),
      shown.purchases.toLocaleString("en")
    )
    await page.close()
  })

  it("searches by an uploaded picture and by a product's own, on a laptop and a phone", async (context) => {
    if (typeof browser === "string") return context.skip(`browser lane: ${browser}`)
    const { errors, hosts, page } = await open(`${program.base}/`)
    const opened = page.locator("[data-open]").first()
    const id = (await opened.getAttribute("data-open"))!
    const shown = `/demo/pictures/${id}`
    const picture = await fetch(`${program.base}${shown}`)
    await program.topUp(program.demo!.organization_id, 10)
    // A copy as found elsewhere: smaller, and in another format.
    const buffer = await sharp(Buffer.from(await picture.arrayBuffer()))
      .resize(120)
      .jpeg({ quality: 80 })
      .toBuffer()
    await page.setInputFiles("#picture-file", { name: "seen.jpg", mimeType: "image/jpeg", buffer })
    const first = page.locator("#looks ol li").first()
    await expect
      .poll(() => page.textContent("#looks-note"), { timeout: 60_000 })
      .toMatch(/being looked at for the first time: \d+ of 1,500/)
    await expect.poll(() => page.textContent("#looks-note"), { timeout: 180_000, interval: 200 }).toBe("")
    await page.waitForFunction((own) => document.querySelector("#looks ol li img")?.getAttribute("src") === own, shown)
    expect(await page.locator("#looks ol li").count()).toBe(24)
    expect(await first.locator(".match").textContent()).toBe("The same picture")
    expect(await page.isVisible("#results")).toBe(false)
    const screenshots = process.env.DOWSER_SCREENSHOTS
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 900 })
      const overflow = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth
      )
      expect(overflow).toBeLessThanOrEqual(0)
      if (screenshots !== undefined) await page.screenshot({ path: join(screenshots, `looks-${width}.png`) })
    }
    // A file that is not a picture is reported, and the page still works.
    await page.setInputFiles("#picture-file", {
      name: "a.png",
      mimeType: "image/png",
      buffer: Buffer.from("no picture")
    })
    await page.waitForFunction(() => /image/i.test(document.querySelector("#looks-note")?.textContent ?? ""))
    expect(errors.splice(0).join()).toMatch(/^(.*400.*)$/)
    await page.click("#looks-close")
    expect(await page.isVisible("#results")).toBe(true)
    await opened.click()
    const own = await page.getAttribute("#product-picture", "src")
    await page.click("#product-looks")
    await page.waitForFunction(
      (picture) =>
        [...document.querySelectorAll("#looks ol li")].some(
          (item) =>
            item.querySelector("img")?.getAttribute("src") === picture &&
            item.querySelector(".match")?.textContent === "The same picture"
        ),
      own
    )
    expect(await page.locator("#product").isVisible()).toBe(false)
    await page.fill(".ais-SearchBox-input", "lamp")
    await page.waitForSelector("#results:not([hidden])")
    expect(errors).toEqual([])
    expect([...hosts]).toEqual(["127.0.0.1"])
    await page.close()
  })

  it("works from a second origin", async (context) => {
    if (typeof browser === "string") return context.skip(`browser lane: ${browser}`)
    const port = await freePort()
    const host: Server = createServer((request, response) => {
      const name = (request.url ?? "/").split("?")[0].replace(/^\/(demo\/)?/, "") || "index.html"
      // The page of another shop: the same code, configured with our address.
      if (name === "page.js")
        return void response
          .writeHead(200, { "content-type": "text/javascript" })
          .end(
            readFileSync(join(page_, name), "utf8").replace(
              "const api = location.origin",
              `const api = ${JSON.stringify(program.base)}`
            )
          )
      if (["index.html", "page.css"].includes(name))
        return void response
          .writeHead(200, { "content-type": name.endsWith("html") ? "text/html" : "text/css" })
          .end(readFileSync(join(page_, name)))
      response.writeHead(302, { location: `${program.base}${request.url}` }).end()
    })
    await new Promise<void>((settle) => host.listen(port, "127.0.0.1", settle))
    try {
      const { errors, page } = await open(`http://localhost:${port}/`)
      await page.fill(".ais-SearchBox-input", "yoga")
      await settled(page, (found) => found > 0 && found < 1500)
      expect(errors).toEqual([])
      await page.close()
    } finally {
      host.close()
    }
  })

  it("contacts no other host, whatever its address says, and keeps to its policy", async (context) => {
    if (typeof browser === "string") return context.skip(`browser lane: ${browser}`)
    const { errors, hosts, page } = await open(`${program.base}/?api=${encodeURIComponent("http://elsewhere.example")}`)
    // A violation of the policy would appear as an error in the console.
    expect([errors, [...hosts]]).toEqual([[], ["127.0.0.1"]])
    expect(await page.evaluate(() => document.querySelectorAll("script:not([src]), [onclick], [onload]").length)).toBe(
      0
    )
    await page.close()
  })

  it("can be used with a keyboard and a screen reader", async (context) => {
    if (typeof browser === "string") return context.skip(`browser lane: ${browser}`)
    const { page } = await open(`${program.base}/`)
    const unnamed = await page.evaluate(() =>
      [...document.querySelectorAll("button, input, select, a[href]")]
        .filter((each) => {
          const element = each as HTMLElement & { labels?: NodeListOf<HTMLLabelElement> }
          return !(
            element.innerText?.trim() ||
            element.getAttribute("aria-label") ||
            element.getAttribute("title") ||
            element.labels?.length ||
            element.getAttribute("placeholder")
          )
        })
        .map((each) => each.outerHTML.slice(0, 120))
    )
    expect(unnamed).toEqual([])
    expect(
      await page.evaluate(() => [
        document.documentElement.lang,
        document.querySelectorAll("main").length,
        document.querySelectorAll("h1").length
      ])
    ).toEqual(["en", 1, 1])
    await page.keyboard.press("Tab")
    await page.close()
  })
})
