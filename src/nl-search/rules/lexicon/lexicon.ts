/**
 * The function of one language's words in a request. Phrases are between bars; `#` is a quantity ("20 euros"), and a
 * `weak` one counts only if its quantity says what it measures. Accents and case make no difference.
 */
export interface Lexicon {
  readonly below: string
  readonly atMost: string
  readonly above: string
  readonly atLeast: string
  readonly exactly: string
  readonly between: string
  readonly around: string
  /** As `between`, `atLeast`, `atMost`. */
  readonly weakBetween: string
  readonly weakAtLeast: string
  readonly weakAtMost: string
  /** Before what is not wanted. */ readonly not: string
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
  /** Before the name of what is ordered by, and behind it. */
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
  /** Articles, prepositions, forms of "to be": they say nothing of what is looked for. */
  readonly function: string
  readonly thousand: string
  readonly million: string
  /** Words whose number is not a price: "for children under 6". */ readonly people: string
  /** Numbers that are written out, as `word=value`. */ readonly numbers: string
}
