/**
 * Walks once over a page's HTML and collects its metadata, its links, and what a visitor sees. Hidden elements (by
 * element, attribute or style), comments and zero-width characters are dropped and never become text. Takes time
 * linear in the page, with bounded output, whatever the page contains.
 */
import { Parser } from "htmlparser2"
import { LINKS_PER_PAGE_MAX } from "../limits.ts"
import { oneLine, seen } from "./clean-text.ts"

/** Limits of elements and depth in the output; beyond them, text continues without its elements. */
const ELEMENTS_MAX = 20_000,
  DEPTH_MAX = 100
/** Reading stops at this many open elements, because the parser's cost grows with them. Real pages have fewer. */
const OPEN_MAX = 500
/** Characters per step, because one text may be the entire page. */
const SLICE_LENGTH = 65_536
const HTML_LENGTH_MAX = 1_000_000,
  JSON_LD_LENGTH_MAX = 500_000,
  LINKS_SEEN_MAX = 20 * LINKS_PER_PAGE_MAX
const HEADINGS_MAX = 100,
  HEADING_LENGTH_MAX = 300

export interface PageHtml {
  readonly title: string
  readonly lang: string | undefined
  /** By `name` or `property`, in lower case; the first of each. */ readonly metas: ReadonlyMap<string, string>
  /** Contents of every `robots` meta, our own and general. */ readonly robots: ReadonlyArray<string>
  readonly canonical: string | undefined
  readonly base: string | undefined
  /** As written, without links with `rel=nofollow`. */ readonly links: ReadonlyArray<string>
  readonly headings: ReadonlyArray<string>
  readonly jsonLd: ReadonlyArray<string>
  /** Visible elements, with only a few attributes. */ readonly html: string
}

