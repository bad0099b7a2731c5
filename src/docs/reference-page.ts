/**
 * The API reference: a page of ours around Swagger UI, all of it from this installation. The viewer comes from its npm
 * package and is read when somebody first asks for it, so that a start does not pay for its 2 MB.
 */
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { gzipSync } from "node:zlib"

interface PageFile {
  readonly type: string
  readonly plain: Buffer
  readonly gzip: Buffer
  readonly etag: string
}

const require = createRequire(import.meta.url)
const own = (name: string) => new URL(`./page/${name}`, import.meta.url)
const html = "text/html; charset=utf-8",
  script = "text/javascript; charset=utf-8",
  styles = "text/css; charset=utf-8"
/** By the name behind `/docs/`; `index.html` is the page at `/docs`. */
const places: ReadonlyMap<string, readonly [place: () => string | URL, type: string]> = new Map([
  ["index.html", [() => own("index.html"), html]],
  ["page.css", [() => own("page.css"), styles]],
  ["page.js", [() => own("page.js"), script]],
  ["swagger-ui.css", [() => require.resolve("swagger-ui-dist/swagger-ui.css"), styles]],
  ["swagger-ui.js", [() => require.resolve("swagger-ui-dist/swagger-ui-bundle.js"), script]]
])

const read = new Map<string, PageFile>()
export const pageFile = (name: string): PageFile | undefined => {
  const known = read.get(name)
  const place = places.get(name)
  if (known !== undefined || place === undefined) return known
  const plain = readFileSync(place[0]())
  const file = {
    type: place[1],
    plain,
    gzip: gzipSync(plain),
    etag: `"${createHash("sha256").update(plain).digest("hex").slice(0, 24)}"`
  }
  read.set(name, file)
  return file
}
