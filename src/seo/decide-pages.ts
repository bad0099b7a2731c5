/**
 * The page of each value, and its status for search engines. Pure.
 *
 * - `gone`: the value has had no documents for `EMPTY_DAYS`, or its page moved to another address;
 * - `noindex`: thin, that is, few documents in stock or nothing but the template, or another page has its title and
 *   heading;
 * - `canonical`: a duplicate; a larger page with the same value or the same documents replaces it;
 * - `index`: everything else.
 *
 * A page is never both thin and a duplicate: a thin page is hidden from search engines, even if it duplicates another.
 */
import { ALIKE, type Counted, duplicatesOf, metTogether } from "./alike.ts"
import { EMPTY_DAYS, type Status } from "./schema.ts"
import { SlugBook, valueKey } from "./slugs.ts"

/** What is kept of an existing page. */
export interface KnownPage {
  readonly slug: string
  readonly value: string
  readonly status: Status
  readonly document_ids: ReadonlyArray<string>
  /** Time (ms) since which the value has no documents. */ readonly empty_since: number | null
  readonly moved_to: string | null
}
export interface CountedValue {
  readonly value: string
  readonly count: number
}

/** Pages between two yields of the thread. */
const YIELD_EVERY = 50

/** Largest first, equal counts by their text, so that the same values always give the same pages in the same order. */
export const inOrder = <A extends CountedValue>(values: ReadonlyArray<A>): ReadonlyArray<A> =>
  [...values].sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : a.value > b.value ? 1 : 0))

const isLive = ({ moved_to }: KnownPage): boolean => moved_to === null

/**
 * Slug of each value. A value that had a page gets it again, even after years; a value with a new spelling ("usb c" for
 * "USB-C") takes over the page of the old one, if that has no documents any more.
 */
export function* slugsFor(
  values: ReadonlyArray<CountedValue>,
  known: ReadonlyArray<KnownPage>
): Generator<void, ReadonlyMap<string, string>> {
  const book = new SlugBook(known.map(({ slug }) => slug))
  const here = new Set(values.map(({ value }) => value))
  const byValue = new Map<string, string>()
  const byKey = new Map<string, string>()
  for (const [at, page] of known.entries()) {
    if (at % YIELD_EVERY === 0) yield
    if (!isLive(page)) continue
    byValue.set(page.value, page.slug)
    if (!here.has(page.value)) byKey.set(valueKey(page.value), page.slug)
  }
  const slugs = new Map<string, string>()
  for (const [at, { value }] of inOrder(values).entries()) {
    if (at % YIELD_EVERY === 0) yield
    const own = byValue.get(value)
    const key = valueKey(value)
    const slug = own ?? byKey.get(key) ?? book.give(value)
    if (own === undefined) byKey.delete(key)
    slugs.set(value, slug)
  }
  return slugs
}

/** What is known of a value's documents after all of them were examined. */
export interface JudgedValue extends CountedValue, Counted {
  readonly slug: string
  readonly inStock: number
  readonly dataSentences: number
  readonly title: string
  readonly h1: string
}
export interface PageState {
  readonly slug: string
  readonly status: Status
  /** The slug of the page that replaces it. */ readonly canonical?: string
  /** Slugs of pages that it links to. */ readonly related: ReadonlyArray<string>
  readonly prev?: string
  readonly next?: string
}
/** With fewer sentences about the documents, a text is mere template. */
const DATA_SENTENCES_MIN = 2
const RELATED_MAX = 20
/** If few values occur together, neighbours are linked, so that every page has links to it. */
const NEIGHBOURS = 6

const isThin = (page: Pick<JudgedValue, "inStock" | "dataSentences">, minProducts: number): boolean =>
  page.inStock < minProducts || page.dataSentences < DATA_SENTENCES_MIN

/** The status of each page, in the order of `pages`, which must be sorted. */
function* statusesOf(
  pages: ReadonlyArray<JudgedValue>,
  minProducts: number
): Generator<void, ReadonlyArray<{ readonly status: Status; readonly leader?: number }>> {
  const statuses: Array<{ readonly status: Status; readonly leader?: number }> = pages.map((page) => ({
    status: isThin(page, minProducts) ? "noindex" : "index"
  }))
  const byKey = new Map<string, number>()
  const words = new Set<string>()
  for (const [at, page] of pages.entries()) {
    if (at % YIELD_EVERY === 0) yield
    const key = valueKey(page.value)
    const leader = byKey.get(key)
    if (leader === undefined) byKey.set(key, at)
    // Spellings of the same value share one page, however few documents the other spelling has.
    else if (statuses[leader]!.status === "index") statuses[at] = { status: "canonical", leader }
  }
  const left = pages.flatMap((_, at) => (statuses[at]!.status === "index" ? [at] : []))
  const duplicates = yield* duplicatesOf(left.map((at) => pages[at]!))
  for (const [at, leader] of duplicates) statuses[left[at]!] = { status: "canonical", leader: left[leader]! }
  for (const [at, { h1, title }] of pages.entries()) {
    if (statuses[at]!.status !== "index") continue
    const text = `${title}\n${h1}`
    if (words.has(text)) statuses[at] = { status: "noindex" }
    words.add(text)
  }
  // A leader that lost its status because of its title replaces no other pages, so its duplicates become `noindex` too.
  return statuses.map((own) =>
    own.leader !== undefined && statuses[own.leader]!.status !== "index" ? { status: "noindex" as const } : own
  )
}

