/**
 * The demo page and its widgets, read once at start and stored compressed. The widgets are bundles from their own
 * packages, served from here, so that the page needs no external address.
 */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { type PageFile, pageFileOf } from "../http/page-file.ts"

const require = createRequire(import.meta.url)
const own = (name: string) => new URL(`./page/${name}`, import.meta.url)
const load = (place: string | URL, type: string): PageFile => pageFileOf(readFileSync(place), type)

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
