/**
 * Parses a sitemap while it arrives: addresses with their last change, or the sitemaps that an index names. Works on
 * chunks, so that 50 MB are never in memory. Entities of a DOCTYPE are not expanded.
 */
import { SaxesParser } from "saxes"
import { SITEMAP_URLS_MAX, URL_LENGTH_MAX } from "./limits.ts"

export interface SitemapEntry {
  readonly url: string
  /** Milliseconds; a date without a time means the end of the day. */ readonly changed_at?: number | undefined
}
/** The text is not a sitemap, or is malformed. */
export class SitemapBroken extends Error {}

/** Characters between two tags; a longer text is not an address. */
const TEXT_LENGTH_MAX = 20_000
const DAY_MS = 86_400_000
const changedAt = (text: string): number | undefined => {
  const trimmed = text.trim()
  const at = Date.parse(trimmed)
  if (Number.isNaN(at)) return undefined
  return /^\d{4}-\d{2}-\d{2}$/.test(trimmed) ? at + DAY_MS : at
}
const localName = (name: string): string => name.slice(name.indexOf(":") + 1).toLowerCase()

export class SitemapReader {
  readonly #parser = new SaxesParser()
  readonly #entries: Array<SitemapEntry> = []
  #isIndex: boolean | undefined
  #path: Array<string> = []
  #text = ""
  #url = ""
  #changed: number | undefined
  #sinceTag = 0
  #count = 0
  #broken: string | undefined

  constructor() {
    this.#parser.on("error", (error) => {
      this.#broken ??= `is not well-formed XML (${error.message.slice(0, 200)})`
    })
    this.#parser.on("opentagstart", ({ name }) => this.#open(localName(name)))
    this.#parser.on("text", (text) => this.#take(text))
    this.#parser.on("cdata", (text) => this.#take(text))
    this.#parser.on("closetag", () => this.#close())
  }
  get isIndex(): boolean {
    return this.#isIndex === true
  }
  #open(name: string): void {
    this.#sinceTag = 0
    if (this.#path.length === 0) {
      if (name !== "urlset" && name !== "sitemapindex")
        this.#broken ??= `begins with <${name.slice(0, 40)}>, which is no sitemap`
      this.#isIndex = name === "sitemapindex"
    }
    // Extensions nest a little; unbounded nesting is not a sitemap.
    if (this.#path.length > 20) this.#broken ??= "nests deeper than a sitemap does"
    else this.#path.push(name)
    this.#text = ""
    if (this.#path.length === 2) {
      this.#url = ""
      this.#changed = undefined
    }
  }
  #take(text: string): void {
    if (this.#text.length < 2 * URL_LENGTH_MAX) this.#text += text
  }
  #close(): void {
    this.#sinceTag = 0
    const name = this.#path.pop()
    if (this.#path.length === 2) {
      if (name === "loc") this.#url = this.#text.trim()
      else if (name === "lastmod") this.#changed = changedAt(this.#text)
    } else if (
      this.#path.length === 1 &&
      this.#url !== "" &&
      this.#url.length <= URL_LENGTH_MAX &&
      ++this.#count <= SITEMAP_URLS_MAX
    )
      this.#entries.push({ url: this.#url, changed_at: this.#changed })
    this.#text = ""
  }
  /** Returns the entries that are complete so far; throws `SitemapBroken`. */
  write(text: string): ReadonlyArray<SitemapEntry> {
    this.#sinceTag += text.length
    this.#parser.write(text)
    if (this.#sinceTag > TEXT_LENGTH_MAX + 65_536)
      this.#broken ??= "holds more text between two tags than a sitemap does"
    if (this.#broken !== undefined) throw new SitemapBroken(this.#broken)
    return this.#entries.splice(0)
  }
  end(): ReadonlyArray<SitemapEntry> {
    this.#parser.close()
    if (this.#broken !== undefined) throw new SitemapBroken(this.#broken)
    if (this.#isIndex === undefined) throw new SitemapBroken("is empty")
    return this.#entries.splice(0)
  }
}
