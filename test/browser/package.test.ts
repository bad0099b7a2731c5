/**
 * The package in a browser: the README's example, bundled as a web page would bundle it, in a real Chromium without a
 * server.
 */
import { expect, it } from "vitest"
import { bundleOf } from "../../bench/lanes/package.ts"
import { launchBrowser } from "../support/browser.ts"
import { readmeExample } from "../support/readme-example.ts"

it("runs the README's example in a browser", async (context) => {
  const browser = await launchBrowser()
  if (typeof browser === "string") return context.skip(`browser lane: ${browser}`)
  try {
    const { output, program } = readmeExample()
    const page = await browser.newPage()
    const said = new Promise<string>((settle, reject) => {
      page.on("console", (message) => settle(message.text()))
      page.on("pageerror", reject)
    })
    const files = new Map(
      (await bundleOf(program)).map(({ code, fileName, isEntry }) => [isEntry ? "entry.js" : fileName, code])
    )
    await page.route("**/*", (route) => {
      const code = files.get(new URL(route.request().url()).pathname.slice(1))
      return code === undefined
        ? route.fulfill({ contentType: "text/html", body: `<script type="module" src="/entry.js"></script>` })
        : route.fulfill({ contentType: "text/javascript", body: code })
    })
    await page.goto("http://shop.invalid/")
    expect(await said).toBe(output.trim())
  } finally {
    await browser.close()
  }
})
