/// <reference lib="dom" />
/**
 * `examples/search-in-the-browser`, served from its own origin and searching our server: hits, a facet, and a counted
 * click.
 */
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, expect, it } from "vitest"
import type { Browser } from "playwright-core"
import { launchBrowser } from "../support/browser.ts"
import type { Program } from "../support/program.ts"
import { eventually } from "../support/receiver.ts"
import { sharedProgram } from "../support/shared-program.ts"

const serve = fileURLToPath(new URL("../../examples/search-in-the-browser/serve.mjs", import.meta.url))
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

it("shows hits while a visitor types, filters them, and reports a click", async (context) => {
  if (typeof browser === "string") return context.skip(`browser lane: ${browser}`)
  const { full_key: key, search_key } = await program.tenant("Example page")
  const fields = [
    { name: "title", type: "string" },
    { name: "brand", type: "string", facet: true },
    { name: "price", type: "float" }
  ]
  await program.request("POST", "/v1/collections", { key, body: { name: "products", fields } })
  for (const [id, title, brand] of [
    ["1", "Trail running shoe", "Peak"],
    ["2", "Road running shoe", "Swift"],
    ["3", "Waterproof spray", "Balm"]
  ])
    await program.request("POST", "/v1/collections/products/documents", { key, body: { id, title, brand, price: 9 } })
  const child = spawn("node", [serve], {
    env: { PATH: process.env.PATH, DOWSER_URL: program.base, SEARCH_KEY: search_key, PORT: "0" }
  })
  try {
    let said = ""
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (text: Buffer) => {
        said += text.toString()
      })
    const address = await eventually("the example's server", () => /http:\/\/[\d.:]+\//.exec(said)?.[0])
    const page = await browser.newPage()
    const errors: Array<string> = []
    page.on("pageerror", (error) => errors.push(error.message))
    page.on("console", (message) => {
      if (message.type() === "error") errors.push(message.text())
    })
    await page.goto(address)
    await page.fill(".ais-SearchBox-input", "runing shoe")
    await expect.poll(() => page.locator(".ais-Hits-item").count(), { timeout: 60_000 }).toBe(2)
    await page.locator(".ais-RefinementList-checkbox").first().check()
    await expect.poll(() => page.locator(".ais-Hits-item").count(), { timeout: 60_000 }).toBe(1)
    await page.locator("[data-id]").first().click()
    const today = new Date().toISOString().slice(0, 10)
    await eventually("the click is counted", async () => {
      const report = `/v1/analytics/metrics/overview?from=${today}&to=${today}&collection=products`
      return (await program.request("GET", report, { key })).body.totals.clicks === 1 ? true : undefined
    })
    expect(errors).toEqual([])
    await page.close()
  } finally {
    child.kill("SIGKILL")
  }
})
