/**
 * What a page declares in JSON-LD: a product, an article, questions with answers, breadcrumbs. Sites write it in
 * every shape, so nothing is assumed to be present. The number of nodes is bounded. Pure.
 */
import { parseBounded } from "@dowser/engine-sdk/documents"
import { numberIn } from "../../../texts/number-in.ts"
import { plainText } from "../../../texts/plain-text.ts"
import { lines, oneLine } from "./clean-text.ts"

type Node = Readonly<Record<string, unknown>>
const NODES_MAX = 1_000,
  NESTED_MAX = 4
const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && !Array.isArray(value)
const listOf = (value: unknown): ReadonlyArray<unknown> =>
  Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]
const of = (node: unknown, key: string): unknown => (isNode(node) && Object.hasOwn(node, key) ? node[key] : undefined)

/** Every node of the page, including those inside `@graph` and lists. */
const nodesOf = (texts: ReadonlyArray<string>): ReadonlyArray<Node> => {
  const found: Array<Node> = []
  const walk = (value: unknown, depth: number): void => {
    if (found.length >= NODES_MAX || depth > NESTED_MAX) return
    if (Array.isArray(value)) for (const one of value) walk(one, depth + 1)
    else if (isNode(value)) {
      found.push(value)
      walk(of(value, "@graph"), depth + 1)
      walk(of(value, "mainEntity"), depth + 1)
    }
  }
  for (const text of texts) {
    // Invalid JSON is the site's own mistake, and the page is read without it.
    const parsed = parseBounded(text.replace(/^\s*<!--|-->\s*$/g, ""))
    if (typeof parsed === "object") walk(parsed.value, 0)
  }
  return found
}
const isA = (node: Node, ...types: ReadonlyArray<string>): boolean =>
  listOf(of(node, "@type")).some(
    (type) => typeof type === "string" && types.includes(type.replace(/^https?:\/\/schema\.org\//, ""))
  )

/** The value if it is a text, or the name of a node in its place. */
const textOf = (value: unknown, max = 1_000): string | undefined => {
  const [first] = listOf(value)
  const text =
    typeof first === "string" || typeof first === "number"
      ? String(first)
      : (of(first, "name") ?? of(first, "@value") ?? of(first, "url") ?? of(first, "@id"))
  if (typeof text !== "string" && typeof text !== "number") return undefined
  const line = oneLine(plainText(String(text)), max)
  return line === "" ? undefined : line
}
const linkOf = (value: unknown, base: string): string | undefined => {
  const [first] = listOf(value)
  const text = typeof first === "string" ? first : (of(first, "url") ?? of(first, "contentUrl") ?? of(first, "@id"))
  const url = typeof text === "string" && text.length < 2_048 ? URL.parse(text, base) : null
  return url !== null && /^https?:$/.test(url.protocol) ? url.href : undefined
}
const numberOf = (value: unknown): number | undefined => {
  const [first] = listOf(value)
  if (typeof first === "number") return Number.isFinite(first) ? first : undefined
  return typeof first === "string" ? numberIn(first.slice(0, 100)) : undefined
}
/** The document without absent fields. */
const present = (fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0))
  )

