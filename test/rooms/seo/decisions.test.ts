/** The content of pages and how search engines should treat them: the decisions alone. */
import { describe, expect, it } from "vitest"
import { duplicatesOf, jaccard, metTogether, printsOf } from "../../../src/seo/alike.ts"
import { findingsOf, type AuditedPage } from "../../../src/seo/audit-findings.ts"
import {
  decidePages,
  inOrder,
  type JudgedValue,
  type KnownPage,
  leftPages,
  slugsFor
} from "../../../src/seo/decide-pages.ts"
import { factsOf, textsOf } from "../../../src/seo/page-facts.ts"
import { filled, type Placeholder, plainText, unknownPlaceholder } from "../../../src/seo/placeholders.ts"
import { ruleFieldsOf, urlOf } from "../../../src/seo/rule-input.ts"
import { templatesByDefault } from "../../../src/seo/schema.ts"
import { SlugBook, slugOf, valueKey } from "../../../src/seo/slugs.ts"
import { atOnce } from "../../../src/suggestions/typeahead/sliced.ts"

const values = (given: Partial<Record<Placeholder, string>>) =>
  new Map(Object.entries(given) as Array<[Placeholder, string]>)
const ids = (from: number, to: number): ReadonlyArray<string> =>
  Array.from({ length: to - from }, (_, i) => `d${from + i}`)
const judged = (
  value: string,
  given: Partial<JudgedValue> & { readonly of?: ReadonlyArray<string> } = {}
): JudgedValue => {
  const { of = ids(0, 0), ...own } = given
  return {
    value,
    slug: slugOf(value),
    count: of.length,
    inStock: of.length,
    dataSentences: 3,
    title: value,
    h1: value,
    prints: printsOf(of),
    ...own
  }
}
const decided = (pages: ReadonlyArray<JudgedValue>, minProducts = 3) =>
  new Map(atOnce(decidePages(pages, minProducts)).map((state) => [state.slug, state]))
const DAY_MS = 86_400_000

describe("placeholders", () => {
  it("without a value remove their sentence, and no other", () => {
    const text = "Has #COUNT# of #VALUE#. From #MIN_PRICE# #CURRENCY#. Of #TOP_BRANDS#."
    expect(filled(text, values({ COUNT: "4", VALUE: "a", TOP_BRANDS: "b" }), "text")).toEqual({
      text: "Has 4 of a. Of b.",
      dataSentences: 2
    })
    expect(filled("#VALUE# | #SITE_NAME#", values({ VALUE: "a" }), "line").text).toBe("a")
    expect(filled("#SITE_NAME# | #VALUE#", values({ VALUE: "a" }), "line").text).toBe("a")
    expect(filled("#VALUE# for 1.50 EUR", values({ VALUE: "a" }), "line").text).toBe("a for 1.50 EUR")
  })
  it("are filled once: a value that looks like a placeholder is kept", () => {
    expect(filled("#VALUE#", values({ VALUE: "#COUNT#", COUNT: "4" }), "line").text).toBe("#COUNT#")
    expect(filled("#VALUE#", values({ VALUE: "$& $1" }), "line").text).toBe("$& $1")
  })
  it("are recognised by their name alone", () => {
    expect(unknownPlaceholder("#VALUE# and #PRICE#")).toBe("PRICE")
    expect(unknownPlaceholder("#value#")).toBe("value")
    expect(unknownPlaceholder("we are # 1 #")).toBeUndefined()
  })
  it("are bounded, and their values have no control characters", () => {
    const many = filled("#VALUE# ".repeat(1_000), values({ VALUE: "x".repeat(500) }), "text")
    expect(many.text.length).toBeLessThanOrEqual(16_384)
    expect(plainText("a\u0000b\u202Ec\n\td")).toBe("a b c d")
  })
})

