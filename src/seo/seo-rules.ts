/**
 * Landing-page rules and their pages: rows in Postgres; nothing is kept in memory, because no search needs it.
 *
 * Decision: a rule belongs to the name that it was given. A rule of an alias generates pages of the alias's target; one
 * of a collection is deleted with it, pages included.
 */
import { Clock, Context, Effect, Layer, type Scope } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Identifiers } from "@dowser/log/identifiers"
import { makeAuditRecorder } from "../audit/record.ts"
import { CollectionDrops } from "../engine-plane/collection-drops.ts"
import type { CatalogResources } from "../engine-plane/resources.ts"
import { Conflict, NotFound } from "../http/errors.ts"
import type { RowReaders } from "../identity/row-readers.ts"
import type { Installation } from "../installation.ts"
import { makeJobStarter } from "../jobs/jobs.ts"
import { makeJobWorker } from "../jobs/job-worker.ts"
import type { Job } from "../jobs/schema.ts"
import { Entitlements } from "../metering/entitlements.ts"
import type { FeatureNotInPlan } from "../metering/errors.ts"
import { type Engine, OwnsEngine } from "../ports/engine/engine.ts"
import type { Search } from "../search/search.ts"
import type { PopularQueries } from "../suggestions/popular-queries.ts"
import { AUDIT, makeAuditPages } from "./audit-pages.ts"
import { GENERATION, makeGenerate, type RuleConfig } from "./generate.ts"
import { makePagesRepository, type StoredPage } from "./pages-repository.ts"
import type { RuleFields } from "./rule-input.ts"
import { makeRulesRepository, type StoredRule } from "./rules-repository.ts"

interface Page {
  readonly cursor: string | undefined
  readonly limit: number
}
interface SeoRulesShape {
  /** `collections`: LIKE patterns; all if absent. */
  readonly list: (
    organizationId: string,
    page: Page & { readonly collections: ReadonlyArray<string> | undefined }
  ) => Effect.Effect<ReadonlyArray<StoredRule>>
  readonly get: (organizationId: string, id: string) => Effect.Effect<StoredRule, NotFound>
  readonly create: (organizationId: string, fields: RuleFields) => Effect.Effect<StoredRule, FeatureNotInPlan>
  readonly replace: (organizationId: string, id: string, fields: RuleFields) => Effect.Effect<StoredRule, NotFound>
  readonly remove: (organizationId: string, id: string) => Effect.Effect<{ readonly id: string }, NotFound>
  readonly generate: (rule: StoredRule) => Effect.Effect<Job, Conflict>
  readonly audit: (rule: StoredRule) => Effect.Effect<Job, Conflict>
  /** Sorted by slug. */
  readonly pages: (
    rule: StoredRule,
    page: Page & { readonly status: string | undefined }
  ) => Effect.Effect<ReadonlyArray<StoredPage>>
  readonly page: (rule: StoredRule, slug: string) => Effect.Effect<StoredPage, NotFound>
  /** Values of pages that search engines may index, by slug. */
  readonly labels: (rule: StoredRule, slugs: ReadonlyArray<string>) => Effect.Effect<ReadonlyMap<string, string>>
  readonly indexed: (
    rule: StoredRule
  ) => Effect.Effect<ReadonlyArray<{ readonly slug: string; readonly changed_at: number }>>
}

export const missingRule = (id: string) => new NotFound({ message: `SEO rule ${id} does not exist.` })
/** A driver failure is a defect: no caller can act on it. */
const orDie = <A, E, R>(effect: Effect.Effect<A, E | SqlError.SqlError, R>) =>
  Effect.catchTag(effect as Effect.Effect<A, SqlError.SqlError, R>, "SqlError", (error) =>
    Effect.die(error)
  ) as Effect.Effect<A, Exclude<E, SqlError.SqlError>, R>