/** The content of these elements is not text of a page. */
const UNREAD = new Set(
  "script style template noscript iframe object embed svg math canvas audio video select datalist textarea button dialog head title map frameset noframes xmp plaintext applet".split(
    " "
  )
)
const EMPTY = new Set("area base br col embed hr img input link meta param source track wbr".split(" "))
const HIDING =
  /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|opacity\s*:\s*0(?:\.0*)?\s*(?:%|;|!|$)|content-visibility\s*:\s*hidden|font-size\s*:\s*0(?:\.0*)?\s*(?:[a-z%]{0,3})\s*(?:;|!|$)|clip\s*:\s*rect\(\s*0|clip-path\s*:\s*inset\(\s*(?:50|100)%|text-indent\s*:\s*-\d{3,}|(?:left|top|right)\s*:\s*-\d{4,})/i
type Attributes = Readonly<Record<string, string | undefined>>
const isHidden = (name: string, attributes: Attributes): boolean =>
  UNREAD.has(name) ||
  attributes.hidden !== undefined ||
  attributes["aria-hidden"]?.trim().toLowerCase() === "true" ||
  (attributes.style !== undefined && HIDING.test(attributes.style.slice(0, 2_000).replace(/\/\*.*?\*\//g, "")))
const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
const HEADING = /^h[1-6]$/

/** What the walk has collected so far. */
class Page {
  title = ""
  lang: string | undefined
  canonical: string | undefined
  base: string | undefined
  readonly metas = new Map<string, string>()
  readonly robots: Array<string> = []
  readonly links: Array<string> = []
  readonly headings: Array<string> = []
  readonly jsonLd: Array<string> = []
  readonly #html: Array<string> = []
  #length = 0
  #isFull = false
  #elements = 0
  /** Whether each open element is in the output. */ readonly #open: Array<{
    readonly name: string
    readonly isKept: boolean
  }> = []
  /** Number of open elements since one that hides; 0 if nothing is hidden. */ #hiddenFor = 0
  #collects: { readonly to: "title" | "json" | "heading"; readonly depth: number; text: string } | undefined
  #jsonLength = 0

  /** Whether reading of the page ends here. */
  get isOver(): boolean {
    return this.#isFull || this.#open.length > OPEN_MAX
  }
  get html(): string {
    return this.#html.join("")
  }
  #write(text: string): void {
    if (this.#isFull) return
    const kept = this.#length + text.length > HTML_LENGTH_MAX ? text.slice(0, HTML_LENGTH_MAX - this.#length) : text
    this.#isFull = kept.length < text.length
    this.#html.push(kept)
    this.#length += kept.length
  }
  open(name: string, attributes: Attributes): void {
    this.#facts(name, attributes)
    const isVoid = EMPTY.has(name)
    if (this.#hiddenFor > 0 || isHidden(name, attributes)) {
      if (!isVoid) {
        this.#hiddenFor++
        this.#open.push({ name, isKept: false })
      }
      return
    }
    const isKept =
      this.#elements < ELEMENTS_MAX &&
      this.#open.length < DEPTH_MAX &&
      !/^(html|body|form|input|link|meta|base)$/.test(name)
    if (isKept) {
      this.#elements++
      // Readability uses these names to tell an article from its surroundings.
      const kept = (["class", "id", "role"] as const).flatMap((key) => {
        const value = attributes[key]
        return value === undefined ? [] : ` ${key}="${escaped(value.slice(0, 200)).replaceAll('"', "&quot;")}"`
      })
      this.#write(`<${name}${kept.join("")}>`)
    } else this.#write(" ")
    if (!isVoid) this.#open.push({ name, isKept })
    if (HEADING.test(name) && this.#collects === undefined && this.headings.length < HEADINGS_MAX)
      this.#collects = { to: "heading", depth: this.#open.length, text: "" }
  }
  /** The parser closes what the page forgets, so names match; a name that does not match is ignored. */
  close(name: string): void {
    if (EMPTY.has(name) || this.#open.at(-1)?.name !== name) return
    if (this.#collects?.depth === this.#open.length) this.#collected()
    const { isKept } = this.#open.pop()!
    if (this.#hiddenFor > 0) this.#hiddenFor--
    if (isKept) this.#write(`</${name}>`)
    else if (this.#hiddenFor === 0) this.#write(" ")
  }
  text(text: string): void {
    const collects = this.#collects
    if (collects !== undefined && (collects.to !== "heading" || this.#hiddenFor === 0)) {
      const max = collects.to === "json" ? JSON_LD_LENGTH_MAX + 1 : 2_000
      collects.text += text.slice(0, Math.max(0, max - collects.text.length))
    }
    if (this.#hiddenFor > 0) return
    for (let from = 0; from < text.length && !this.#isFull; from += SLICE_LENGTH)
      this.#write(escaped(seen(text.slice(from, from + SLICE_LENGTH))))
  }
  #collected(): void {
    const { text, to } = this.#collects!
    this.#collects = undefined
    if (to === "title") this.title ||= oneLine(text, 500)
    else if (to === "heading") {
      const heading = oneLine(text, HEADING_LENGTH_MAX)
      if (heading !== "") this.headings.push(heading)
    } else if (this.#jsonLength + text.length <= JSON_LD_LENGTH_MAX) {
      this.#jsonLength += text.length
      this.jsonLd.push(text)
    }
  }
  #facts(name: string, attributes: Attributes): void {
    const depth = this.#open.length + 1
    if (name === "html") this.lang ??= attributes.lang?.slice(0, 35)
    else if (name === "title" && this.title === "" && this.#open.at(-1)?.name !== "svg")
      this.#collects = { to: "title", depth, text: "" }
    else if (name === "script" && attributes.type?.trim().toLowerCase() === "application/ld+json")
      this.#collects = { to: "json", depth, text: "" }
    else if (name === "meta") this.#meta(attributes)
    else if (name === "base") this.base ??= attributes.href
    else if (name === "link") {
      if (/(?:^|\s)canonical(?:\s|$)/i.test(attributes.rel ?? "")) this.canonical ??= attributes.href
    } else if ((name === "a" || name === "area") && attributes.href !== undefined)
      this.#link(attributes.href, attributes.rel)
  }
  #link(href: string, rel = ""): void {
    if (
      this.links.length < LINKS_SEEN_MAX &&
      href.length < 4_000 &&
      !href.startsWith("#") &&
      !/(?:^|\s)nofollow(?:\s|$)/i.test(rel)
    )
      this.links.push(href)
  }
  #meta({ content, name, property }: Attributes): void {
    const key = (property ?? name)?.trim().toLowerCase()
    if (key === undefined || content === undefined) return
    if (key === "robots" || key === "dowserbot") {
      if (this.robots.length < 10) this.robots.push(content.slice(0, 500))
    } else if (!this.metas.has(key) && this.metas.size < 200) this.metas.set(key.slice(0, 100), content.slice(0, 5_000))
  }
}

export const readHtml = (html: string): PageHtml => {
  const page = new Page()
  const parser = new Parser(
    {
      onopentag: (name, attributes) => {
        page.open(name, attributes)
        if (page.isOver) parser.pause()
      },
      onclosetag: (name) => page.close(name),
      ontext: (text) => {
        page.text(text)
        if (page.isOver) parser.pause()
      }
    },
    { decodeEntities: true, lowerCaseTags: true, lowerCaseAttributeNames: true }
  )
  for (let from = 0; from < html.length && !page.isOver; from += SLICE_LENGTH)
    parser.write(html.slice(from, from + SLICE_LENGTH))
  if (!page.isOver) parser.end()
  return page
}
