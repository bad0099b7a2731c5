/**
 * What is wrong with the pages of a rule, compared with the collection's present values and visitors' queries. Pure.
 */
import { placeholdersIn } from "./placeholders.ts"
import { DESCRIPTION_MAX, type Status, TITLE_MAX } from "./schema.ts"
import type { CountedValue } from "./decide-pages.ts"
import { slugOf, valueKey } from "./slugs.ts"

export const CODES = [
  "stale_count",
  "empty",
  "thin",
  "duplicate_of",
  "title_conflict",
  "title_length",
  "placeholder_unresolved",
  "slug_changed",
  "not_in_sitemap",
  "demand_without_page"
] as const
type Code = (typeof CODES)[number]
interface Finding {
  readonly code: Code
  readonly severity: "error" | "warning" | "info"
  /** The slug of a page. */ readonly page?: string
  readonly value?: string
  readonly before?: string | number
  readonly after?: string | number
}
/** What an audit reads of a page. */
export interface AuditedPage {
  readonly slug: string
  readonly value: string
  readonly status: Status
  readonly canonical: string | null
  readonly moved_to: string | null
  readonly title: string
  readonly description: string
  readonly h1: string
  readonly text: string
  readonly count: number
}
interface Audited {
  readonly pages: ReadonlyArray<AuditedPage>
  readonly values: ReadonlyArray<CountedValue>
  readonly minProducts: number
  /** Whether pages of the rule are in a sitemap at all. */ readonly isActive: boolean
  /** Titles of other rules' pages on the same host: title to slug. */ readonly titles: ReadonlyMap<string, string>
  /** Visitors' queries, with their frequency. */
  readonly demand: ReadonlyArray<{ readonly q: string; readonly count: number }>
}

const lengthsOf = ({ description, slug, title }: AuditedPage): ReadonlyArray<Finding> => [
  ...([...title].length > TITLE_MAX
    ? [{ code: "title_length", severity: "warning", page: slug, before: [...title].length, after: TITLE_MAX } as const]
    : []),
  ...([...description].length > DESCRIPTION_MAX
    ? [
        {
          code: "title_length",
          severity: "info",
          page: slug,
          before: [...description].length,
          after: DESCRIPTION_MAX
        } as const
      ]
    : [])
]
const textsOf = ({ description, h1, slug, text, title, value }: AuditedPage): ReadonlyArray<Finding> => {
  const own = new Set(placeholdersIn(value))
  const left = placeholdersIn(`${title}\n${description}\n${h1}\n${text}`).find((name) => !own.has(name))
  const empty = title === "" || h1 === "" || description === "" || text === ""
  return left !== undefined
    ? [{ code: "placeholder_unresolved", severity: "error", page: slug, before: `#${left.slice(0, 40)}#` }]
    : empty
      ? [{ code: "placeholder_unresolved", severity: "warning", page: slug }]
      : []
}
/** Compares the page with the collection's present count of its value. */
const liveOf = (page: AuditedPage, live: number | undefined, minProducts: number): ReadonlyArray<Finding> => {
  const about = { page: page.slug, value: page.value, before: page.count }
  if (page.status === "gone") return []
  if (live === undefined) return [{ code: "empty", severity: "error", ...about, after: 0 }]
  return [
    ...(live === page.count ? [] : [{ code: "stale_count", severity: "warning", ...about, after: live } as const]),
    ...(live < minProducts ? [{ code: "thin", severity: "info", ...about, after: live } as const] : [])
  ]
}
const slugFinding = ({ slug, status, value }: AuditedPage): ReadonlyArray<Finding> => {
  const now = slugOf(value)
  return status === "gone" || slug === now || slug.startsWith(`${now}-`)
    ? []
    : [{ code: "slug_changed", severity: "info", page: slug, value, before: slug, after: now }]
}
const demandFindings = (
  demand: Audited["demand"],
  live: ReadonlyMap<string, CountedValue>,
  pages: ReadonlyMap<string, AuditedPage>
): ReadonlyArray<Finding> =>
  demand.flatMap(({ count, q }): ReadonlyArray<Finding> => {
    const value = live.get(valueKey(q))
    const page = value === undefined ? undefined : pages.get(value.value)
    if (value === undefined || (page !== undefined && page.status !== "gone" && page.status !== "noindex")) return []
    const about = { value: value.value, before: q.slice(0, 200), after: count }
    return [
      {
        code: "demand_without_page",
        severity: "warning",
        ...(page === undefined ? {} : { page: page.slug }),
        ...about
      }
    ]
  })

/** In the order of the pages, then queries without a page. O(pages + values + queries), in slices. */
export function* findingsOf({
  demand,
  isActive,
  minProducts,
  pages,
  titles,
  values
}: Audited): Generator<void, ReadonlyArray<Finding>> {
  const live = new Map(values.map((value) => [value.value, value]))
  const byValue = new Map<string, AuditedPage>()
  const slugsByTitle = new Map(titles)
  const findings: Array<Finding> = []
  for (const [at, page] of pages.entries()) {
    if (at % 50 === 0) yield
    if (page.moved_to !== null) {
      findings.push({
        code: "slug_changed",
        severity: "info",
        page: page.slug,
        before: page.slug,
        after: page.moved_to
      })
      continue
    }
    byValue.set(page.value, page)
    findings.push(...liveOf(page, live.get(page.value)?.count, minProducts), ...slugFinding(page))
    if (page.canonical !== null && page.status === "canonical")
      findings.push({
        code: "duplicate_of",
        severity: "info",
        page: page.slug,
        value: page.value,
        after: page.canonical
      })
    if (page.status !== "index") continue
    const other = slugsByTitle.get(page.title)
    if (other !== undefined)
      findings.push({ code: "title_conflict", severity: "warning", page: page.slug, before: page.title, after: other })
    slugsByTitle.set(page.title, page.slug)
    findings.push(...lengthsOf(page), ...textsOf(page))
    if (!isActive) findings.push({ code: "not_in_sitemap", severity: "warning", page: page.slug, value: page.value })
  }
  for (const { count, value } of values)
    if (count >= minProducts && !byValue.has(value))
      findings.push({ code: "not_in_sitemap", severity: "warning", value, after: count })
  const byKey = new Map<string, CountedValue>()
  for (const [at, value] of values.entries()) {
    if (at % 50 === 0) yield
    byKey.set(valueKey(value.value), value)
  }
  return [...findings, ...demandFindings(demand, byKey, byValue)]
}
