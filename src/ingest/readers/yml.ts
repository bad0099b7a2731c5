/**
 * Yandex Market Language: `yml_catalog` > `shop` > `categories` and `offers`, where each offer is a product. Reads
 * both kinds of offers: the simple one with a `name`, and the one with `typePrefix`, `vendor` and `model`. Pure.
 */
import { plainText } from "../../texts/plain-text.ts"
import { attributeName, type Product } from "./attributes.ts"
import { Categories } from "./categories.ts"
import { Element } from "./element.ts"
import { currencyOf, priceOf, withoutNothing } from "./product.ts"
import { ProductItems } from "./product-items.ts"
import { FeedBroken, type FeedItem, type FeedReader } from "./reader.ts"
import { visited, type XmlVisitor } from "./xml.ts"

const EXTRA_MAX = 50
/** Elements that become a field, or that do not describe the product. */
const KNOWN = new Set([
  "name",
  "model",
  "typePrefix",
  "vendor",
  "vendorCode",
  "description",
  "price",
  "oldprice",
  "currencyId",
  "categoryId",
  "url",
  "picture",
  "param",
  "available"
])

const titleOf = (offer: Element): string | undefined =>
  offer.first("name") ??
  (["typePrefix", "vendor", "model"]
    .map((name) => offer.first(name))
    .filter((part) => part !== undefined)
    .join(" ") ||
    undefined)
const extraOf = (offer: Element): Map<string, string> => {
  const extra = new Map<string, string>()
  for (const { children, name, text } of offer.children)
    if (!KNOWN.has(name) && children.length === 0 && text.trim() !== "" && extra.size < EXTRA_MAX)
      extra.set(attributeName(name), text.trim())
  return extra
}
const attributesOf = (offer: Element): ReadonlyMap<string, string> => {
  const attributes = new Map<string, string>()
  for (const { attributes: own, text } of offer.all("param")) {
    const name = attributeName(own.name ?? "", own.unit)
    const value = text.trim()
    if (name === "" || value === "") continue
    const before = attributes.get(name)
    attributes.set(name, before === undefined ? value : `${before}, ${value}`)
  }
  return attributes
}
const isAvailable = (offer: Element): boolean | undefined => {
  const available = offer.attributes.available ?? offer.first("available")
  return available === undefined ? undefined : available.trim().toLowerCase() === "true"
}
/** The product of the offer, or what is wrong with it. */
const productOf = (id: string, offer: Element, categories: Categories): Product | string => {
  const title = titleOf(offer)
  if (title === undefined) return "It has neither `name` nor `model`"
  const price = priceOf(offer.first("price"))
  if (offer.first("price") !== undefined && price === undefined)
    return `Its price \`${offer.first("price")!.slice(0, 40)}\` is no number`
  const old = priceOf(offer.first("oldprice"))
  const isLower = old !== undefined && (price === undefined || old.amount <= price.amount)
  const categoryId = offer.first("categoryId")
  const path = categoryId === undefined ? undefined : categories.pathOf(categoryId)
  const description = offer.first("description")
  const extra = extraOf(offer)
  // Values that are present but unusable are stored where people can see them.
  if (isLower) extra.set("oldprice", offer.first("oldprice")!)
  if (categoryId !== undefined && path === undefined) extra.set("categoryId", categoryId)
  const pictures = offer.texts("picture")
  return {
    document: withoutNothing({
      id,
      title,
      description: description === undefined ? undefined : plainText(description),
      brand: offer.first("vendor"),
      price: price?.amount,
      old_price: isLower ? undefined : old?.amount,
      currency: currencyOf(offer.first("currencyId") ?? price?.currency),
      categories: path,
      url: offer.first("url"),
      image: pictures[0],
      images: pictures,
      in_stock: isAvailable(offer),
      sku: offer.first("vendorCode")
    }),
    attributes: attributesOf(offer),
    extra,
    bytes: offer.size
  }
}

class Catalogue implements XmlVisitor {
  readonly #categories = new Categories()
  readonly #items = new ProductItems("offer")
  #offer: Element | undefined
  #offerDepth = 0
  #category: { readonly id: string; readonly parent: string | undefined; name: string } | undefined
  #isCatalogue = false

  readonly open: XmlVisitor["open"] = (name, attributes, depth, line) => {
    if (depth === 1) {
      if (name !== "yml_catalog")
        throw new FeedBroken(`This is no YML: its first element is \`${name.slice(0, 60)}\`, not \`yml_catalog\`.`)
      this.#isCatalogue = true
    }
    if (this.#offer !== undefined) this.#offer.open(name, attributes, depth)
    else if (name === "offer") {
      this.#offer = new Element(attributes, depth, line)
      this.#offerDepth = depth
    } else if (name === "category" && attributes.id !== undefined)
      this.#category = { id: attributes.id.trim(), parent: attributes.parentId?.trim(), name: "" }
  }
  readonly text = (text: string) => {
    if (this.#offer !== undefined) this.#offer.text(text)
    else if (this.#category !== undefined && this.#category.name.length < 1_000) this.#category.name += text
  }
  readonly close: XmlVisitor["close"] = (name, depth) => {
    if (this.#offer !== undefined) {
      this.#offer.close(depth)
      if (depth === this.#offerDepth) this.#ended(this.#offer)
    } else if (name === "category" && this.#category !== undefined) {
      const { id, name: label, parent } = this.#category
      this.#category = undefined
      if (!this.#categories.put(id, label.trim(), parent))
        throw new FeedBroken("The feed has more than 200,000 categories.")
    }
  }
  readonly mistake = (message: string, line: number) => {
    if (this.#offer !== undefined) this.#offer.mistake ??= `Line ${line} is no XML: ${message}`
    // Malformed text around the offers does not matter; without a root element there is no feed.
    else if (!this.#isCatalogue) throw new FeedBroken(`Line ${line} is no XML: ${message}`)
  }
  #ended(offer: Element): void {
    this.#offer = undefined
    const id = offer.attributes.id?.trim() ?? ""
    this.#items.ended(offer, id, () => productOf(id, offer, this.#categories))
  }
  readonly taken = () => this.#items.taken()
  readonly rest = (): ReadonlyArray<FeedItem> => {
    if (!this.#isCatalogue) throw new FeedBroken("This is no YML: it has no element `yml_catalog`.")
    return this.#items.rest()
  }
}

export const readYml: FeedReader = async function* (pieces) {
  const catalogue = new Catalogue()
  yield* visited(pieces, catalogue)
  yield catalogue.rest()
}
