/**
 * The job that generates pages of a rule: one for each present value of the field. It writes the texts of pages while
 * it reads, some at a time; after all values it decides each page's status. A restarted job does the same again:
 * nothing of an interrupted run has to be undone.
 */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { resolveCollection } from "@dowser/engine-sdk/operations"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { type ClaimedJob, type JobEnd, JobFailed } from "../jobs/job-worker.ts"
import { Entitlements } from "../metering/entitlements.ts"
import { Search } from "../search/search.ts"
import { inSlices } from "../suggestions/typeahead/sliced.ts"
import { printsOf } from "./alike.ts"
import {
  type CountedValue,
  decidePages,
  inOrder,
  type JudgedValue,
  type KnownPage,
  leftPages,
  slugsFor
} from "./decide-pages.ts"
import { type Facts, LISTED, textsOf } from "./page-facts.ts"
import { makePagesRepository, type PageText } from "./pages-repository.ts"
import { BATCH, readFacts, readValues } from "./read-values.ts"
import { makeRulesRepository, type StoredRule } from "./rules-repository.ts"
import { ROWS_MAX } from "./schema.ts"

export const GENERATION = "seo_generation"
/** The configuration of a job. */
export interface RuleConfig extends Readonly<Record<string, unknown>> {
  readonly rule_id: string
  readonly collection: string
}
/** Rows per statement. */
const ROWS = 100
export const deleted = new JobFailed({ message: "The rule was deleted." })

const chunksOf = <A>(all: ReadonlyArray<A>, size: number): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size))

interface Made {
  readonly page: PageText
  readonly judged: JudgedValue
}
const madeOf = (rule: StoredRule, { value }: CountedValue, slug: string, facts: Facts, year: number): Made => {
  const about = { value, facet: rule.facet_field, siteName: rule.site_name, year }
  const { dataSentences, ...texts } = textsOf(rule.templates, facts, about)
  const { count, ids, inStock, products } = facts
  return {
    page: { slug, value, ...texts, count, document_ids: ids.slice(0, LISTED), products },
    judged: { slug, value, count, inStock, dataSentences, title: texts.title, h1: texts.h1, prints: printsOf(ids) }
  }
}

/** Writes in transactions that lock the rule, so that a rule deleted meanwhile gets no pages. */
const makeWrites = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rules = yield* makeRulesRepository
  return <A>(
    { id, organization_id }: StoredRule,
    rows: ReadonlyArray<A>,
    write: (rows: ReadonlyArray<A>) => Effect.Effect<unknown, unknown>
  ): Effect.Effect<void, JobFailed> =>
    Effect.forEach(
      chunksOf(rows, ROWS),
      (chunk) =>
        Effect.gen(function* () {
          const held = yield* sql.withTransaction(
            Effect.flatMap(rules.lock(organization_id, id), (rule) =>
              rule === undefined ? Effect.succeed(false) : Effect.as(write(chunk), true)
            )
          )
          if (!held) return yield* deleted
        }).pipe(Effect.catchIf((error) => !(error instanceof JobFailed), Effect.die)) as Effect.Effect<void, JobFailed>,
      { discard: true }
    )
})

/** Values that get a page: those with the most documents, as far as the plan and the limit of rows allow. */
const admitted = (
  values: ReadonlyArray<CountedValue>,
  known: ReadonlyArray<KnownPage>,
  room: number
): ReadonlyArray<CountedValue> => {
  const had = new Set(known.flatMap(({ moved_to, value }) => (moved_to === null ? [value] : [])))
  let fresh = ROWS_MAX - known.length
  return inOrder(values)
    .filter(({ value }) => had.has(value) || fresh-- > 0)
    .slice(0, Math.max(0, room))
}

