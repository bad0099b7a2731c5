/// <reference lib="dom" />
/**
 * Speaks to the demo page in headless Chromium, with a recording as the microphone: hits appear while the button is
 * held, and afterwards the transcript is an ordinary search.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { modelsFolder, readPinned, readPinnedTranscriber } from "../../src/models/install/pinned.ts"
import { findInstalled } from "../../src/models/install/places.ts"
import { RATE } from "../../src/ports/audio-decoder/audio-decoder.ts"
import { decodedAudio } from "../../src/ports/audio-decoder/decode.ts"
import { writeWav } from "../../src/ports/audio-decoder/wav.ts"
import { TRANSCRIBER_SIZES } from "../../src/ports/transcriber/moonshine/layout.ts"
import { launchBrowser } from "../support/browser.ts"
import { type Program, startProgram } from "../support/program.ts"

const places = [join(modelsFolder, "installed")]
const isThere =
  process.env.DOWSER_MODELS !== "off" &&
  findInstalled(places, readPinned()) !== undefined &&
  TRANSCRIBER_SIZES.some((size) => findInstalled(places, readPinnedTranscriber(size)) !== undefined)

let browser: Browser | string
let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "dowser-microphone-"))
  const file = join(folder, "speech.wav")
  const { samples } = await decodedAudio(
    readFileSync(new URL("../../fixtures/speech/waterproof-backpack.ogg", import.meta.url))
  )
  // The recording twice, after a short silence: the browser starts to play it when the microphone is opened.
  const all = new Float32Array(RATE / 2 + 2 * samples.length)
  all.set(samples, RATE / 2)
  all.set(samples, RATE / 2 + samples.length)
  writeFileSync(file, writeWav(all, RATE))
  browser = await launchBrowser([
    "--use-fake-ui-for-media-stream",
    "--use-fake-device-for-media-stream",
    `--use-file-for-fake-audio-capture=${file}%noloop`
  ])
})
afterAll(async () => {
  if (typeof browser !== "string") await browser.close()
  rmSync(folder, { recursive: true })
})

const opened = async (program: Program, width: number) => {
  const page = await (browser as Browser).newPage({ viewport: { width, height: 844 } })
  const errors: Array<string> = []
  page.on("pageerror", (error) => errors.push(error.message))
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text())
  })
  await page.goto(`${program.base}/`)
  await page.waitForSelector(".ais-Hits-item")
  return { page, errors }
}
const hold = async (page: Page) => {
  await page.locator("#microphone").hover()
  await page.mouse.down()
}
const looked = async (page: Page, name: string) => {
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
  if (process.env.DOWSER_SCREENSHOTS !== undefined)
    await page.screenshot({ path: join(process.env.DOWSER_SCREENSHOTS, `${name}.png`) })
}

describe("the microphone of the demo page", () => {
  it("shows hits while it is held, and leaves a search behind, at any width", { timeout: 300_000 }, async (context) => {
    if (typeof browser === "string") return context.skip(`browser lane: ${browser}`)
    if (!isThere) return context.skip("dowser models install --voice tiny was not run here")
    const program = await startProgram({ demoProducts: 60 })
    try {
      await program.topUp(program.demo!.organization_id, 5)
      for (const width of [1280, 390]) {
        const { errors, page } = await opened(program, width)
        await hold(page)
        await page.waitForSelector("#spoken:not([hidden]) .ais-Hits-item", { timeout: 60_000 })
        expect(await page.getAttribute("#microphone", "aria-pressed")).toBe("true")
        expect(await page.textContent("#spoken-words")).toMatch(/\w/)
        expect(await page.isHidden("#results")).toBe(true)
        await looked(page, `speaking-${width}`)
        await page.waitForTimeout(1_500)
        await page.mouse.up()
        await page.waitForSelector("#results:not([hidden])", { timeout: 60_000 })
        await expect.poll(() => page.inputValue(".ais-SearchBox-input"), { timeout: 10_000 }).toMatch(/backpack/)
        await expect.poll(() => page.textContent("#hits")).toMatch(/Backpack/)
        await looked(page, `spoken-${width}`)
        expect(errors).toEqual([])
        await page.close()
      }
    } finally {
      await program.stop()
    }
  })
  it("says what is missing where speech cannot be transcribed", { timeout: 300_000 }, async (context) => {
    if (typeof browser === "string") return context.skip(`browser lane: ${browser}`)
    const program = await startProgram({ demoProducts: 60, modelsFolder: join(tmpdir(), "dowser-no-models") })
    try {
      const { errors, page } = await opened(program, 390)
      await page.focus("#microphone")
      await page.keyboard.down("Space")
      await expect
        .poll(() => page.textContent("#spoken-title"), { timeout: 30_000 })
        .toContain("dowser models install --voice base")
      await looked(page, "speaking-absent-390")
      await page.keyboard.up("Space")
      await page.fill(".ais-SearchBox-input", "lamp")
      await page.waitForSelector("#results:not([hidden])")
      expect(errors).toEqual([])
      await page.close()
    } finally {
      await program.stop()
    }
  })
})
