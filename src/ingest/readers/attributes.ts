/**
 * Gives product attributes the types of their values: an attribute that is a whole number in every record of the sample
 * becomes a number, all others become texts. A value that does not fit its type is stored under `extra`, so that one
 * odd value costs no product. The sample is the beginning of the feed, so that the same feed gives the same types.
 *
 * Decision: numbers with a fraction stay texts, because a field of a collection takes its type from the first value
 * that it sees: after `12`, a `12.5` would lose its fraction.
 */
import type { FeedItem } from "./reader.ts"
import { upsert } from "./reader.ts"

const SAMPLE_RECORDS = 1_000
const SAMPLE_BYTES = 4_000_000
/** Names that are tracked; attributes beyond that are texts. */
const NAMES_MAX = 10_000
const NAME_CHARACTERS_MAX = 120
const UNUSUAL = /\.|\s\s|[\t\r\n\u00a0]/
const WHOLE = /^-?(?:0|[1-9]\d{0,14})$/

export interface Product {
  readonly document: Readonly<Record<string, unknown>>
  readonly attributes: ReadonlyMap<string, string>
  readonly extra: ReadonlyMap<string, string>
  readonly bytes: number
}
/** The key in the document, without dots, which would mean a path. */
export const attributeName = (name: string, unit?: string): string => {
  const whole = unit === undefined || unit.trim() === "" ? name.trim() : `${name.trim()}, ${unit.trim()}`
  return UNUSUAL.test(whole) || whole.length > NAME_CHARACTERS_MAX
    ? whole.replaceAll(".", "_").replaceAll(/\s+/g, " ").slice(0, NAME_CHARACTERS_MAX)
    : whole
}

export class TypedAttributes {
  /** Whether all values so far were whole numbers. */ readonly #whole = new Map<string, boolean>()
  #held: Array<Product | FeedItem> = []
  #bytes = 0
  #isDecided = false

  /** Returns the items that can be passed on now, in order. */
  put(made: Product | FeedItem): ReadonlyArray<FeedItem> {
    if (this.#isDecided) return ["kind" in made ? made : this.#itemOf(made)]
    this.#held.push(made)
    if (!("kind" in made)) {
      this.#bytes += made.bytes
      for (const [name, value] of made.attributes) this.#note(name, value)
    }
    return this.#held.length < SAMPLE_RECORDS && this.#bytes < SAMPLE_BYTES ? [] : this.decide()
  }
  /** Called when the feed ends or the sample is large enough. */
  decide(): ReadonlyArray<FeedItem> {
    this.#isDecided = true
    const held = this.#held
    this.#held = []
    return held.map((made) => ("kind" in made ? made : this.#itemOf(made)))
  }
  #note(name: string, value: string): void {
    const known = this.#whole.get(name)
    if (known === undefined && this.#whole.size >= NAMES_MAX) return
    if (known !== false) this.#whole.set(name, WHOLE.test(value))
  }
  #itemOf({ attributes, bytes, document, extra }: Product): FeedItem {
    const typed = new Map<string, string | number>()
    const rest = new Map(extra)
    for (const [name, value] of attributes)
      if (this.#whole.get(name) !== true) typed.set(name, value)
      else if (WHOLE.test(value)) typed.set(name, Number(value))
      else rest.set(name, value)
    return upsert(
      {
        ...document,
        ...(typed.size === 0 ? {} : { attributes: Object.fromEntries(typed) }),
        ...(rest.size === 0 ? {} : { extra: Object.fromEntries(rest) })
      },
      bytes
    )
  }
}