/** Reads and writes the text of every page. */
const makeTexts = Effect.gen(function* () {
  const search = yield* Search
  const pages = yield* makePagesRepository
  const writing = yield* makeWrites
  const contextOf = yield* makeContexts
  const hasPrices = ({ collection, organization_id }: StoredRule): boolean =>
    resolveCollection(contextOf(organization_id), collection)?.schema.fields.some(
      ({ facet, name, type }) => facet && name === "price" && /^(int|float)/.test(type)
    ) === true
  return Effect.fnUntraced(function* (
    rule: StoredRule,
    values: ReadonlyArray<CountedValue>,
    slugs: ReadonlyMap<string, string>,
    now: number,
    report: (progress: number) => Effect.Effect<void>
  ): Effect.fn.Return<ReadonlyArray<Made>, JobFailed> {
    const year = new Date(now).getUTCFullYear()
    const counts = hasPrices(rule)
    const made: Array<Made> = []
    let waiting: Array<PageText> = []
    let looked = 0
    const write = Effect.suspend(() => {
      const rows = waiting
      waiting = []
      return writing(rule, rows, (some) => pages.putTexts(rule.organization_id, rule.id, some, now))
    })
    for (const batch of chunksOf(values, BATCH)) {
      const facts = yield* readFacts(search, rule, batch, counts)
      for (const [i, value] of batch.entries()) {
        const valueFacts = facts[i]
        if (valueFacts === undefined) continue
        const one = madeOf(rule, value, slugs.get(value.value)!, valueFacts, year)
        waiting.push(one.page)
        // The texts are stored by now, so that of fifty thousand values only what decisions need is kept.
        made.push({ ...one, page: { ...one.page, description: "", text: "", products: [] } })
      }
      looked += batch.length
      if (waiting.length >= ROWS) yield* write
      yield* report((0.9 * looked) / values.length)
    }
    yield* write
    return made
  })
})

export const makeGenerate = Effect.gen(function* () {
  const search = yield* Search
  const entitlements = yield* Entitlements
  const rules = yield* makeRulesRepository
  const pages = yield* makePagesRepository
  const writing = yield* makeWrites
  const texts = yield* makeTexts

  return Effect.fn("Seo.generate")(function* (
    { config, organizationId }: ClaimedJob,
    report: (progress: number) => Effect.Effect<void>
  ): Effect.fn.Return<JobEnd, JobFailed> {
    const { rule_id } = config as RuleConfig
    const rule = yield* Effect.orDie(rules.get(organizationId, rule_id))
    if (rule === undefined) return yield* deleted
    const now = yield* Clock.currentTimeMillis
    const known = yield* Effect.orDie(pages.known(organizationId, rule_id))
    const found = yield* readValues(search, rule)
    const room = entitlements.cap(organizationId, "seo_pages").max
    const others = yield* Effect.orDie(pages.countOthers(organizationId, rule_id))
    const values = admitted(found.values, known, room - others)
    const slugs = yield* inSlices(slugsFor(values, known))
    const made = yield* texts(rule, values, slugs, now, report)
    const states = yield* inSlices(
      decidePages(
        made.map(({ judged }) => judged),
        rule.min_products
      )
    )
    yield* writing(rule, states, (some) => pages.putStates(organizationId, rule_id, some))
    // Values beyond the plan's limit still have documents, so their pages do not count as left.
    const waiting = found.values.length === values.length ? slugs : yield* inSlices(slugsFor(found.values, known))
    const used = new Set(waiting.values())
    const before = new Set(known.map(({ slug }) => slug))
    const fresh = made.flatMap(({ page }) => (before.has(page.slug) ? [] : [page]))
    const left = yield* inSlices(leftPages(known, fresh, used, now))
    yield* writing(rule, left, (some) => pages.putLeft(organizationId, rule_id, some))
    const count = (status: string) => states.filter((state) => state.status === status).length
    return {
      result: {
        rule_id,
        pages: states.length,
        index: count("index"),
        noindex: count("noindex"),
        canonical: count("canonical"),
        empty: left.filter(({ status }) => status === "noindex").length,
        gone: left.filter(({ moved_to, status }) => status === "gone" && moved_to === undefined).length,
        moved: left.filter(({ moved_to }) => moved_to !== undefined).length,
        left_out: found.left_out + found.values.length - made.length
      }
    }
  })
})
