/// <reference lib="dom" />
/**
 * Checks every page that the program serves, at desktop and phone width, with axe-core: there must be no finding of any
 * severity. A page that is added to the guide is checked automatically.
 */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import type { AxeResults } from "axe-core"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { launchBrowser } from "../support/browser.ts"
import { type Program, startProgram } from "../support/program.ts"
import { eventually } from "../support/receiver.ts"

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")
const WIDTHS = [1280, 390] as const
let program: Program
let browser: Browser | string
beforeAll(async () => {
  browser = await launchBrowser()
  if (typeof browser !== "string") program = await startProgram({ demoProducts: 200 })
})
afterAll(async () => {
  if (typeof browser !== "string") await browser.close()
  await program?.stop()
})

const open = async (colorScheme: "dark" | "light" = "light"): Promise<Page> => {
  if (typeof browser === "string") throw new Error(browser)
  return browser.newPage({ viewport: { width: 1280, height: 900 }, colorScheme })
}
/** axe's findings on the page in its current state, as `rule: where`. */
const findings = async (page: Page): Promise<ReadonlyArray<string>> => {
  // Evaluated through the debugger, because the page's policy forbids an injected script element.
  await page.evaluate(`if (globalThis.axe === undefined) { ${axe} }`)
  const { violations } = (await page.evaluate("axe.run(document)")) as AxeResults
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ failureSummary, target }) => `${id}: ${target.join(" ")}: ${failureSummary?.replace(/\s+/g, " ")}`)
  )
}
/** Findings at both widths, for the page in its current state. */
const atBothWidths = async (page: Page, name: string): Promise<ReadonlyArray<string>> => {
  const found: Array<string> = []
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 })
    found.push(...(await findings(page)).map((each) => `${name} at ${width}: ${each}`))
  }
  return found
}
const schemes = ["light", "dark"] as const

describe("axe", () => {
  it("reports a fault", async (context) => {
    if (typeof browser === "string") return context.skip(`browser lane: ${browser}`)
    const page = await open()
    await page.goto(`${program.base}/docs/guide/plans`)
    await page.evaluate(() => {
      const image = document.createElement("img")
      image.src = "/docs/guide/demo.png"
      document.querySelector("main")!.append(image)
    })
    expect((await findings(page)).map((each) => each.split(":")[0])).toEqual(["image-alt"])
    await page.close()
  })
})

