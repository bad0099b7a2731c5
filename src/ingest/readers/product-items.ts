/** Collects the items of an XML feed: products, and a fault with the id of each invalid one. Pure. */
import { SeenIds } from "../running/seen-ids.ts"
import { type Product, TypedAttributes } from "./attributes.ts"
import type { Element } from "./element.ts"
import { type FeedItem, fault } from "./reader.ts"

export class ProductItems {
  /** The feed's word for a product. */ readonly #name: string
  readonly #typed = new TypedAttributes()
  readonly #ids = new SeenIds()
  #items: Array<FeedItem> = []

  constructor(name: string) {
    this.#name = name
  }
  /** Takes a complete element; `productOf` returns the product, or the reason why it is not one. */
  ended(element: Element, id: string, productOf: () => Product | string): void {
    const refusal = this.#refusal(element, id)
    if (refusal === undefined && !this.#ids.isFull) this.#ids.add(id)
    const product = refusal ?? productOf()
    this.#put(typeof product === "string" ? fault(id === "" ? `line ${element.line}` : id, product) : product)
  }
  #refusal({ isTooLarge, line, mistake }: Element, id: string): string | undefined {
    if (mistake !== undefined) return mistake
    if (id === "") return `The ${this.#name} has no \`id\``
    if (isTooLarge) return `The ${this.#name} is larger than a megabyte`
    return this.#ids.has(id) ? `Line ${line}: another ${this.#name} before it has this id` : undefined
  }
  #put(made: Product | FeedItem): void {
    for (const item of this.#typed.put(made)) this.#items.push(item)
  }
  /** Items since the last call. */
  taken(): ReadonlyArray<FeedItem> {
    const items = this.#items
    this.#items = []
    return items
  }
  /** Items that waited for the sample of attributes. */
  rest(): ReadonlyArray<FeedItem> {
    return this.#typed.decide()
  }
}
