/**
 * A real Chromium for tests: the installed one, else the one inside an npm package (Linux only). Answers why there is
 * none, so that the lane can be skipped by name.
 */
import { existsSync } from "node:fs"
import { type Browser, chromium } from "playwright-core"

const installed = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
]
const quiet = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync"
]

/** `more`: flags. */
export const launchBrowser = async (more: ReadonlyArray<string> = []): Promise<Browser | string> => {
  const found = installed.find((path) => existsSync(path))
  try {
    if (found !== undefined) return await chromium.launch({ executablePath: found, args: [...quiet, ...more] })
    if (process.platform !== "linux") return "no Chromium is installed"
    const { default: packaged } = await import("@sparticuz/chromium")
    return await chromium.launch({
      executablePath: await packaged.executablePath(),
      args: [
        ...packaged.args.filter((flag) => flag !== "--single-process" && flag !== "--no-zygote"),
        ...quiet,
        ...more
      ]
    })
  } catch (error) {
    return `Chromium cannot be started here: ${(error as Error).message.split("\n")[0]}`
  }
}
