/**
 * The demo page and its widgets, read once at start and kept compressed. The widgets are the ecosystem's own bundles
 * from their packages, served from here: the page needs no external address.
 */
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { gzipSync } from "node:zlib"

export interface PageFile {
  readonly type: string
  readonly plain: Buffer
  readonly gzip: Buffer
  readonly etag: string
}

const require = createRequire(import.meta.url)
const own = (name: string) => new URL(`./page/${name}`, import.meta.url)

const load = (place: string | URL, type: string): PageFile => {
  const plain = readFileSync(place)
  return {
    type,
    plain,
    gzip: gzipSync(plain, { level: 9 }),
    etag: `"${createHash("sha256").update(plain).digest("hex").slice(0, 24)}"`
  }
}

/** By the name after `/demo/`; `index.html` is the page at `/`. */
export const loadPageFiles = (): ReadonlyMap<string, PageFile> =>
  new Map([
    ["index.html", load(own("index.html"), "text/html; charset=utf-8")],
    ["page.css", load(own("page.css"), "text/css; charset=utf-8")],
    ["page.js", load(own("page.js"), "text/javascript; charset=utf-8")],
    ["speak.js", load(own("speak.js"), "text/javascript; charset=utf-8")],
    ["microphone.js", load(own("microphone.js"), "text/javascript; charset=utf-8")],
    [
      "instantsearch.js",
      load(require.resolve("instantsearch.js/dist/instantsearch.production.min.js"), "text/javascript; charset=utf-8")
    ],
    [
      "adapter.js",
      load(
        require.resolve("typesense-instantsearch-adapter/dist/typesense-instantsearch-adapter.min.js"),
        "text/javascript; charset=utf-8"
      )
    ]
  ])
