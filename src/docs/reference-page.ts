/**
 * The API reference: our own page around Swagger UI, served entirely by this installation. The viewer comes from its
 * npm package and is read on the first request, so that a start does not wait for its 2 MB. The style and the script
 * of the guide's pages are served with it.
 */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { type PageFile, pageFileOf } from "../http/page-file.ts"

const require = createRequire(import.meta.url)
const own = (name: string) => new URL(`./page/${name}`, import.meta.url)
const html = "text/html; charset=utf-8",
  script = "text/javascript; charset=utf-8",
  styles = "text/css; charset=utf-8"
/** By the name after `/docs/`; `index.html` is the page at `/docs`. */
const places: ReadonlyMap<string, readonly [place: () => string | URL, type: string]> = new Map([
  ["index.html", [() => own("index.html"), html]],
  ["page.css", [() => own("page.css"), styles]],
  ["page.js", [() => own("page.js"), script]],
  ["guide.css", [() => own("guide.css"), styles]],
  ["guide.js", [() => own("guide.js"), script]],
  ["swagger-ui.css", [() => require.resolve("swagger-ui-dist/swagger-ui.css"), styles]],
  ["swagger-ui.js", [() => require.resolve("swagger-ui-dist/swagger-ui-bundle.js"), script]]
])

const read = new Map<string, PageFile>()
export const pageFile = (name: string): PageFile | undefined => {
  const known = read.get(name)
  const place = places.get(name)
  if (known !== undefined || place === undefined) return known
  const file = pageFileOf(readFileSync(place[0]()), place[1])
  read.set(name, file)
  return file
}
