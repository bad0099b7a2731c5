/** The embedded model `dowser/rules`: it turns natural-language requests into a query, a filter and an order. */
import { describe, expect, it } from "vitest"
import { factsFor, readRequests } from "../../../bench/inputs/requests.ts"
import { createEngine } from "../../../engine-sdk/src/mod.ts"
import { createCollection, memoryResources } from "../../../engine-sdk/src/operations/mod.ts"
import { parseFilter } from "../../../engine-sdk/src/query/mod.ts"
import { fieldContextOf } from "../../../engine-sdk/src/query/query-context.ts"
import { writtenRequests } from "../../../fixtures/requests/written.ts"
import { RuleFacts } from "../../../src/nl-search/rules/facts.ts"
import { parseRules } from "../../../src/nl-search/rules/parse-rules.ts"

const english = factsFor("en")
const read = (q: string, facts = english) => {
  const { filter_by, q: rest, sort_by } = parseRules(q, facts)
  return [rest, filter_by, sort_by]
}
const field = (name: string, type: string, facet = false) =>
  ({ name, type: type as "string", facet, index: true, sort: !type.startsWith("string"), num_dim: 0 }) as const

describe("generated requests", () => {
  it("reads at least 92 of 100 exactly, in each language, and keeps every other word", () => {
    for (const seed of [11, 12]) {
      const readings = readRequests(seed, 250)
      for (const language of ["en", "de", "es", "fr", "ru"]) {
        const own = readings.filter(({ request }) => request.language === language)
        const exact = own.filter(({ isExact }) => isExact).length / own.length
        expect([language, exact >= 0.92, exact]).toEqual([language, true, exact])
      }
      expect(readings.filter(({ keepsRest }) => !keepsRest).map(({ request }) => request.q)).toEqual([])
    }
  })
})

describe("requests written by hand", () => {
  it("are read exactly except for three, which it does not know", () => {
    const inOrder = (filter_by: string) => filter_by.split(" && ").toSorted().join(" && ")
    const missed = writtenRequests.filter(([language, q, filter_by, sort_by]) => {
      const parsed = parseRules(q, factsFor(language))
      return inOrder(parsed.filter_by) !== inOrder(filter_by) || parsed.sort_by !== sort_by
    })
    expect(writtenRequests.length).toBe(40)
    expect(missed.map(([, q]) => q)).toEqual([
      "show laptops having 16 gigabytes of memory at minimum",
      "ordinateur avec 16 Go de mémoire vive minimum",
      "ноутбук с оперативной памятью от 16 ГБ"
    ])
  })
})

describe("numbers", () => {
  it("reads prices, ranges and exclusions", () => {
    expect(read("a quiet fridge under 600")).toEqual(["quiet fridge", "price:<600", ""])
    expect(read("fridge between $1,200 and $1,500")).toEqual(["fridge", "price:[1200..1500]", ""])
    expect(read("fridge not more than 80.50 euros")).toEqual(["fridge", "price:<=80.5", ""])
    expect(read("fridge that won't cost me more than 80 euros")[1]).toBe("price:<=80")
    expect(read("Kühlschrank unter 1.500 Euro", factsFor("de"))).toEqual(["Kühlschrank", "price:<1500", ""])
    expect(read("frigo à moins de 1 500,50 €", factsFor("fr"))[1]).toBe("price:<1500.5")
  })
  it("converts units to those of the field, and numbers to integers if needed", () => {
    expect(read("laptop lighter than 1500 g")).toEqual(["laptop", "weight_kg:<1.5", ""])
    expect(read("laptop with at least 1 TB storage")).toEqual(["laptop", "storage_gb:>=1000", ""])
    expect(read("more than 99.5 reviews")).toEqual(["*", "reviews:>99", ""])
    expect(read("less than 99.5 reviews")).toEqual(["*", "reviews:<100", ""])
  })
  it("compares facet values that are numbers with a unit", () => {
    const facts = new RuleFacts({ fields: [field("options", "string[]", true)] }, [
      { field: "options", values: ["64 GB", "128 GB", "1 TB", "Black", "2 kg"] }
    ])
    expect(read("phone with at least 128 GB", facts)).toEqual(["phone", "options:=[`128 GB`, `1 TB`]", ""])
    expect(read("phone 64-128 GB", facts)).toEqual(["phone", "options:=[`64 GB`, `128 GB`]", ""])
  })
  it("ignores numbers that belong to something else", () => {
    for (const q of [
      "toys for kids under 6",
      "iphone 15",
      "under 50 gifts",
      "recipes under 5 minutes",
      "galaxy s24 case",
      "usb 3.0 hub",
      "over ear headphones",
      "under the sea poster",
      "from 20 to nothing"
    ])
      expect(read(q)).toEqual([q, "", ""])
  })
})

