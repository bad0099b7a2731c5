/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
/**
 * The API reference in headless Chromium, at desktop and phone width: it lists the operations of both documents, opens
 * one with its example, sends it, and contacts no other host. A violation of the content security policy would be an
 * error in the console.
 */
import { join } from "node:path"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { launchBrowser } from "../support/browser.ts"
import type { Program } from "../support/program.ts"
import { sharedProgram } from "../support/shared-program.ts"

let program: Program
let browser: Browser | string
beforeAll(async () => {
  browser = await launchBrowser()
  if (typeof browser !== "string") program = await sharedProgram()
})
afterAll(async () => {
  if (typeof browser !== "string") await browser.close()
  await program?.stop()
})

const open = async (address: string, viewport: { readonly width: number; readonly height: number }) => {
  if (typeof browser === "string") throw new Error(browser)
  const page = await browser.newPage({ viewport })
  const errors: Array<string> = []
  const hosts = new Set<string>()
  page.on("pageerror", (error) => errors.push(error.message))
  page.on("console", (message) => {
    if (message.type() === "error" || message.text().includes("Content Security Policy")) errors.push(message.text())
  })
  page.on("request", (request) => {
    if (!request.url().startsWith("data:")) hosts.add(new URL(request.url()).hostname)
  })
  await page.goto(`${program.base}${address}`)
  await page.waitForSelector(".opblock", { timeout: 60_000 })
  return { page, errors, hosts }
}

const beside = (page: Page) =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)

describe("the API reference", () => {
  it.for([
    { width: 1280, height: 800 },
    { width: 390, height: 844 }
  ])(
    "lists every operation, opens and tries one at $width x $height, contacts no other host and logs no error",
    { timeout: 120_000 },
    async (viewport, context) => {
      if (typeof browser === "string") return context.skip(`browser lane: ${browser}`)
      const { errors, hosts, page } = await open("/docs", viewport)
      // Operations below the viewport are rendered only when they come near it.
      const listed = new Set<string>()
      const { paths } = (await program.request("GET", "/v1/openapi.json")).body as {
        paths: Record<string, Record<string, { operationId: string; tags: ReadonlyArray<string> }>>
      }
      const documented = Object.values(paths)
        .flatMap((methods) => Object.values(methods))
        .map(({ operationId, tags }) => `operations-${tags[0]!.replaceAll(" ", "_")}-${operationId}`)
      for (let at = 0, height = 1; at < height; at += viewport.height / 2) {
        height = await page.evaluate((top) => {
          scrollTo(0, top)
          return document.documentElement.scrollHeight
        }, at)
        await page.evaluate(() => new Promise((settle) => requestAnimationFrame(() => requestAnimationFrame(settle))))
        for (const id of await page
          .locator(".opblock")
          .evaluateAll((blocks) => blocks.map((block) => block.id.replaceAll("\\", ""))))
          listed.add(id)
      }
      expect([...listed].sort()).toEqual(documented.sort())
      await page.evaluate(() => scrollTo(0, 0))
      // Nothing overflows the screen horizontally.
      expect(await beside(page)).toBe(0)
      const screenshots = process.env.DOWSER_SCREENSHOTS
      if (screenshots !== undefined)
        await page.screenshot({ path: join(screenshots, `reference-${viewport.width}.png`) })
      await page.fill(".operation-filter-input", "keys")
      const createKey = page.locator("#operations-keys-createKey")
      await createKey.locator(".opblock-summary-control").click()
      await createKey.getByText('"Storefront"').first().waitFor()
      expect(await createKey.locator(".opblock-description").innerText()).toContain("It takes a full key")
      expect(await beside(page)).toBe(0)
      if (screenshots !== undefined)
        await page.screenshot({ path: join(screenshots, `reference-${viewport.width}-open.png`) })
      await page.fill(".operation-filter-input", "health")
      const health = page.locator("#operations-health-getTenantHealth")
      await health.locator(".opblock-summary-control").click()
      await health.locator(".try-out__btn").click()
      await health.locator("button.execute").click()
      await health.locator(".live-responses-table .response-col_status").getByText("200").waitFor()
      if (screenshots !== undefined)
        await page.screenshot({ path: join(screenshots, `reference-${viewport.width}-tried.png`) })
      await page.goto(`${program.base}/docs?document=gateway`)
      await page.waitForSelector('.opblock [data-path="/api/v1/capabilities"]')
      expect(await page.getAttribute("#source", "href")).toBe("/api/v1/openapi.json")
      expect([errors, [...hosts]]).toEqual([[], ["127.0.0.1"]])
      await page.close()
    }
  )
})
