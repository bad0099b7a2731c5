/** A page in its API forms: as JSON, and as the HTML that a site serves. Pure. */
import { createHash } from "node:crypto"
import { Effect } from "effect"
import { Reply } from "../http/reply.ts"
import { isOver } from "./decide-pages.ts"
import { PageEmpty, PageGone } from "./errors.ts"
import { PAGE_POLICY, pageHtml, type PageLink } from "./page-html.ts"
import type { StoredPage } from "./pages-repository.ts"
import { plainText } from "./placeholders.ts"
import { urlOf } from "./rule-input.ts"
import type { StoredRule } from "./rules-repository.ts"
import type { SeoPage } from "./schema.ts"
import { escaped } from "./sitemap.ts"

/** A page's id, derived from its rule and slug, so that it never changes. */
const idOf = (ruleId: string, slug: string): string =>
  `spg_${createHash("sha256").update(`${ruleId}\n${slug}`).digest("hex").slice(0, 26)}`

export const shownPage = (rule: StoredRule, page: StoredPage): SeoPage => {
  const { canonical, changed_at, count, description, document_ids, generated_at, h1, hash, moved_to, slug } = page
  const standsFor = moved_to ?? canonical
  return {
    id: idOf(rule.id, slug),
    rule_id: rule.id,
    value: page.value,
    slug,
    url: urlOf(rule.url_template, slug),
    status: page.status,
    ...(standsFor === null ? {} : { canonical_url: urlOf(rule.url_template, standsFor) }),
    title: escaped(page.title),
    description: escaped(description),
    h1: escaped(h1),
    text: escaped(page.text),
    count,
    document_ids,
    hash,
    generated_at,
    changed_at
  }
}

/** Slugs of pages that a page links to. */
export const linkedSlugs = ({ next, prev, related }: StoredPage): ReadonlyArray<string> =>
  [prev, next, ...related].filter((slug) => slug !== null)

const TYPE = "text/html; charset=utf-8",
  JSON_TYPE = "application/json"
const HEADERS = {
  "content-security-policy": PAGE_POLICY,
  "x-content-type-options": "nosniff"
}

/** `labels`: values of linked pages, by slug; a page that is missing there is not linked. */
export const htmlReply = (
  rule: StoredRule,
  page: StoredPage,
  labels: ReadonlyMap<string, string>,
  now: number
): Effect.Effect<Reply, PageEmpty | PageGone> => {
  const link = (slug: string | null): ReadonlyArray<PageLink> => {
    const value = slug === null ? undefined : labels.get(slug)
    return value === undefined ? [] : [{ label: plainText(value), url: urlOf(rule.url_template, slug!) }]
  }
  const { canonical, empty_since, moved_to, next, prev, slug, status, value } = page
  const url = urlOf(rule.url_template, slug)
  if (moved_to !== null) {
    const location = urlOf(rule.url_template, moved_to)
    return Effect.succeed(new Reply(301, JSON.stringify({ message: `Moved to ${location}` }), JSON_TYPE, { location }))
  }
  const related = page.related.flatMap(link)
  if (status === "gone" || (empty_since !== null && isOver(empty_since, now)))
    return Effect.fail(new PageGone({ message: `The page ${slug} no longer exists.`, links: related }))
  if (empty_since !== null)
    return Effect.fail(new PageEmpty({ message: `The page ${slug} has no products at the moment.`, links: related }))
  const [before] = link(prev),
    [after] = link(next)
  const html = pageHtml({
    url,
    canonical_url: status === "canonical" && canonical !== null ? urlOf(rule.url_template, canonical) : url,
    isIndexed: rule.active && status !== "noindex",
    value,
    facet: rule.facet_field,
    siteName: plainText(rule.site_name),
    title: page.title,
    description: page.description,
    h1: page.h1,
    text: page.text,
    count: page.count,
    products: page.products,
    related,
    ...(before === undefined ? {} : { prev: before }),
    ...(after === undefined ? {} : { next: after })
  })
  const headers = { ...HEADERS, "last-modified": new Date(page.changed_at).toUTCString() }
  return Effect.succeed(new Reply(200, html, TYPE, headers))
}