describe("values", () => {
  it("names the longest value, whatever its case, accents and endings", () => {
    expect(read("BURGUNDY red rain jacket")).toEqual(["rain jacket", "color:=`Burgundy Red`", ""])
    expect(read("schwarze Laufschuhe", factsFor("de"))).toEqual(["Laufschuhe", "color:=`Schwarz`", ""])
    expect(read("чёрная сумка", factsFor("ru"))).toEqual(["сумка", "color:=`Чёрный`", ""])
    expect(read("schwarze Laufschuhe")).toEqual(["Laufschuhe", "color:=`Black`", ""])
    expect(read("chateau 9 mugs")).toEqual(["mugs", "brand:=`Château 9`", ""])
  })
  it("joins alternatives and negates all of them", () => {
    expect(read("black or white mugs")).toEqual(["mugs", "color:=[`Black`, `White`]", ""])
    expect(read("mugs, not black or white")).toEqual(["mugs", "color:!=[`Black`, `White`]", ""])
    expect(read("mugs not black but white")).toEqual(["mugs", "color:!=`Black` && color:=`White`", ""])
    expect(read("mugs of leather and cotton")).toEqual(["mugs", "material:=`Leather` && material:=`Cotton`", ""])
  })
  it("takes letters and numbers for values only beside the name of their field, or exactly as written", () => {
    const facts = new RuleFacts({ fields: [field("size", "string", true)] }, [
      { field: "size", values: ["M", "S", "XL", "42", "de"] }
    ])
    expect(read("shirt in size m", facts)).toEqual(["shirt", "size:=`M`", ""])
    expect(read("shirt XL", facts)).toEqual(["shirt", "size:=`XL`", ""])
    expect(read("shoes size 42", facts)).toEqual(["shoes", "size:=`42`", ""])
    for (const q of ["men s shirt", "shirt m 42", "lampe de table", "the 42 best shoes"])
      expect(read(q, facts)[1]).toBe("")
  })
  it("leaves quoted and excluded words alone", () => {
    for (const q of ['"not black" mug', "mug -black", '"under 600" poster']) expect(read(q)).toEqual([q, "", ""])
  })
  it("quotes hostile values so that a filter contains exactly that value", async () => {
    const hostile = [
      "Tea, Coffee",
      "aa) || price:>0 || (b",
      "x && y:=z",
      "[1..2]",
      "!=not",
      "co`de",
      "$other(id:*)",
      "{a}"
    ]
    const engine = createEngine()
    const own = { engine, resources: memoryResources(), namespace: "t", now_s: 0 }
    const fields = [
      { name: "brand", type: "string", facet: true },
      { name: "price", type: "float" }
    ]
    await createCollection(own, JSON.stringify({ name: "goods", fields }))
    const collection = engine.describeCollection("t", "goods")!
    const facts = new RuleFacts(collection.schema, [{ field: "brand", values: hostile }])
    const searching = { collectionOf: () => undefined, resources: { stemmingDictionary: () => undefined } }
    const context = fieldContextOf(collection, searching, true, 4)
    for (const value of hostile) {
      const { filter_by } = parseRules(`mugs by brand ${value.replace(/[^a-z0-9 ]/gi, " ")}`, facts)
      if (value.includes("`")) expect(filter_by).toBe("")
      else {
        const tree = parseFilter(filter_by, context)
        expect([value, tree.ok && tree.value?.kind, filter_by]).toEqual([value, "string", `brand:=\`${value}\``])
      }
    }
    await engine.close()
    expect(parseRules("mugs by brand tea coffee", facts).filter_by).toBe("brand:=`Tea, Coffee`")
  })
  it("uses no field that a filter text cannot name", () => {
    const facts = new RuleFacts({
      fields: [field("price:x", "float"), field("a b", "bool"), field("price) || (x", "float")]
    })
    expect(read("price under 5 euros, a b", facts)[1]).toBe("")
  })
})

describe("orders and flags", () => {
  it("reads them where the collection has the field", () => {
    expect(read("cheapest laptop in stock")).toEqual(["laptop", "in_stock:true", "price:asc"])
    expect(read("laptop, sold out")).toEqual(["laptop", "in_stock:false", ""])
    expect(read("laptop not on sale, best rated")).toEqual(["laptop", "on_sale:false", "rating:desc"])
    const bare = new RuleFacts({ fields: [field("title", "string")] })
    expect(read("cheapest laptop in stock under 600", bare)).toEqual(["cheapest laptop in stock under 600", "", ""])
  })
  it("falls back to the number in stock", () => {
    expect(read("mugs in stock", new RuleFacts({ fields: [field("stock", "int32")] }))).toEqual([
      "mugs",
      "stock:>0",
      ""
    ])
  })
})

it("ends quickly on any text", () => {
  for (const q of [
    "",
    "*",
    "under ".repeat(5_000),
    "1 ".repeat(5_000),
    "not ".repeat(5_000),
    '"'.repeat(3_000),
    "\ud800 under 5"
  ]) {
    const from = performance.now()
    expect(parseRules(q, english).filter_by.length).toBeLessThan(2_000)
    expect(performance.now() - from).toBeLessThan(1_000)
  }
})
