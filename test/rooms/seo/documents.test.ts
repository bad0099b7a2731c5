/** What crawlers read: pages and sitemaps made from hostile texts, parsed by a real parser for each. */
import { HtmlValidate } from "html-validate"
import { SaxesParser } from "saxes"
import { describe, expect, it } from "vitest"
import { pageHtml, scriptJson, type ShownPage } from "../../../src/seo/page-html.ts"
import { sitemapIndex, sitemapParts as partsOf } from "../../../src/seo/sitemap.ts"
import { atOnce } from "../../../src/suggestions/typeahead/sliced.ts"

const sitemapParts = (...given: Parameters<typeof partsOf>) => atOnce(partsOf(...given))
const hostile = [
  "<script>alert(1)</script>",
  `"' onmouseover='alert(1)`,
  "]]><!-- --!> </title></script><script>",
  "\u202Eright to left \u05D0\u05D1 \u0645\u0631\u062D\u0628\u0627",
  "x".repeat(10_000),
  "&amp; &#0; &lt;",
  "<!--<script>",
  "a\u2028\u2029b"
]
const validator = new HtmlValidate({
  extends: ["html-validate:standard"],
  // A page declares no language, because that of a shop's documents is unknown.
  rules: { "long-title": "off" }
})
const faultsOf = async (html: string) =>
  (await validator.validateString(html)).results.flatMap(({ messages }) =>
    messages.map(({ line, message, ruleId }) => `${ruleId} ${line}: ${message}`)
  )
const linkedDataOf = (html: string): any => {
  const found = /<script type="application\/ld\+json">([\s\S]*?)<\/script>/.exec(html)!
  return JSON.parse(found[1]!)
}
const pageOf = (text: string): ShownPage => ({
  url: "https://shop.example/a?b=1&c=x",
  canonical_url: "https://shop.example/a?b=1&c=x",
  isIndexed: true,
  value: text,
  facet: "brand",
  siteName: text,
  title: text,
  description: text,
  h1: text,
  text,
  count: 2,
  products: [
    { id: text, title: text, url: "https://shop.example/'%22%3E", image: "https://shop.example/i.png", price: 5 },
    { id: "2", title: text }
  ],
  related: [{ label: text, url: "https://shop.example/b" }],
  prev: { label: text, url: "https://shop.example/c" },
  next: { label: text, url: "https://shop.example/d" }
})
/** The texts of an element; throws if the document is not well-formed. */
const textsOf = (xml: string, element: string): ReadonlyArray<string> => {
  const texts: Array<string> = []
  let open = ""
  const parser = new SaxesParser({ xmlns: true })
  parser.on("error", (error) => {
    throw error
  })
  parser.on("opentag", ({ name }) => {
    open = name
  })
  parser.on("closetag", () => {
    open = ""
  })
  parser.on("text", (text) => {
    if (open === element) texts.push(text)
  })
  parser.write(xml).close()
  return texts
}

describe("a page", () => {
  it.for(hostile.map((text, i) => [i, text] as const))(
    "of hostile text %i is valid and contains it as text",
    async ([, text]) => {
      const html = pageHtml(pageOf(text))
      expect(await faultsOf(html)).toEqual([])
      expect(html.match(/<script/g)).toHaveLength(1)
      expect(html.match(/<\/script>/g)).toHaveLength(1)
      const data = linkedDataOf(html)
      const [collection, crumbs] = data["@graph"]
      expect(collection).toMatchObject({ "@type": "CollectionPage", name: text, description: text })
      expect(collection.mainEntity).toMatchObject({ "@type": "ItemList", numberOfItems: 2 })
      expect(collection.mainEntity.itemListElement.map(({ name }: { name: string }) => name)).toEqual([text, text])
      expect(crumbs).toMatchObject({ "@type": "BreadcrumbList" })
    }
  )
  it("is noindex or canonical, never both, and links onwards", () => {
    const own = pageOf("a")
    expect(pageHtml(own)).not.toContain("noindex")
    expect(pageHtml({ ...own, isIndexed: false })).toContain('<meta name="robots" content="noindex, follow">')
    expect(pageHtml({ ...own, canonical_url: "https://shop.example/z" })).toContain(
      '<link rel="canonical" href="https://shop.example/z">'
    )
    expect(pageHtml(own)).toContain('<link rel="prev" href="https://shop.example/c">')
    expect(scriptJson({ a: "</script><!--&" })).toBe('{"a":"\\u003c/script\\u003e\\u003c!--\\u0026"}')
  })
})

describe("a sitemap", () => {
  const entry = (i: number, url = `https://shop.example/a?b=${i}&c='"<>`) => ({
    url,
    changed_at: 1_700_000_000_000 + i
  })
  it("is well-formed and has each address with its time", () => {
    const [part, ...more] = sitemapParts([entry(0), entry(1)])
    expect(more).toEqual([])
    expect(textsOf(part!.text, "loc")).toEqual([entry(0).url, entry(1).url])
    expect(textsOf(part!.text, "lastmod")[0]).toBe("2023-11-14T22:13:20.000Z")
    expect(textsOf(sitemapParts([])[0]!.text, "loc")).toEqual([])
  })
  it("beyond its bounds becomes several, with an index", () => {
    const entries = Array.from({ length: 10 }, (_, i) => entry(i))
    const parts = sitemapParts(entries, { entriesMax: 4, bytesMax: 1e6 })
    expect(parts.map(({ text }) => textsOf(text, "loc").length)).toEqual([4, 4, 2])
    expect(parts.flatMap(({ text }) => textsOf(text, "loc"))).toEqual(entries.map(({ url }) => url))
    const bytes = sitemapParts(entries, { entriesMax: 100, bytesMax: 700 })
    expect(bytes.length).toBeGreaterThan(2)
    for (const { text } of bytes) expect(Buffer.byteLength(text)).toBeLessThanOrEqual(700)
    const index = sitemapIndex(parts, (n) => `https://shop.example/s-${n}.xml?a&b`)
    expect(textsOf(index, "loc")).toEqual([1, 2, 3].map((n) => `https://shop.example/s-${n}.xml?a&b`))
    expect(sitemapParts(entries.slice(0, 8), { entriesMax: 4, bytesMax: 1e6 })).toHaveLength(2)
    expect(sitemapParts(Array.from({ length: 50_001 }, (_, i) => entry(i)))).toHaveLength(2)
  })
  it("has one host and no address that is too long", () => {
    const [part] = sitemapParts([
      entry(0),
      entry(1, "https://other.example/"),
      entry(2, `https://shop.example/${"x".repeat(2_048)}`)
    ])
    expect(textsOf(part!.text, "loc")).toEqual([entry(0).url])
  })
})