/** Statuses and links of all pages of a rule. O(documents examined), in slices. */
export function* decidePages(
  values: ReadonlyArray<JudgedValue>,
  minProducts: number
): Generator<void, ReadonlyArray<PageState>> {
  const pages = inOrder(values)
  const statuses = yield* statusesOf(pages, minProducts)
  const shown = pages.flatMap((_, at) => (statuses[at]!.status === "index" ? [at] : []))
  const place = new Map(shown.map((at, i) => [at, i]))
  const related = yield* metTogether(pages, 3 * RELATED_MAX)
  const slugAt = (at: number | undefined) => (at === undefined ? undefined : pages[at]!.slug)
  return pages.map((page, at) => {
    const { leader, status } = statuses[at]!
    const own = place.get(leader ?? at)
    const around = own === undefined ? shown.slice(0, NEIGHBOURS) : neighbours(shown, own)
    const met = related[at]!.filter((other) => place.has(other))
    const links = [...new Set([...met.slice(0, RELATED_MAX - NEIGHBOURS), ...around])].filter((other) => other !== at)
    const prev = own === undefined || leader !== undefined ? undefined : slugAt(shown[own - 1])
    const next = own === undefined || leader !== undefined ? undefined : slugAt(shown[own + 1])
    return {
      slug: page.slug,
      status,
      ...(leader === undefined ? {} : { canonical: pages[leader]!.slug }),
      related: links.map((other) => pages[other]!.slug),
      ...(prev === undefined ? {} : { prev }),
      ...(next === undefined ? {} : { next })
    }
  })
}
const neighbours = (shown: ReadonlyArray<number>, own: number): ReadonlyArray<number> => {
  const from = Math.max(0, Math.min(own - NEIGHBOURS / 2, shown.length - NEIGHBOURS - 1))
  return shown.slice(from, from + NEIGHBOURS + 1)
}

export interface LeftPage {
  readonly slug: string
  readonly status: Status
  readonly empty_since: number
  readonly moved_to?: string
}
const DAY_MS = 86_400_000
export const isOver = (empty_since: number, now: number): boolean => now - empty_since >= EMPTY_DAYS * DAY_MS

const share = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): number => {
  const other = new Set(b)
  const both = a.filter((id) => other.has(id)).length
  return both / (a.length + b.length - both || 1)
}

/**
 * Pages whose values have no documents now. If all of a page's documents have a new value, it was renamed: its address
 * redirects there. Others wait for `EMPTY_DAYS`.
 */
export function* leftPages(
  known: ReadonlyArray<KnownPage>,
  fresh: ReadonlyArray<{ readonly slug: string; readonly document_ids: ReadonlyArray<string> }>,
  used: ReadonlySet<string>,
  now: number
): Generator<void, ReadonlyArray<LeftPage>> {
  const byDocument = new Map<string, Array<number>>()
  for (const [at, { document_ids }] of fresh.entries()) {
    if (at % YIELD_EVERY === 0) yield
    for (const id of document_ids) {
      const places = byDocument.get(id)
      if (places === undefined) byDocument.set(id, [at])
      else if (places.length < 20) places.push(at)
    }
  }
  const left: Array<LeftPage> = []
  for (const [at, page] of known.entries()) {
    if (at % YIELD_EVERY === 0) yield
    if (!isLive(page) || used.has(page.slug)) continue
    const empty_since = page.empty_since ?? now
    const candidates = new Set(page.document_ids.slice(0, 5).flatMap((id) => byDocument.get(id) ?? []))
    const heir = [...candidates]
      .map((at) => fresh[at]!)
      .find(({ document_ids }) => share(page.document_ids, document_ids) >= ALIKE)
    if (heir !== undefined) left.push({ slug: page.slug, status: "gone", empty_since, moved_to: heir.slug })
    else left.push({ slug: page.slug, status: isOver(empty_since, now) ? "gone" : "noindex", empty_since })
  }
  return left
}
