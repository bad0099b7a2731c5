/** Google's product data as RSS 2.0 (`item`) or Atom (`entry`), with or without the `g:` prefix. Pure. */
import { plainText } from "../../texts/plain-text.ts"
import { attributeName, type Product } from "./attributes.ts"
import { Element } from "./element.ts"
import { currencyOf, priceOf, withoutNothing } from "./product.ts"
import { ProductItems } from "./product-items.ts"
import { FeedBroken, type FeedItem, type FeedReader } from "./reader.ts"
import { visited, type XmlVisitor } from "./xml.ts"

const EXTRA_MAX = 50
const ROOTS = new Set(["rss", "feed", "channel", "RDF"])
const ATTRIBUTES = ["color", "size", "material", "pattern", "gender", "age_group", "condition", "gtin", "mpn"]
const KNOWN = new Set([
  ...ATTRIBUTES,
  "id",
  "title",
  "description",
  "summary",
  "brand",
  "price",
  "sale_price",
  "link",
  "image_link",
  "additional_image_link",
  "availability",
  "product_type",
  "google_product_category",
  "product_detail"
])
const IN_STOCK = new Set(["in stock", "in_stock", "instock"])
const localName = (name: string): string => name.slice(name.indexOf(":") + 1)

const linkOf = (item: Element): string | undefined =>
  item.first("link") ?? item.all("link").find(({ attributes }) => attributes.href !== undefined)?.attributes.href
const attributesOf = (item: Element): ReadonlyMap<string, string> => {
  const attributes = new Map<string, string>()
  for (const name of ATTRIBUTES) {
    const value = item.first(name)
    if (value !== undefined) attributes.set(name, value)
  }
  for (const { children } of item.all("product_detail")) {
    const textOf = (name: string) => children.find((child) => child.name === name)?.text.trim() ?? ""
    const name = attributeName(textOf("attribute_name")),
      value = textOf("attribute_value")
    if (name !== "" && value !== "") attributes.set(name, value)
  }
  return attributes
}
const extraOf = (item: Element): Map<string, string> => {
  const extra = new Map<string, string>()
  for (const { children, name, text } of item.children)
    if (!KNOWN.has(name) && children.length === 0 && text.trim() !== "" && extra.size < EXTRA_MAX)
      extra.set(attributeName(name), text.trim())
  return extra
}
const pathOf = (text: string | undefined): ReadonlyArray<string> | undefined =>
  text
    ?.split(">")
    .map((part) => part.trim())
    .filter((part) => part !== "")
const productOf = (id: string, item: Element): Product | string => {
  const title = item.first("title")
  if (title === undefined) return "It has no `title`"
  const asked = item.first("price")
  const price = priceOf(asked),
    sale = priceOf(item.first("sale_price"))
  if (asked !== undefined && price === undefined) return `Its price \`${asked.slice(0, 40)}\` is no number`
  const isReduced = sale !== undefined && (price === undefined || sale.amount < price.amount)
  const description = item.first("description", "summary")
  const images = [...item.texts("image_link"), ...item.texts("additional_image_link")]
  const availability = item.first("availability")
  return {
    document: withoutNothing({
      id,
      title,
      description: description === undefined ? undefined : plainText(description),
      brand: item.first("brand"),
      price: isReduced ? sale.amount : price?.amount,
      old_price: isReduced ? price?.amount : undefined,
      currency: currencyOf(price?.currency ?? sale?.currency),
      categories: pathOf(item.first("product_type") ?? item.first("google_product_category")),
      url: linkOf(item),
      image: images[0],
      images,
      in_stock: availability === undefined ? undefined : IN_STOCK.has(availability.toLowerCase()),
      sku: item.first("mpn", "gtin")
    }),
    attributes: attributesOf(item),
    extra: extraOf(item),
    bytes: item.size
  }
}

class Products implements XmlVisitor {
  readonly #items = new ProductItems("item")
  #item: Element | undefined
  #itemDepth = 0
  #isFeed = false

  readonly open: XmlVisitor["open"] = (name, attributes, depth, line) => {
    const local = localName(name)
    if (depth === 1) {
      if (!ROOTS.has(local))
        throw new FeedBroken(
          `This is no product feed: its first element is \`${name.slice(0, 60)}\`, not \`rss\` or \`feed\`.`
        )
      this.#isFeed = true
    }
    if (this.#item !== undefined) this.#item.open(local, attributes, depth)
    else if (local === "item" || local === "entry") {
      this.#item = new Element(attributes, depth, line)
      this.#itemDepth = depth
    }
  }
  readonly text = (text: string) => {
    this.#item?.text(text)
  }
  readonly close: XmlVisitor["close"] = (_name, depth) => {
    this.#item?.close(depth)
    if (this.#item !== undefined && depth === this.#itemDepth) this.#ended(this.#item)
  }
  readonly mistake = (message: string, line: number) => {
    if (this.#item !== undefined) this.#item.mistake ??= `Line ${line} is no XML: ${message}`
    else if (!this.#isFeed) throw new FeedBroken(`Line ${line} is no XML: ${message}`)
  }
  #ended(item: Element): void {
    this.#item = undefined
    const id = item.first("id") ?? ""
    this.#items.ended(item, id, () => productOf(id, item))
  }
  readonly taken = () => this.#items.taken()
  readonly rest = (): ReadonlyArray<FeedItem> => {
    if (!this.#isFeed) throw new FeedBroken("This is no product feed: it has no element `rss` or `feed`.")
    return this.#items.rest()
  }
}

export const readGoogleXml: FeedReader = async function* (pieces) {
  const products = new Products()
  yield* visited(pieces, products)
  yield products.rest()
}
