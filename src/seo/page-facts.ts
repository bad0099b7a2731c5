/**
 * Facts about a value's documents: their number, prices and brands, and the first of them for the page's list. Pure.
 */
import { createHash } from "node:crypto"
import { plainText, type PlaceholderValues, filled } from "./placeholders.ts"
import type { Templates } from "./schema.ts"

/** Documents of a value that are examined; more are only counted. */
export const LOOKED_AT = 100
/** Documents that a page lists. */
export const LISTED = 20
const TEXT_MAX = 200,
  URL_MAX = 1_000
const TOP = 3
/** Fields by their role: the first that a document has. */
type Role = "title" | "brand" | "price" | "currency" | "url" | "image" | "in_stock"
const ROLES: ReadonlyMap<Role, ReadonlyArray<string>> = new Map([
  ["title", ["title", "name", "product_name"]],
  ["brand", ["brand", "vendor", "manufacturer"]],
  ["price", ["price", "sale_price"]],
  ["currency", ["currency"]],
  ["url", ["url", "link", "product_url"]],
  ["image", ["image", "image_url", "thumbnail"]],
  ["in_stock", ["in_stock", "available"]]
])
export const FIELDS_READ = ["id", ...[...ROLES.values()].flat()].join(",")

type Document = Readonly<Record<string, unknown>>
const valueIn = (document: Document, role: Role): unknown => {
  const name = ROLES.get(role)!.find((each) => Object.hasOwn(document, each))
  return name !== undefined && Object.hasOwn(document, name) ? document[name] : undefined
}
const textIn = (document: Document, role: Role, most = TEXT_MAX): string => {
  const value = valueIn(document, role)
  return typeof value === "string" ? plainText(value).slice(0, most).toWellFormed() : ""
}
/** A document's link must be a web address, whatever the document contains. */
const linkIn = (document: Document, role: "url" | "image"): string => {
  const value = valueIn(document, role)
  if (typeof value !== "string" || value.length > URL_MAX || !/^https?:\/\//i.test(value)) return ""
  return URL.canParse(value) ? new URL(value).href : ""
}

export interface Product {
  readonly id: string
  readonly title: string
  readonly url?: string
  readonly image?: string
  readonly price?: number
  readonly currency?: string
}
const productOf = (document: Document): Product => {
  const url = linkIn(document, "url"),
    image = linkIn(document, "image"),
    price = valueIn(document, "price"),
    currency = textIn(document, "currency", 3)
  const id = String(document.id)
  return {
    id,
    title: textIn(document, "title") || plainText(id).slice(0, TEXT_MAX),
    ...(url === "" ? {} : { url }),
    ...(image === "" ? {} : { image }),
    ...(typeof price === "number" && Number.isFinite(price) ? { price } : {}),
    ...(/^[A-Z]{3}$/.test(currency) ? { currency } : {})
  }
}

export interface Facts {
  readonly count: number
  /** Of the examined documents; those without the field count as in stock. */ readonly inStock: number
  readonly ids: ReadonlyArray<string>
  readonly products: ReadonlyArray<Product>
  readonly minPrice?: number
  readonly maxPrice?: number
  readonly currency?: string
  readonly brands: ReadonlyArray<string>
}
const isStorable = (text: string): boolean => !text.includes("\u0000") && text.isWellFormed()
interface Prices {
  readonly min?: number
  readonly max?: number
}
const mostFrequent = (texts: ReadonlyArray<string>): ReadonlyArray<string> => {
  const counts = new Map<string, number>()
  for (const text of texts) if (text !== "") counts.set(text, (counts.get(text) ?? 0) + 1)
  return [...counts]
    .sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1))
    .slice(0, TOP)
    .map(([text]) => text)
}
/**
 * `found`: the first `LOOKED_AT`, in the order that visitors see. `prices`: of all of them, if the collection has price
 * facets; otherwise of those examined.
 */
export const factsOf = (count: number, found: ReadonlyArray<Document>, counted?: Prices): Facts => {
  const documents = found.filter(({ id }) => isStorable(String(id)))
  const prices = documents.flatMap((document) => {
    const price = valueIn(document, "price")
    return typeof price === "number" && Number.isFinite(price) ? [price] : []
  })
  const [currency] = mostFrequent(documents.map((document) => textIn(document, "currency", 8)))
  return {
    count,
    inStock: documents.filter((document) => valueIn(document, "in_stock") !== false).length,
    ids: documents.map(({ id }) => String(id)),
    products: documents.slice(0, LISTED).map(productOf),
    ...(prices.length === 0
      ? {}
      : { minPrice: counted?.min ?? Math.min(...prices), maxPrice: counted?.max ?? Math.max(...prices) }),
    ...(currency === undefined ? {} : { currency }),
    brands: mostFrequent(documents.map((document) => textIn(document, "brand", 80)))
  }
}

interface Texts {
  readonly title: string
  readonly description: string
  readonly h1: string
  readonly text: string
  /** Number of sentences of the text that contain facts about the documents. */ readonly dataSentences: number
  /** Hash of what is shown: it differs if the page changed. */ readonly hash: string
}
interface About {
  readonly value: string
  readonly facet: string
  readonly siteName: string
  readonly year: number
}
const number = (value: number | undefined): string =>
  value === undefined ? "" : Number.isInteger(value) ? String(value) : value.toFixed(2)

export const textsOf = (templates: Templates, facts: Facts, { facet, siteName, value, year }: About): Texts => {
  const shown = plainText(value)
  const values: PlaceholderValues = new Map([
    ["VALUE", shown],
    ["FACET", plainText(facet.replaceAll(/[_.]/g, " "))],
    ["COUNT", String(facts.count)],
    ["MIN_PRICE", number(facts.minPrice)],
    ["MAX_PRICE", number(facts.maxPrice)],
    ["CURRENCY", facts.currency ?? ""],
    // For a page about a brand, naming that brand as the top one is not informative.
    ["TOP_BRANDS", facts.brands.length === 1 && facts.brands[0] === shown ? "" : facts.brands.join(", ")],
    [
      "TOP_PRODUCTS",
      facts.products
        .slice(0, TOP)
        .map(({ title }) => title)
        .join(", ")
    ],
    ["YEAR", String(year)],
    ["SITE_NAME", plainText(siteName)]
  ])
  const { dataSentences, text } = filled(templates.text, values, "text")
  const title = filled(templates.title, values, "line").text || shown
  const h1 = filled(templates.h1, values, "line").text || shown
  const description = filled(templates.description, values, "text").text
  const hash = createHash("sha256")
    .update(JSON.stringify([facts.products, facts.count, title, h1, description, text]))
    .digest("hex")
    .slice(0, 32)
  return { title, description, h1, text, dataSentences, hash }
}
