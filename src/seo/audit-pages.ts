/** The job that audits the pages of a rule against the collection and visitors' queries. */
import { Effect } from "effect"
import { type ClaimedJob, type JobEnd, JobFailed } from "../jobs/job-worker.ts"
import { Search } from "../search/search.ts"
import { PopularQueries } from "../suggestions/popular-queries.ts"
import { inSlices } from "../suggestions/typeahead/sliced.ts"
import { CODES, findingsOf } from "./audit-findings.ts"
import { deleted, type RuleConfig } from "./generate.ts"
import { makePagesRepository } from "./pages-repository.ts"
import { readValues } from "./read-values.ts"
import { isAbsolute } from "./rule-input.ts"
import { makeRulesRepository, type StoredRule } from "./rules-repository.ts"

export const AUDIT = "seo_audit"
/** The most findings in a result; the total of each code is reported too. */
const FINDINGS_MAX = 1_000
const QUERIES_MAX = 1_000

export const makeAuditPages = Effect.gen(function* () {
  const search = yield* Search
  const popular = yield* PopularQueries
  const rules = yield* makeRulesRepository
  const pages = yield* makePagesRepository
  const titlesBeside = Effect.fnUntraced(function* ({ id, organization_id, url_template }: StoredRule) {
    if (!isAbsolute(url_template)) return new Map<string, string>()
    const { origin } = new URL(url_template.replace("#SLUG#", "a"))
    const rows = yield* Effect.orDie(pages.titles(organization_id, id, `${origin}/`))
    return new Map(rows.map(({ slug, title }) => [title, slug]))
  })

  return Effect.fn("Seo.audit")(function* ({
    config,
    organizationId
  }: ClaimedJob): Effect.fn.Return<JobEnd, JobFailed> {
    const { rule_id } = config as RuleConfig
    const rule = yield* Effect.orDie(rules.get(organizationId, rule_id))
    if (rule === undefined) return yield* deleted
    const { values } = yield* readValues(search, rule)
    const audited = yield* Effect.orDie(pages.audited(organizationId, rule_id))
    const asked = yield* popular.index(organizationId, rule.collection)
    const findings = yield* inSlices(
      findingsOf({
        pages: audited,
        values,
        minProducts: rule.min_products,
        isActive: rule.active,
        titles: yield* titlesBeside(rule),
        demand: asked.complete("", QUERIES_MAX).map(({ item }) => ({ q: item.label, count: item.count }))
      })
    )
    const counts = new Map(CODES.map((code) => [code, 0]))
    for (const { code } of findings) counts.set(code, counts.get(code)! + 1)
    // An equal share for every code, so that many findings of one do not hide the others.
    const most = Math.max(100, Math.floor(FINDINGS_MAX / CODES.length))
    const shown = new Map(CODES.map((code) => [code, 0]))
    const listed = findings.filter(({ code }) => {
      shown.set(code, shown.get(code)! + 1)
      return shown.get(code)! <= most
    })
    return {
      result: { rule_id, pages: audited.length, counts: Object.fromEntries(counts), findings: listed }
    }
  })
})
