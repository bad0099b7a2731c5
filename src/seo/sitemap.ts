/**
 * Sitemaps: addresses with the time of their last change, in files of at most 50,000 addresses and 45 MB, and an index
 * if there is more than one. Pure.
 */
export interface SitemapEntry {
  readonly url: string
  readonly changed_at: number
}
interface SitemapBounds {
  readonly entriesMax: number
  readonly bytesMax: number
}
const SITEMAP_BOUNDS: SitemapBounds = { entriesMax: 50_000, bytesMax: 45_000_000 }
/** Addresses must be shorter than this. */
const LOC_MAX = 2_048

/** Escapes the content of an element or of a quoted attribute, in XML and in HTML. */
export const escaped = (text: string): string => text.replace(/[&<>"']/g, (sign) => ENTITIES.get(sign)!)
const ENTITIES: ReadonlyMap<string, string> = new Map([
  ["&", "&amp;"],
  ["<", "&lt;"],
  [">", "&gt;"],
  ['"', "&quot;"],
  ["'", "&#39;"]
])

const HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
const NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
const time = (at: number): string => new Date(at).toISOString()
const lineOf = (element: "url" | "sitemap", { changed_at, url }: SitemapEntry): string =>
  `<${element}><loc>${escaped(url)}</loc><lastmod>${time(changed_at)}</lastmod></${element}>\n`
const urlset = (lines: ReadonlyArray<string>): string => `${HEAD}<urlset ${NAMESPACE}>\n${lines.join("")}</urlset>\n`

interface Part {
  readonly text: string
  readonly changed_at: number
}
/** Always at least one. Addresses on another host than the first, and those that are too long, are omitted. */
export function* sitemapParts(
  entries: Iterable<SitemapEntry>,
  { bytesMax, entriesMax }: SitemapBounds = SITEMAP_BOUNDS
): Generator<void, ReadonlyArray<Part>> {
  const parts: Array<Part> = []
  let lines: Array<string> = []
  let bytes = 0,
    changed_at = 0
  const close = () => {
    parts.push({ text: urlset(lines), changed_at })
    lines = []
    bytes = changed_at = 0
  }
  let host: string | undefined
  let read = 0
  for (const entry of entries) {
    if (read++ % 100 === 0) yield
    const own = new URL(entry.url).host
    host ??= own
    if (escaped(entry.url).length >= LOC_MAX || own !== host) continue
    const line = lineOf("url", entry)
    const size = Buffer.byteLength(line)
    if (lines.length >= entriesMax || (lines.length > 0 && bytes + size + 200 > bytesMax)) close()
    lines.push(line)
    bytes += size
    changed_at = Math.max(changed_at, entry.changed_at)
  }
  close()
  return parts.length > 1 && parts.at(-1)!.changed_at === 0 ? parts.slice(0, -1) : parts
}

/** `urlOfPart`: where the site serves each part, counted from 1. */
export const sitemapIndex = (parts: ReadonlyArray<Part>, urlOfPart: (n: number) => string): string =>
  `${HEAD}<sitemapindex ${NAMESPACE}>\n${parts
    .map(({ changed_at }, i) => lineOf("sitemap", { url: urlOfPart(i + 1), changed_at }))
    .join("")}</sitemapindex>\n`