describe("slugs", () => {
  it("are Latin letters, digits and dashes, or a name made from the value's hash", () => {
    expect(["Müller & Söhne", "Кухня", "Ελλάδα", "  USB-C 3.1 ", "straße", "Łódź"].map(slugOf)).toEqual([
      "muller-sohne",
      "kukhnya",
      "ellada",
      "usb-c-3-1",
      "strasse",
      "lodz"
    ])
    for (const value of ["كتاب", "書", "!!!", "‮abc‬".replace("abc", "")])
      expect(slugOf(value)).toMatch(/^v-[0-9a-f]{10}$/)
    expect(slugOf("x".repeat(10_000)).length).toBe(80)
  })
  it("that are taken get a number, and so does a third one", () => {
    const book = new SlugBook(["a", "a-3"])
    expect([book.give("a"), book.give("A"), book.give("á")]).toEqual(["a-2", "a-4", "a-5"])
  })
  it("are kept for ever: by the value, and by its key if its spelling changed", () => {
    const known = (value: string, slug: string, given: Partial<KnownPage> = {}): KnownPage => ({
      slug,
      value,
      status: "index",
      document_ids: [],
      empty_since: null,
      moved_to: null,
      ...given
    })
    const slugs = atOnce(
      slugsFor(
        [
          { value: "usb c", count: 4 },
          { value: "Old", count: 2 },
          { value: "New", count: 9 }
        ],
        [
          known("USB-C", "the-plug"),
          known("Old", "older", { status: "gone" }),
          known("Moved", "new", { moved_to: "x" })
        ]
      )
    )
    expect([...slugs]).toEqual([
      ["New", "new-2"],
      ["usb c", "the-plug"],
      ["Old", "older"]
    ])
    expect([valueKey("USB-C"), valueKey("usb c"), valueKey("!!!")]).toEqual(["usbc", "usbc", "!!!"])
  })
})

describe("similar pages", () => {
  it("share nine tenths of their documents, and the larger one stays", () => {
    expect(jaccard(printsOf(ids(0, 100)), printsOf(ids(5, 105)))).toBeCloseTo(95 / 105, 5)
    const pages = [
      { count: 100, prints: printsOf(ids(0, 100)) },
      { count: 99, prints: printsOf(ids(1, 100)) },
      { count: 100, prints: printsOf(ids(12, 112)) },
      { count: 1_000, prints: printsOf(ids(0, 100)) }
    ]
    expect([...atOnce(duplicatesOf(pages))]).toEqual([[1, 0]])
    expect(jaccard(printsOf([]), printsOf([]))).toBe(0)
  })
  it("are found the same as by comparing each with each", () => {
    const pages = Array.from({ length: 60 }, (_, i) => {
      const of = ids(i * 2, i * 2 + 20 + (i % 3))
      return { count: of.length, prints: printsOf(of) }
    })
    const met = atOnce(metTogether(pages, 5))
    for (const [at, others] of met.entries()) {
      expect(others.length).toBeLessThanOrEqual(5)
      for (const other of others) expect(jaccard(pages[at]!.prints, pages[other]!.prints)).toBeGreaterThan(0)
    }
    const found = atOnce(duplicatesOf(pages))
    for (const [at, leader] of found) {
      expect(jaccard(pages[at]!.prints, pages[leader]!.prints)).toBeGreaterThanOrEqual(0.9)
      expect(found.has(leader)).toBe(false)
    }
  })
})

