/// <reference lib="dom" />
/**
 * The demo page's filters. At desktop width they are beside the hits. On a phone the hits come first, and the filters
 * are in a drawer that traps the focus, closes on Escape and returns the focus.
 */
import { join } from "node:path"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { launchBrowser } from "../support/browser.ts"
import { type Program, startProgram } from "../support/program.ts"

let program: Program
let browser: Browser | string
beforeAll(async () => {
  browser = await launchBrowser()
  if (typeof browser !== "string") program = await startProgram({ demoProducts: 300 })
})
afterAll(async () => {
  if (typeof browser !== "string") await browser.close()
  await program?.stop()
})

const open = async (width: number): Promise<Page> => {
  if (typeof browser === "string") throw new Error(browser)
  const page = await browser.newPage({ viewport: { width, height: 844 } })
  await page.goto(`${program.base}/`)
  await page.waitForSelector(".ais-Hits-item")
  await page.waitForSelector("#brand .ais-RefinementList-item", { state: "attached" })
  return page
}
const shoot = async (page: Page, name: string) => {
  const folder = process.env.DOWSER_SCREENSHOTS
  if (folder !== undefined) await page.screenshot({ path: join(folder, `${name}.png`) })
}
const focused = (page: Page) => page.evaluate(() => document.activeElement?.id ?? "")
/** Whether the focus is in the drawer or on no element of the page. */
const isKept = (page: Page) =>
  page.evaluate(() => document.activeElement === document.body || document.activeElement?.closest("#drawer") !== null)

describe("the filters", () => {
  it("are in a drawer on a phone, where hits come first", async (context) => {
    if (typeof browser === "string") return context.skip(`browser lane: ${browser}`)
    const page = await open(390)
    // The first screen shows a hit and no filter.
    expect((await page.locator(".ais-Hits-item").first().boundingBox())!.y).toBeLessThan(844 / 2)
    expect(await page.isVisible("#filters")).toBe(false)
    await shoot(page, "drawer-closed-390")
    const button = page.locator("#filters-open")
    expect(await button.textContent()).toBe("Filters")
    await button.focus()
    await page.keyboard.press("Enter")
    expect([await page.isVisible("#filters"), await isKept(page)]).toEqual([true, true])
    expect(await page.evaluate(() => document.activeElement?.closest("#drawer") !== null)).toBe(true)
    await shoot(page, "drawer-open-390")
    const controls = await page.locator("#drawer :is(a, button, input)").count()
    for (let i = 0; i < controls + 3; i++) {
      await page.keyboard.press("Tab")
      expect(await isKept(page), `after ${i + 1} steps`).toBe(true)
    }
    // A pointer cannot reach what lies behind the drawer either.
    await expect(page.locator("[data-open]").first().click({ timeout: 500 })).rejects.toThrow()
    await page.locator("#brand .ais-RefinementList-checkbox").first().check()
    await expect.poll(() => button.textContent()).toBe("Filters (1)")
    await page.locator("#brand .ais-RefinementList-item:not(.ais-RefinementList-item--selected) label").first().click()
    await expect.poll(() => button.textContent()).toBe("Filters (2)")
    await expect.poll(() => page.textContent("#drawer-show")).toMatch(/^Show \d+ products$/)
    await page.keyboard.press("Escape")
    expect([await page.isVisible("#filters"), await focused(page)]).toEqual([false, "filters-open"])
    await button.click()
    await page.click("#drawer-show")
    expect([await page.isVisible("#filters"), await focused(page)]).toEqual([false, "filters-open"])
    await button.click()
    await page.mouse.click(380, 400)
    expect(await page.isVisible("#filters")).toBe(false)
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
    await page.close()
  })
  it("stand beside the hits at desktop width, and return there from an open drawer", async (context) => {
    if (typeof browser === "string") return context.skip(`browser lane: ${browser}`)
    const page = await open(1280)
    expect([await page.isVisible("#filters"), await page.isVisible("#filters-open")]).toEqual([true, false])
    await shoot(page, "drawer-1280")
    await page.setViewportSize({ width: 390, height: 844 })
    await page.click("#filters-open")
    await page.setViewportSize({ width: 1280, height: 844 })
    await expect.poll(() => page.locator("aside #filters").isVisible()).toBe(true)
    expect(await page.evaluate(() => document.querySelector("dialog[open]"))).toBe(null)
    await page.locator("#brand .ais-RefinementList-checkbox").first().check()
    await page.close()
  })
})
