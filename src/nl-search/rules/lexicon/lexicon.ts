/**
 * The function of one language's words in a request. Phrases are separated by bars; `#` is a quantity ("20 euros"), and
 * a `weak` phrase counts only if its quantity has a unit or name. Accents and case are ignored.
 */
export interface Lexicon {
  readonly below: string
  readonly atMost: string
  readonly above: string
  readonly atLeast: string
  readonly exactly: string
  readonly between: string
  readonly around: string
  /** Like `between`, `atLeast`, `atMost`. */
  readonly weakBetween: string
  readonly weakAtLeast: string
  readonly weakAtMost: string
  /** Words that precede what is excluded. */ readonly not: string
  readonly or: string
  readonly and: string
  readonly cheapest: string
  readonly dearest: string
  readonly newest: string
  readonly oldest: string
  readonly bestRated: string
  readonly mostPopular: string
  readonly lightest: string
  readonly heaviest: string
  /** Words before the name of the sort field, and those after it. */
  readonly orderBy: string
  readonly ordered: string
  readonly ascending: string
  readonly descending: string
  readonly inStock: string
  readonly outOfStock: string
  readonly onSale: string
  readonly freeShipping: string
  /** Openings and polite phrases. */ readonly asking: string
  readonly polite: string
  /** Articles, prepositions, forms of "to be": they do not describe what is searched for. */
  readonly function: string
  readonly thousand: string
  readonly million: string
  /** Words whose number is not a price: "for children under 6". */ readonly people: string
  /** Numbers written as words, as `word=value`. */ readonly numbers: string
}