describe("states", () => {
  it("are index, thin, canonical; a thin page is not a copy", () => {
    const states = decided([
      judged("Large", { of: ids(0, 100) }),
      judged("Copy", { of: ids(0, 98) }),
      judged("Other", { of: ids(200, 210) }),
      judged("Few", { of: ids(300, 302) }),
      judged("Sold out", { of: ids(400, 410), inStock: 2 }),
      judged("Template", { of: ids(500, 510), dataSentences: 1 }),
      judged("Thin copy", { of: ids(0, 97), inStock: 0 })
    ])
    expect([...states.values()].map(({ canonical, slug, status }) => [slug, status, canonical])).toEqual([
      ["large", "index", undefined],
      ["copy", "canonical", "large"],
      ["thin-copy", "noindex", undefined],
      ["other", "index", undefined],
      ["sold-out", "noindex", undefined],
      ["template", "noindex", undefined],
      ["few", "noindex", undefined]
    ])
  })
  it("of two spellings of a value are one page, however few documents the other has", () => {
    const states = decided([judged("USB-C", { of: ids(0, 10) }), judged("usb c", { of: ids(20, 21), slug: "usb-c-2" })])
    expect(states.get("usb-c-2")).toMatchObject({ status: "canonical", canonical: "usb-c" })
    const thin = decided([judged("USB-C", { of: ids(0, 2) }), judged("usb c", { of: ids(20, 21), slug: "usb-c-2" })])
    expect([...thin.values()].map(({ status }) => status)).toEqual(["noindex", "noindex"])
  })
  it("of pages with the same title and heading are shown once", () => {
    const same = { title: "Shop", h1: "Shop" }
    const states = decided([judged("A", { of: ids(0, 10), ...same }), judged("B", { of: ids(20, 29), ...same })])
    expect([states.get("a")!.status, states.get("b")!.status]).toEqual(["index", "noindex"])
  })
  it("link to at most twenty other shown pages, and to the previous and next ones", () => {
    const pages = Array.from({ length: 40 }, (_, i) => judged(`v ${i}`, { of: ids(i, i + 12 + (i % 5)) }))
    const states = decided([...pages, judged("Few", { of: ids(0, 1) })])
    for (const { related, slug } of states.values()) {
      expect(related.length).toBeLessThanOrEqual(20)
      expect(related.length).toBeGreaterThan(0)
      expect(related).not.toContain(slug)
      expect(related).not.toContain("few")
    }
    const order = [...states.values()].filter(({ status }) => status === "index")
    expect(order[0]!.prev).toBeUndefined()
    expect(order[0]!.next).toBe(order[1]!.slug)
    expect(order[1]!.prev).toBe(order[0]!.slug)
  })
  it("of leftovers: moved if the documents have a new value, otherwise empty, and gone after fourteen days", () => {
    const known = (slug: string, of: ReadonlyArray<string>, given: Partial<KnownPage> = {}): KnownPage => ({
      slug,
      value: slug,
      status: "index",
      document_ids: of,
      empty_since: null,
      moved_to: null,
      ...given
    })
    const now = 100 * DAY_MS
    const left = atOnce(
      leftPages(
        [
          known("renamed", ids(0, 10)),
          known("empty", ids(20, 30)),
          known("long-empty", [], { empty_since: now - 14 * DAY_MS }),
          known("nearly", [], { empty_since: now - 14 * DAY_MS + 1 }),
          known("used", ids(40, 50)),
          known("before", ids(0, 10), { moved_to: "x", status: "gone" })
        ],
        [{ slug: "fresh", document_ids: ids(0, 10) }],
        new Set(["used"]),
        now
      )
    )
    expect(left).toEqual([
      { slug: "renamed", status: "gone", empty_since: now, moved_to: "fresh" },
      { slug: "empty", status: "noindex", empty_since: now },
      { slug: "long-empty", status: "gone", empty_since: now - 14 * DAY_MS },
      { slug: "nearly", status: "noindex", empty_since: now - 14 * DAY_MS + 1 }
    ])
  })
})

describe("statements about documents", () => {
  const documents = [
    { id: "1", title: "One", brand: "B", price: 5, currency: "EUR", url: "https://shop.example/1", in_stock: true },
    { id: "2", title: "Two", brand: "A", price: 7.5, currency: "EUR", url: "javascript:alert(1)", in_stock: false },
    { id: "3", name: "Three", brand: "B" }
  ]
  const about = { value: "v", facet: "brand", siteName: "Site", year: 2026 }
  it("are counted; a link that is no web address is omitted", () => {
    const facts = factsOf(3, documents)
    expect(facts).toMatchObject({ inStock: 2, minPrice: 5, maxPrice: 7.5, currency: "EUR", brands: ["B", "A"] })
    expect(facts.products.map(({ title, url }) => [title, url])).toEqual([
      ["One", "https://shop.example/1"],
      ["Two", undefined],
      ["Three", undefined]
    ])
    expect(factsOf(900, documents, { min: 1, max: 99 })).toMatchObject({ minPrice: 1, maxPrice: 99 })
  })
  it("have a different hash when they change, and the same one when they do not", () => {
    const hash = (count: number) => textsOf(templatesByDefault, factsOf(count, documents), about).hash
    expect(hash(3)).toBe(hash(3))
    expect(hash(3)).not.toBe(hash(4))
    expect(textsOf(templatesByDefault, factsOf(3, documents), about)).toMatchObject({
      title: "v | Site",
      text: "There are 3 products of v. They cost from 5 to 7.50 EUR. Most are of B, A. Among them: One, Two, Three.",
      dataSentences: 4
    })
    expect(
      textsOf({ ...templatesByDefault, text: "Buy #VALUE#. Now. Here." }, factsOf(3, documents), about).dataSentences
    ).toBe(0)
  })
})