const makeWrites = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const identifiers = yield* Identifiers
  const entitlements = yield* Entitlements
  const audit = yield* makeAuditRecorder
  const repository = yield* makeRulesRepository
  const recorded = <A, E>(organizationId: string, id: string, change: Effect.Effect<A, E>) =>
    orDie(sql.withTransaction(audit.recorded({ kind: "seo_rule", organizationId, id }, change)))
  const locked = (organizationId: string, id: string) =>
    Effect.flatMap(repository.lock(organizationId, id), (rule) =>
      rule === undefined ? Effect.fail(missingRule(id)) : Effect.succeed(rule)
    )
  const put = Effect.fnUntraced(function* (organization_id: string, id: string, fields: RuleFields, created?: number) {
    const now = yield* Clock.currentTimeMillis
    const rule: StoredRule = { id, organization_id, ...fields, created_at: created ?? now, updated_at: now }
    yield* repository.put(rule)
    return rule
  })
  const create: SeoRulesShape["create"] = Effect.fn("SeoRules.create")(function* (organizationId, fields) {
    const id = yield* identifiers.make("seo")
    const change = Effect.gen(function* () {
      const count = yield* repository.lockCount(organizationId)
      yield* entitlements.requireRoom(organizationId, "seo_rules", count + 1)
      return yield* put(organizationId, id, fields)
    })
    return yield* recorded(organizationId, id, change)
  })
  const replace: SeoRulesShape["replace"] = Effect.fn("SeoRules.replace")(function* (organizationId, id, fields) {
    const change = Effect.flatMap(locked(organizationId, id), ({ created_at }) =>
      put(organizationId, id, fields, created_at)
    )
    return yield* recorded(organizationId, id, change)
  })
  const remove: SeoRulesShape["remove"] = Effect.fn("SeoRules.remove")(function* (organizationId, id) {
    const change = Effect.andThen(locked(organizationId, id), Effect.as(repository.remove(organizationId, id), { id }))
    return yield* recorded(organizationId, id, change)
  })
  return { create, replace, remove }
})

/** Runs the jobs, in the process that has the engine. */
const makeAtWork = Effect.gen(function* () {
  const generation = yield* makeJobWorker({ type: GENERATION, run: yield* makeGenerate })
  const audits = yield* makeJobWorker({ type: AUDIT, run: yield* makeAuditPages })
  return Effect.andThen(generation.wake, audits.wake)
})

const make: Effect.Effect<
  SeoRulesShape,
  never,
  | CatalogResources
  | CollectionDrops
  | Engine
  | Entitlements
  | Identifiers
  | Installation
  | PopularQueries
  | RowReaders
  | Scope.Scope
  | Search
  | SqlClient.SqlClient
> = Effect.gen(function* () {
  const rules = yield* makeRulesRepository
  const pages = yield* makePagesRepository
  const writes = yield* makeWrites
  const jobs = yield* makeJobStarter
  const drops = yield* CollectionDrops
  const wake = (yield* OwnsEngine) ? yield* makeAtWork : Effect.void
  const start = Effect.fnUntraced(function* ({ collection, id, organization_id }: StoredRule, type: string) {
    const config: RuleConfig = { rule_id: id, collection }
    const job = yield* orDie(jobs.start(organization_id, type, config, () => jobs.requirePlace(organization_id, type)))
    yield* wake
    return job
  })
  yield* drops.register((organizationId, collection) =>
    Effect.flatMap(Effect.orDie(rules.ofCollection(organizationId, collection)), (ids) =>
      Effect.forEach(ids, (id) => Effect.ignore(writes.remove(organizationId, id)), { discard: true })
    )
  )
  return {
    ...writes,
    list: (organizationId, { collections, cursor, limit }) =>
      Effect.orDie(rules.page(organizationId, cursor, limit, collections)),
    get: (organizationId, id) =>
      Effect.flatMap(Effect.orDie(rules.get(organizationId, id)), (rule) =>
        rule === undefined ? Effect.fail(missingRule(id)) : Effect.succeed(rule)
      ),
    generate: Effect.fn("SeoRules.generate")(function* (rule) {
      if (!rule.active) return yield* new Conflict({ message: `SEO rule ${rule.id} is not active.` })
      return yield* start(rule, GENERATION)
    }),
    audit: Effect.fn("SeoRules.audit")(function* (rule) {
      return yield* start(rule, AUDIT)
    }),
    pages: ({ id, organization_id }, { cursor, limit, status }) =>
      Effect.orDie(pages.page(organization_id, id, { after: cursor, limit, status })),
    page: ({ id, organization_id }, slug) =>
      Effect.flatMap(Effect.orDie(pages.get(organization_id, id, slug)), (page) =>
        page === undefined
          ? Effect.fail(new NotFound({ message: `SEO rule ${id} has no page ${slug}.` }))
          : Effect.succeed(page)
      ),
    labels: ({ id, organization_id }, slugs) =>
      Effect.map(
        Effect.orDie(pages.labels(organization_id, id, slugs)),
        (rows) => new Map(rows.map(({ slug, value }) => [slug, value]))
      ),
    indexed: ({ id, organization_id }) => Effect.orDie(pages.indexed(organization_id, id))
  }
})

export class SeoRules extends Context.Service<SeoRules, SeoRulesShape>()("dowser/seo/SeoRules") {
  static readonly layer = Layer.effect(SeoRules, make)
}
