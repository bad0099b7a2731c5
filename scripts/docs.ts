/**
 * `npm run docs`: writes the page of the commands, checks every link of the guide, and writes the site into `dist/`,
 * where any file server shows it at `/docs/guide`. It fails if a link is broken.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { mkdir, readFile, rm, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { Effect } from "effect"
import { commandPage } from "../src/cli/command-page.ts"
import { deadLinks } from "../src/docs/guide/dead-links.ts"
import { declaredSite } from "../src/docs/guide/declared-site.ts"
import { addressOf, GUIDE } from "../src/docs/guide/places.ts"
import { pageFile } from "../src/docs/reference-page.ts"

const root = new URL("..", import.meta.url).pathname
const out = join(root, "dist")
const write = async (address: string, bytes: string | Uint8Array) => {
  const place = join(out, address)
  await mkdir(dirname(place), { recursive: true })
  await writeFile(place, bytes)
}

const began = performance.now()
const commands = await Effect.runPromise(commandPage)
const commandsFile = join(root, "docs", "commands.md")
if ((await readFile(commandsFile, "utf8").catch(() => "")) !== commands) await writeFile(commandsFile, commands)

const site = await declaredSite()
const dead = await deadLinks(site)
if (dead.length > 0) {
  process.stderr.write(`Links that lead nowhere:\n${dead.map((one) => `  ${one}`).join("\n")}\n`)
  process.exit(1)
}
await rm(out, { recursive: true, force: true })
const ids = await site.ids()
for (const id of ids) {
  const page = await site.page(id)
  if (page !== undefined) await write(join(addressOf(id), "index.html"), page.plain)
}
for (const name of (await site.places()).pictures) {
  const picture = await site.picture(name)
  if (picture !== undefined) await write(join(GUIDE, name), picture.plain)
}
for (const name of ["guide.css", "guide.js"]) await write(join("docs", name), pageFile(name)!.plain)
const seconds = ((performance.now() - began) / 1_000).toFixed(1)
process.stdout.write(`${ids.length} pages in dist${GUIDE}, no dead link (${seconds} s).\n`)
process.exit(0)
