/** How mappings and the tables of shop systems transform payloads. */
import { Exit, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { compileMapping } from "../../../src/connectors/mapping/map.ts"
import { numberIn } from "../../../src/texts/number-in.ts"
import { Looks, pathOf, valuesAt } from "../../../src/connectors/mapping/path.ts"
import { plainText } from "../../../src/texts/plain-text.ts"
import { PROVIDERS } from "../../../src/connectors/mapping/providers.ts"
import { type Mapping, MappingFields } from "../../../src/connectors/mapping/source.ts"
import { eventsOf, readPush } from "../../../src/connectors/read-push.ts"
import { shopifyProduct, wooCommerceProduct } from "./payloads.ts"

const at = (payload: unknown, text: string) => {
  const path = pathOf(text)
  if (typeof path === "string") throw new Error(path)
  return valuesAt(payload, path, new Looks())
}
const readingOf = (name: string) => {
  const provider = PROVIDERS.get(name)!
  return { provider, map: compileMapping(provider.mapping) }
}

describe("paths", () => {
  const payload = { a: { b: [{ c: 1 }, { c: 2, d: "x" }] }, "with.dot": 3, list: [null, 0] }
  it("consist of names, indices, all elements, and those with a given text", () => {
    expect([at(payload, "a.b[1].c"), at(payload, "a.b[].c"), at(payload, "a.b[d=x].c")]).toEqual([[2], [1, 2], [2]])
    expect([at(payload, '["with.dot"]'), at(payload, "list[]"), at(payload, "a.nothing.c")]).toEqual([[3], [0], []])
  })
  it("see only properties that the payload itself has", () => {
    expect([at({}, "constructor.name"), at({}, "__proto__"), at([1], "length"), at("text", "length")]).toEqual([
      [],
      [],
      [],
      []
    ])
  })
  it.each(["", "a..b", "a[", "a[x]", "a.b[1", "[", 'a["x', "x".repeat(513), Array(18).fill("a").join(".")])(
    "that are invalid are reported: %s",
    (text) => {
      expect(typeof pathOf(text)).toBe("string")
    }
  )
})

it.each([
  ["12.50", 12.5],
  ["1,299.00", 1_299],
  ["1 299,00", 1_299],
  ["1.299.000", 1_299_000],
  ["1,299", 1_299],
  ["12,5 EUR", 12.5],
  ["-3", -3],
  ["€ 7", 7],
  ["none", undefined]
])("reads the number in %s", (text, number) => {
  expect(numberIn(text)).toBe(number)
})

describe("a description in HTML", () => {
  it("becomes the text that a visitor reads", () => {
    expect(
      plainText(
        "<p>Light &amp; <b>fast</b>&nbsp;shoe</p><script>alert(1)</script><!-- hidden --><ul><li>a\u200bb</li><li>5 &lt; 6 &#8364;</li></ul>"
      )
    ).toBe("Light & fast shoe\nab\n5 < 6 €")
  })
  it("of half a megabyte that is built to be slow is read quickly", () => {
    for (const text of ["<a", "<script", "<!--", "<style>", "&#x", "<p "]) {
      const began = process.cpuUsage()
      plainText(text.repeat(500_000 / text.length))
      const { system, user } = process.cpuUsage(began)
      // Quadratic time would take minutes.
      expect((user + system) / 1_000).toBeLessThan(2_000)
    }
  })
})

describe("a mapping", () => {
  const made = (mapping: Mapping, payload: unknown) => compileMapping(mapping)(payload)
  it("joins, chooses, counts and lists", () => {
    const payload = { vendor: "Acme", name: "Lamp", p: { old: "", now: "19,90" }, tags: "a, b,,c", ok: "Y", q: 0 }
    expect(
      made(
        {
          title: { join: ["vendor", "name", "missing"], with: " - " },
          price: { number: { first_of: ["p.old", "p.now"] } },
          tags: { list: "tags", split: "," },
          shown: { flag: "ok" },
          in_stock: { positive: "q" },
          kind: { constant: "lamp" },
          missing: "nothing"
        },
        payload
      )
    ).toEqual({
      ok: true,
      document: {
        title: "Acme - Lamp",
        price: 19.9,
        tags: ["a", "b", "c"],
        shown: true,
        in_stock: false,
        kind: "lamp"
      }
    })
  })
  it("names every field that it cannot produce", () => {
    expect(made({ a: { number: "x" }, b: { text: "y" }, c: "x" }, { x: "much", y: { z: 1 } })).toEqual({
      ok: false,
      problems: [
        { field: "a", message: "`much` is no number" },
        { field: "b", message: '`{"z":1}` is no text' }
      ]
    })
  })
  it("stops if an event makes it look at too much, whatever the fields", () => {
    const payload = { list: Array.from({ length: 60_000 }, () => ({ v: 1 })) }
    const answer = made({ a: "list[].v", b: "list[v=2].v" }, payload)
    expect(answer).toEqual({
      ok: false,
      problems: [{ field: "a", message: "the event makes the mapping look at more than 100000 values" }]
    })
  })
  it("accepts any field name as an own property", () => {
    const mapping = JSON.parse('{"__proto__": {"constant": 1}, "constructor": {"constant": 2}}') as Mapping
    const answer = made(mapping, {})
    expect(answer.ok && JSON.stringify(answer.document)).toBe('{"__proto__":1,"constructor":2}')
  })
  it("is refused if it is invalid", () => {
    const decode = Schema.decodeUnknownExit(MappingFields)
    const deep = (levels: number): unknown => (levels === 0 ? "a" : { number: deep(levels - 1) })
    const refused = [
      {},
      { id: "a" },
      { a: "b[" },
      { a: { first_of: [] } },
      { a: { number: { nothing: 1 } } },
      { a: deep(6) },
      Object.fromEntries(
        Array.from({ length: 20 }, (_, i) => [`f${i}`, { first_of: Array(20).fill("x".repeat(200)) }])
      ),
      Object.fromEntries(Array.from({ length: 201 }, (_, i) => [`f${i}`, "a"]))
    ]
    expect(refused.map((mapping) => Exit.isFailure(decode(mapping)))).toEqual(refused.map(() => true))
    expect(Exit.isSuccess(decode({ a: deep(5) }))).toBe(true)
    for (const { mapping } of PROVIDERS.values()) expect(Exit.isSuccess(decode(mapping))).toBe(true)
  })
})

describe("events", () => {
  it("of a Shopify product become a product, a draft is not shown, a deletion deletes", () => {
    const { changes, rejected } = readPush(
      [shopifyProduct, { ...shopifyProduct, id: 2, status: "draft" }, { event: "delete", id: 3 }],
      readingOf("shopify")
    )
    expect(rejected).toEqual([])
    expect(changes.map(({ externalId, op, version }) => [externalId, op, version])).toEqual([
      ["788032119674292922", "upsert", Date.parse("2021-12-31T19:00:00-05:00")],
      ["2", "delete", Date.parse("2021-12-31T19:00:00-05:00")],
      ["3", "delete", undefined]
    ])
    expect(changes[0]!.document).toEqual({
      id: "788032119674292922",
      title: "Example T-Shirt",
      description: "A soft shirt & more.",
      brand: "Acme",
      price: 19,
      old_price: 24.5,
      categories: ["Shirts"],
      tags: ["mens", "t-shirt"],
      url: "example-t-shirt",
      image: "https://shop.example/shirt.png",
      images: ["https://shop.example/shirt.png", "https://shop.example/back.png"],
      sku: "SHIRT-1",
      variant_skus: ["SHIRT-1", "SHIRT-2"],
      in_stock: true,
      stock: 7,
      attributes: { Size: ["S", "M"], Colour: ["black"] }
    })
  })
  it("of a WooCommerce product become a product", () => {
    const { changes } = readPush([wooCommerceProduct], readingOf("woocommerce"))
    expect(changes[0]).toEqual({
      index: 0,
      externalId: "794",
      op: "upsert",
      version: Date.parse("2017-03-23T17:01:14Z"),
      document: {
        id: "794",
        title: "Premium Quality",
        description: "Pellentesque habitant.",
        brand: "Acme",
        price: 21.99,
        old_price: 24.99,
        categories: ["Clothing", "T-shirts"],
        tags: ["new"],
        url: "https://shop.example/product/premium-quality",
        image: "https://shop.example/a.jpg",
        images: ["https://shop.example/a.jpg", "https://shop.example/b.jpg"],
        in_stock: true,
        stock: 4,
        sku: "pq-1",
        attributes: { Brand: ["Acme"], Colour: ["Black", "Green"] }
      }
    })
  })
  it("that are generic are documents, with or without an envelope; problems are reported by their place", () => {
    const { changes, received, rejected } = readPush(
      [
        { external_id: "a", version: 3, title: "A", updated_at: "x" },
        { id: 5, document: { title: "B", id: "other" } },
        { element_id: "c", event: "delete", version: "2024-01-01T00:00:00Z" },
        "text",
        { title: "nothing says whose" },
        { id: "d", event: "rename" },
        { id: "e", version: 1.5 },
        { id: "f", document: [1] },
        { id: "g".repeat(257) }
      ],
      { provider: undefined, map: undefined }
    )
    expect(received).toBe(9)
    expect(changes).toEqual([
      { index: 0, externalId: "a", op: "upsert", version: 3, document: { id: "a", title: "A" } },
      { index: 1, externalId: "5", op: "upsert", version: undefined, document: { id: "5", title: "B" } },
      { index: 2, externalId: "c", op: "delete", version: Date.parse("2024-01-01T00:00:00Z"), document: undefined }
    ])
    expect(rejected.map(({ index }) => index)).toEqual([3, 4, 5, 6, 7, 8])
  })
  it("arrive one by one or up to five hundred at once", () => {
    expect(eventsOf({ id: 1 })).toEqual([{ id: 1 }])
    expect(eventsOf({ events: Array(500).fill({}) })).toHaveLength(500)
    for (const body of [[], 1, { events: [] }, { events: {} }, { events: Array(501).fill({}) }])
      expect(typeof eventsOf(body)).toBe("string")
  })
})