describe("a rule", () => {
  const rule = { collection: "goods", name: "r", facet_field: "brand" }
  const issues = (body: unknown) => {
    const fields = ruleFieldsOf(body)
    return "_tag" in fields ? fields.issues?.map(({ path }) => path) : []
  }
  it("is complete: omitted parts have their defaults", () => {
    expect(ruleFieldsOf(rule)).toEqual({
      ...rule,
      url_template: "/brand/#SLUG#",
      site_name: "",
      active: true,
      min_products: 3,
      templates: templatesByDefault
    })
  })
  it("that is wrong names every wrong field", () => {
    expect(issues({})).toEqual(["collection", "name", "facet_field"])
    expect(issues({ ...rule, templates: { title: "#NONE#", text: 1, __proto__: "x", other: "y" } })).toEqual([
      "templates.title",
      "templates.text",
      "templates.other"
    ])
    expect(issues({ ...rule, colour: 1, min_products: 0 })).toEqual(["min_products", "colour"])
    for (const url_template of [
      "https://shop.example/brands",
      "https://#SLUG#.example/",
      "https://user:pass@shop.example/#SLUG#",
      "https://shop.example/#SLUG#/#SLUG#",
      "https://shop.example/#SLUG#/#VALUE#",
      "https://shop.example/#top#SLUG#",
      "//shop.example/#SLUG#",
      "javascript:#SLUG#",
      "shop/#SLUG#"
    ])
      expect([url_template, issues({ ...rule, url_template })]).toEqual([url_template, ["url_template"]])
    expect(urlOf("https://shop.example/a?b=#SLUG#", "x-y")).toBe("https://shop.example/a?b=x-y")
  })
})

describe("an audit", () => {
  const page = (slug: string, given: Partial<AuditedPage> = {}): AuditedPage => ({
    slug,
    value: slug,
    status: "index",
    canonical: null,
    moved_to: null,
    title: slug,
    description: "d",
    h1: slug,
    text: "t",
    count: 5,
    ...given
  })
  const audited = (
    pages: ReadonlyArray<AuditedPage>,
    given: Partial<Parameters<typeof findingsOf>[0]> = {}
  ): ReadonlyArray<string> =>
    atOnce(
      findingsOf({
        pages,
        values: pages.map(({ count, value }) => ({ value, count })),
        minProducts: 3,
        isActive: true,
        titles: new Map(),
        demand: [],
        ...given
      })
    ).map(({ code, page: slug, value }) => `${code} ${slug ?? value}`)
  it("finds nothing if everything is right", () => {
    expect(audited([page("a"), page("b")])).toEqual([])
  })
  it("finds each fault once, under its code", () => {
    expect(audited([page("a")], { values: [{ value: "a", count: 6 }] })).toEqual(["stale_count a"])
    expect(audited([page("a")], { values: [] })).toEqual(["empty a"])
    expect(audited([page("a", { count: 2 })])).toEqual(["thin a"])
    expect(audited([page("a", { status: "canonical", canonical: "b" })])).toEqual(["duplicate_of a"])
    expect(audited([page("a"), page("b", { title: "a" })])).toEqual(["title_conflict b"])
    expect(audited([page("a")], { titles: new Map([["a", "z"]]) })).toEqual(["title_conflict a"])
    expect(audited([page("a", { title: "x".repeat(61) })])).toEqual(["title_length a"])
    expect(audited([page("a", { text: "has #COUNT# of" })])).toEqual(["placeholder_unresolved a"])
    expect(audited([page("a", { value: "1 x #COUNT#", title: "#COUNT#", slug: "1-x-count" })])).toEqual([])
    expect(audited([page("a", { value: "b" })])).toEqual(["slug_changed a"])
    expect(audited([page("a-2", { value: "a" })])).toEqual([])
    expect(audited([page("a")], { isActive: false })).toEqual(["not_in_sitemap a"])
    expect(audited([], { values: [{ value: "new", count: 3 }] })).toEqual(["not_in_sitemap new"])
    expect(
      audited([], {
        values: [{ value: "USB-C", count: 1 }],
        demand: [
          { q: "usb c", count: 9 },
          { q: "tv", count: 9 }
        ]
      })
    ).toEqual(["demand_without_page USB-C"])
  })
  it("orders values the same way each time", () => {
    expect(
      inOrder([
        { value: "b", count: 1 },
        { value: "a", count: 1 },
        { value: "c", count: 2 }
      ]).map(({ value }) => value)
    ).toEqual(["c", "a", "b"])
  })
})