describe("axe finds nothing on", () => {
  // Every written page, alternating between light at desktop width and dark at phone width, because axe takes a second
  // for each. With DOWSER_EVERY_PAGE=1, each page is checked both ways. Pages about the API share a template, so only
  // the first, the largest, and the one of a different kind are checked.
  it.for(schemes)("pages of the guide, %s", { timeout: 600_000 }, async (scheme, context) => {
    if (typeof browser === "string") return context.skip(`browser lane: ${browser}`)
    const page = await open(scheme)
    await page.goto(`${program.base}/docs/guide`)
    const addresses = await page
      .locator(".pages a")
      .evaluateAll((links) => links.map((link) => link.getAttribute("href")!))
    const ofApi = ["/docs/guide/api", "/docs/guide/api/assistants", "/docs/guide/api/console-operations"]
    const all = addresses.filter((address) => !address.startsWith("/docs/guide/api"))
    const written = all.filter(
      (_, at) => process.env.DOWSER_EVERY_PAGE === "1" || at % 2 === (scheme === "light" ? 0 : 1)
    )
    expect([all.length > 35, ofApi.every((address) => addresses.includes(address))]).toEqual([true, true])
    const found: Array<string> = []
    for (const address of new Set(["/docs/guide", ...written, ...ofApi])) {
      await page.setViewportSize({ width: scheme === "light" ? 1280 : 390, height: 900 })
      await page.goto(`${program.base}${address}`)
      found.push(...(await findings(page)).map((each) => `${address}: ${each}`))
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 })
        if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth))
          found.push(`${address}: wider than ${width}`)
      }
    }
    expect(found).toEqual([])
    await page.close()
  })
  it.for(schemes)("the guide's search, %s", async (scheme, context) => {
    if (typeof browser === "string") return context.skip(`browser lane: ${browser}`)
    const page = await open(scheme)
    await page.goto(`${program.base}/docs/guide`)
    await page.fill("#asked", "restore a bakcup")
    const hits = page.locator("#found li a")
    await hits.first().waitFor({ timeout: 60_000 })
    expect(await page.textContent("#found p")).toMatch(/^\d+ passages found\.$/)
    expect(await atBothWidths(page, "found")).toEqual([])
    await page.keyboard.press("Escape")
    expect(await page.isVisible("#found")).toBe(false)
    await page.fill("#asked", "restore a bakcup")
    await page.keyboard.press("Enter")
    await expect.poll(() => page.evaluate(() => document.activeElement?.closest("#found") !== null)).toBe(true)
    await page.keyboard.press("Enter")
    await page.waitForURL(/#/)
    await page.close()
  })
  it.for(schemes)("the demo shop, a product of it, its drawer and an empty answer, %s", async (scheme, context) => {
    if (typeof browser === "string") return context.skip(`browser lane: ${browser}`)
    const page = await open(scheme)
    await page.goto(`${program.base}/`)
    await page.waitForSelector(".ais-Hits-item")
    await page.waitForSelector("#figures dd")
    const found = [...(await atBothWidths(page, "hits"))]
    await page.fill(".ais-SearchBox-input", "hedphones black")
    await page.waitForSelector("#understood button")
    await page.locator("#understood button").first().click()
    await page.waitForSelector(".ais-CurrentRefinements-item")
    found.push(...(await atBothWidths(page, "understood")))
    await page.setViewportSize({ width: 390, height: 900 })
    await page.click("#filters-open")
    found.push(...(await findings(page)).map((each) => `drawer: ${each}`))
    await page.keyboard.press("Escape")
    await page.locator("[data-open]").first().click()
    await page.waitForSelector("#product[open]")
    found.push(...(await atBothWidths(page, "product")))
    await page.keyboard.press("Escape")
    await page.fill(".ais-SearchBox-input", "qqqqqqqqqq")
    await page.waitForSelector(".empty")
    found.push(...(await atBothWidths(page, "empty")))
    expect(found).toEqual([])
    await page.close()
  })
  it("a landing page", async (context) => {
    if (typeof browser === "string") return context.skip(`browser lane: ${browser}`)
    const { full_key: key } = program.demo!
    const asked = { name: "Brands", collection: "products", facet_field: "brand", url_template: "/b/#SLUG#" }
    const rule = await program.request("POST", "/v1/seo/rules", { key, body: asked })
    expect(rule.status, rule.text).toBe(201)
    const at = `/v1/seo/rules/${rule.body.id}/pages`
    const job = await program.request("POST", `${at}/generate`, { key })
    await eventually("the pages", async () => {
      const { body } = await program.request("GET", `/v1/jobs/${job.body.id}`, { key })
      return body.status === "ready" ? true : undefined
    })
    const slug = (await program.request("GET", at, { key })).body.data[0].slug as string
    for (const scheme of schemes) {
      const page = await open(scheme)
      await page.setExtraHTTPHeaders({ "x-svc-api-key": key })
      await page.goto(`${program.base}${at}/${slug}.html`)
      await page.waitForSelector("main li")
      expect(await atBothWidths(page, scheme)).toEqual([])
      await page.close()
    }
  })
  it.for(schemes)("the API reference, with an operation open, %s", async (scheme, context) => {
    if (typeof browser === "string") return context.skip(`browser lane: ${browser}`)
    const page = await open(scheme)
    const found: Array<string> = []
    for (const address of ["/docs", "/docs?document=gateway"]) {
      await page.goto(`${program.base}${address}`)
      await page.waitForSelector(".opblock", { timeout: 60_000 })
      await page.locator(".opblock-summary-control").first().click()
      await page.waitForSelector(".opblock-description")
      found.push(...(await atBothWidths(page, address)))
    }
    expect(found).toEqual([])
    await page.close()
  })
})