const crumbsOf = (nodes: ReadonlyArray<Node>): ReadonlyArray<string> => {
  const list = nodes.find((node) => isA(node, "BreadcrumbList"))
  return listOf(of(list, "itemListElement"))
    .slice(0, 20)
    .map((item, i) => ({
      at: numberOf(of(item, "position")) ?? i,
      name: textOf(of(item, "name"), 200) ?? textOf(of(item, "item"), 200)
    }))
    .sort((a, b) => a.at - b.at)
    .flatMap(({ name }) => (name === undefined ? [] : [name]))
}
/** The offer that is used: the cheapest of several. */
const offerOf = (product: Node): { readonly offer: unknown; readonly price: number | undefined } => {
  const offers = listOf(of(product, "offers"))
    .flatMap((offer) => [offer, ...listOf(of(offer, "offers"))])
    .slice(0, 100)
  const priced = offers.map((offer) => {
    const [specification] = listOf(of(offer, "priceSpecification"))
    return {
      offer,
      price: numberOf(of(offer, "price")) ?? numberOf(of(offer, "lowPrice")) ?? numberOf(of(specification, "price"))
    }
  })
  return (
    priced.filter(({ price }) => price !== undefined).sort((a, b) => a.price! - b.price!)[0] ?? {
      offer: offers[0],
      price: undefined
    }
  )
}
const IN_STOCK = /(?:InStock|LimitedAvailability|OnlineOnly|InStoreOnly)$/
const productOf = (node: Node, nodes: ReadonlyArray<Node>, url: string): Readonly<Record<string, unknown>> => {
  const { offer, price } = offerOf(node)
  const [specification] = listOf(of(offer, "priceSpecification"))
  const availability = textOf(of(offer, "availability"))
  const images = listOf(of(node, "image"))
    .slice(0, 50)
    .flatMap((image) => linkOf(image, url) ?? [])
  const category = listOf(of(node, "category")).flatMap((one) => textOf(one, 500)?.split(/\s*[>/›»]\s*/) ?? [])
  const crumbs = crumbsOf(nodes)
  const title = textOf(of(node, "name"), 500)
  const attributes = listOf(of(node, "additionalProperty"))
    .slice(0, 200)
    .flatMap((property) => {
      const name = textOf(of(property, "name"), 100),
        value = textOf(of(property, "value"), 500)
      return name === undefined || value === undefined ? [] : [[name, value] as const]
    })
  return present({
    title,
    description: descriptionOf(of(node, "description")),
    brand: textOf(of(node, "brand"), 200),
    price,
    old_price: numberOf(of(offer, "highPrice")) === price ? undefined : oldPriceOf(offer, specification, price),
    currency: textOf(of(offer, "priceCurrency"), 10) ?? textOf(of(specification, "priceCurrency"), 10),
    // Breadcrumbs of a product end with the product itself.
    categories:
      category.length > 0 ? category : crumbs.filter((crumb, i) => !(i === crumbs.length - 1 && crumb === title)),
    image: images[0],
    images,
    in_stock: availability === undefined ? undefined : IN_STOCK.test(availability),
    sku: textOf(of(node, "sku"), 200) ?? textOf(of(node, "mpn"), 200) ?? textOf(of(node, "gtin13"), 200),
    attributes: attributes.length === 0 ? undefined : Object.fromEntries(attributes)
  })
}
/** A struck-out price is the list price next to the current price. */
const oldPriceOf = (offer: unknown, specification: unknown, price: number | undefined): number | undefined => {
  const old = [specification, ...listOf(of(offer, "priceSpecification"))]
    .filter((one) => /(?:ListPrice|StrikethroughPrice|SRP)$/.test(textOf(of(one, "priceType")) ?? ""))
    .map((one) => numberOf(of(one, "price")))[0]
  return old !== undefined && price !== undefined && old > price ? old : undefined
}
const descriptionOf = (value: unknown): string | undefined => {
  const [first] = listOf(value)
  const text = typeof first === "string" ? lines(plainText(first.slice(0, 50_000))) : ""
  return text === "" ? undefined : text
}

export interface StructuredData {
  readonly product: Readonly<Record<string, unknown>> | undefined
  readonly article: {
    readonly title: string | undefined
    readonly description: string | undefined
    readonly image: string | undefined
    readonly published: string | undefined
    /** Some sites give the complete text. */ readonly body: string | undefined
  }
  readonly questions: ReadonlyArray<{ readonly question: string; readonly answer: string }>
}

export const readStructuredData = (texts: ReadonlyArray<string>, url: string): StructuredData => {
  const nodes = nodesOf(texts)
  const products = nodes.filter(
    (node) => isA(node, "Product", "ProductGroup") && textOf(of(node, "name")) !== undefined
  )
  const article = nodes.find((node) => isA(node, "Article", "NewsArticle", "BlogPosting", "TechArticle", "Report"))
  const questions = nodes
    .filter((node) => isA(node, "FAQPage"))
    .flatMap((node) => listOf(of(node, "mainEntity")))
    .slice(0, 100)
    .flatMap((entry) => {
      const question = textOf(of(entry, "name"), 300),
        answer = descriptionOf(of(listOf(of(entry, "acceptedAnswer"))[0], "text"))
      return question === undefined || answer === undefined ? [] : [{ question, answer }]
    })
  return {
    // A page with several products is a list, and is treated as text.
    product: products.length === 1 ? productOf(products[0]!, nodes, url) : undefined,
    article: {
      title: textOf(of(article, "headline"), 500) ?? textOf(of(article, "name"), 500),
      description: textOf(of(article, "description"), 1_000),
      image: linkOf(of(article, "image"), url),
      published: textOf(of(article, "datePublished"), 100),
      body: descriptionOf(of(article, "articleBody"))
    },
    questions
  }
}
