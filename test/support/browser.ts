/**
 * A real Chromium for tests: the installed one, else the one inside an npm package (Linux only). If there is none it
 * returns the reason, so that the lane can be skipped by name.
 */
import { existsSync } from "node:fs"
import { type Browser, chromium, type LaunchOptions } from "playwright-core"

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

/** The process of another test file is unpacking the browser into the run's folder at this moment. */
const isBeingWritten = (error: unknown): boolean => /Text file busy|ETXTBSY/.test(String(error))
const TRIES = 40
const launched = async (options: LaunchOptions): Promise<Browser> => {
  for (let tried = 1; ; tried++)
    try {
      return await chromium.launch(options)
    } catch (error) {
      if (!isBeingWritten(error) || tried === TRIES) throw error
      await new Promise((settle) => setTimeout(settle, 250))
    }
}

/** `more` are additional flags. */
export const launchBrowser = async (more: ReadonlyArray<string> = []): Promise<Browser | string> => {
  const found = installed.find((path) => existsSync(path))
  try {
    if (found !== undefined) return await launched({ executablePath: found, args: [...quiet, ...more] })
    if (process.platform !== "linux") return "no Chromium is installed"
    const { default: packaged } = await import("@sparticuz/chromium")
    return await launched({
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
