/**
 * Brings what analytics rules counted into collections, every ten seconds, in the process that has the engine. What is
 * in Postgres is the truth; documents follow it, and a crash at any point only means that a step is done again to the
 * same end.
 *
 * Guarantees. Queries: a document shows the count of its rule as of the last look, at most `limit` of them, those of
 * before removed. Counters: each event adds its weight once, through crashes of any process; a write of the field by
 * its owner in the very moment of ours (between our last look at the document and our write, less than a millisecond)
 * is lost or wins. A failing rule is told and tried again; the others go on.
 */
import { createHash } from "node:crypto"
import type { CollectionInfo, Document, WriteOperation } from "@dowser/engine-sdk"
import { resolveCollection, search } from "@dowser/engine-sdk/operations"
import { Effect, Layer } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { makeContexts } from "../catalog/engine-plane.ts"
import type { CatalogResources } from "../catalog/resources.ts"
import type { Entitlements } from "../metering/entitlements.ts"
import { Engine, EngineAbsence } from "../ports/engine/engine.ts"
import { foldText } from "../suggestions/typeahead/typeahead.ts"
import { counterStep } from "./counter-plan.ts"
import { unlessHeldOff } from "./publishing-lock.ts"
import { type Counter, type CountedQuery, makeRulesRepository, type StoredRule } from "./rules-repository.ts"

const EVERY_MS = 10_000
const DOCUMENTS_PER_WRITE = 250
/** Queries of a rule that are kept, in multiples of its limit: which of them are the most frequent shows with time. */
const KEPT_PER_LIMIT = 10
/** Documents that changed between two looks are looked at again so often; then they wait for the next round. */
const LOOKS_MAX = 3
/** What was written is written again after so many rounds, should somebody have changed it there: an hour. */
const ROUNDS_REMEMBERED = 360
const EXPAND_FIELDS_MAX = 8
const EXPAND_CHARACTERS_MAX = 2_000

const documentId = (rule: string, q: string, filter_by: string, analytics_tag: string): string =>
  createHash("sha1")
    .update(JSON.stringify([rule, q, filter_by, analytics_tag]))
    .digest("hex")
const numberOf = (value: unknown): number =>
  typeof value === "number" ? value : typeof value === "bigint" ? Number(value) : 0
const chunks = <A>(all: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.ceil(all.length / DOCUMENTS_PER_WRITE) }, (_, i) =>
    all.slice(i * DOCUMENTS_PER_WRITE, (i + 1) * DOCUMENTS_PER_WRITE)
  )

const make = Effect.gen(function* () {
  const repository = yield* makeRulesRepository
  const engine = yield* Engine
  const contextOf = yield* makeContexts
  /** Text of what each document was last written as, by rule. */
  const written = new Map<string, Map<string, string>>()

  const write = Effect.fnUntraced(function* (
    organizationId: string,
    collection: string,
    operations: ReadonlyArray<WriteOperation>
  ) {
    const answer = yield* Effect.promise(() =>
      engine.write(organizationId, collection, operations, { keeps: contextOf(organizationId).keeps })
    )
    return answer.ok ? answer.value : yield* Effect.fail({ message: answer.error.message })
  })

  /** The query with its last word completed as in the best document that it finds; itself where that says nothing. */
  const expanded = Effect.fnUntraced(function* (rule: StoredRule, collection: CollectionInfo, q: string) {
    const fields = collection.schema.fields
      .filter(({ index, name, type }) => index && (type === "string" || type === "string[]") && !name.includes("*"))
      .slice(0, EXPAND_FIELDS_MAX)
      .map(({ name }) => name)
    if (fields.length === 0) return q
    const answer = yield* Effect.promise(() =>
      search(contextOf(rule.organization_id), collection.schema.name, {
        q,
        query_by: fields.join(","),
        per_page: 1,
        include_fields: fields.join(","),
        highlight_fields: "none"
      })
    )
    if (!answer.ok) return q
    const { hits } = JSON.parse(answer.value.text ?? "{}") as {
      readonly hits?: ReadonlyArray<{ readonly document: Readonly<Record<string, unknown>> }>
    }
    const last = q.slice(q.lastIndexOf(" ") + 1)
    const completed = fields
      .flatMap((field) => hits?.[0]?.document[field] ?? [])
      .flatMap((text) => (typeof text === "string" ? foldText(text.slice(0, EXPAND_CHARACTERS_MAX)).split(" ") : []))
      .find((word) => word.startsWith(last))
    return completed === undefined ? q : q.slice(0, q.length - last.length) + completed
  })

  const publishQueries = Effect.fnUntraced(function* (rule: StoredRule) {
    const {
      name,
      organization_id,
      params: { destination_collection = "", expand_query, limit = 0, meta_fields = [] }
    } = rule
    const context = contextOf(organization_id)
    const destination = resolveCollection(context, destination_collection)
    const source = resolveCollection(context, rule.collection)
    if (destination === undefined) return
    const documents = new Map<
      string,
      {
        readonly id: string
        readonly q: string
        count: number
        readonly filter_by?: string
        readonly analytics_tag?: string
      }
    >()
    const shown = new Map<string, CountedQuery>()
    const idOf = ({ analytics_tag, filter_by, q }: CountedQuery) => `${q}\n${filter_by}\n${analytics_tag}`
    for (const counted of yield* repository.topQueries(organization_id, name, limit)) {
      const q = expand_query === true && source !== undefined ? yield* expanded(rule, source, counted.q) : counted.q
      const id = documentId(name, q, counted.filter_by, counted.analytics_tag)
      shown.set(idOf(counted), { ...counted, published_as: id })
      const known = documents.get(id)
      if (known !== undefined) known.count += counted.count
      else
        documents.set(id, {
          id,
          q,
          count: counted.count,
          ...(meta_fields.includes("filter_by") ? { filter_by: counted.filter_by } : {}),
          ...(meta_fields.includes("analytics_tag") ? { analytics_tag: counted.analytics_tag } : {})
        })
    }
    const published = yield* repository.publishedQueries(organization_id, name)
    const stale = new Set(published.map(({ published_as }) => published_as!).filter((id) => !documents.has(id)))
    const key = `${organization_id}\n${name}`
    const before = written.get(key) ?? new Map<string, string>()
    for (const ids of chunks([...stale]))
      yield* write(
        organization_id,
        destination.schema.name,
        ids.map((id) => ({ kind: "delete", id }))
      )
    // Known as published before they are, so that what a crash leaves behind is removed one day.
    const standing = new Map(published.map((query) => [idOf(query), query.published_as]))
    const moved = [
      ...[...shown.values()].filter((query) => standing.get(idOf(query)) !== query.published_as),
      ...published
        .filter((query) => !shown.has(idOf(query)))
        .map((query): CountedQuery => ({ ...query, published_as: null }))
    ]
    for (const part of chunks(moved)) yield* repository.publish(organization_id, name, part)
    const now = new Map([...documents.values()].map((document) => [document.id, JSON.stringify(document)]))
    for (const part of chunks([...documents.values()].filter(({ id }) => before.get(id) !== now.get(id)))) {
      const verdicts = yield* write(
        organization_id,
        destination.schema.name,
        part.map((document) => ({ kind: "put", action: "emplace", dirtyValues: undefined, document }))
      )
      for (const [i, { result }] of verdicts.entries()) {
        if (result.ok) continue
        now.delete(part[i]!.id)
        yield* Effect.logWarning(
          `The analytics rule ${name} of ${organization_id} cannot write to ${destination_collection}: ${result.error.message}`
        )
      }
    }
    written.set(key, now)
    yield* repository.trimQueries(organization_id, name, KEPT_PER_LIMIT * limit)
  })

  const applyBatch = Effect.fnUntraced(function* (rule: StoredRule, collection: string, rows: ReadonlyArray<Counter>) {
    const {
      name,
      organization_id,
      params: { counter_field = "", weight = 1 }
    } = rule
    const valuesOf = (counters: ReadonlyArray<Counter>) =>
      Effect.flatMap(
        Effect.promise(async () =>
          engine.get(
            organization_id,
            collection,
            counters.map(({ document_id }) => document_id)
          )
        ),
        (answer) =>
          answer.ok
            ? Effect.succeed(
                answer.value.map((document: Document | undefined) =>
                  document === undefined ? undefined : numberOf(document[counter_field])
                )
              )
            : Effect.fail({ message: answer.error.message })
      )
    const settled: Array<{ readonly document_id: string; readonly applied: number }> = []
    /** Whose intent is stored; told from the field whether it was carried out. */
    let known = rows
    for (let look = 0; look < LOOKS_MAX && known.length > 0; look++) {
      const values = yield* valuesOf(known)
      const writes: Array<{ readonly document_id: string; readonly after: number; readonly intended: number }> = []
      const intents: Array<{
        readonly document_id: string
        readonly before: number
        readonly after: number
        readonly intended: number
      }> = []
      for (const [i, counter] of known.entries()) {
        const { document_id } = counter
        // An intent of this very batch that the field has moved away from was not carried out: it is formed anew.
        const isOurs = look > 0 && values[i] !== undefined && values[i] !== counter.before
        const step = counterStep(
          isOurs ? { ...counter, before: null, after: null, intended: null } : counter,
          values[i],
          weight
        )
        if (step.kind === "settle") settled.push({ document_id, applied: step.applied })
        else if (step.kind === "write") writes.push({ document_id, ...step })
        else intents.push({ document_id, before: step.before, after: step.after, intended: step.intended })
      }
      if (writes.length > 0) {
        const verdicts = yield* write(
          organization_id,
          collection,
          writes.map(({ after, document_id }) => ({
            kind: "put",
            action: "update",
            dirtyValues: undefined,
            document: { id: document_id, [counter_field]: after }
          }))
        )
        for (const [i, { result }] of verdicts.entries()) {
          settled.push({ document_id: writes[i]!.document_id, applied: writes[i]!.intended })
          if (!result.ok && result.error.kind !== "NotFound")
            yield* Effect.logWarning(
              `The analytics rule ${name} of ${organization_id} passes over ${writes[i]!.document_id}: ${result.error.message}`
            )
        }
      }
      if (intents.length > 0) yield* repository.intend(organization_id, name, intents)
      const byId = new Map(known.map((counter) => [counter.document_id, counter]))
      known = intents.map(({ after, before, document_id, intended }) => ({
        ...byId.get(document_id)!,
        before,
        after,
        intended
      }))
    }
    if (known.length > 0)
      yield* repository.forgetIntents(
        organization_id,
        name,
        known.map(({ document_id }) => document_id)
      )
    if (settled.length > 0) yield* repository.settle(organization_id, name, settled)
  })
  const applyCounters = Effect.fnUntraced(function* (rule: StoredRule, onlyIntended: boolean) {
    const collection = resolveCollection(contextOf(rule.organization_id), rule.collection)
    if (collection === undefined) return
    for (let after = ""; ;) {
      const rows = yield* repository.waitingCounters(
        rule.organization_id,
        rule.name,
        after,
        DOCUMENTS_PER_WRITE,
        onlyIntended
      )
      if (rows.length > 0) yield* applyBatch(rule, collection.schema.name, rows)
      if (rows.length < DOCUMENTS_PER_WRITE) return
      after = rows[rows.length - 1]!.document_id
    }
  })

  /**
   * The counters of one organization. Several may count in one field: what an earlier round left half done comes first,
   * and whoever fails ends the round for all, or the next one's write would hide whether its own had happened.
   */
  const applyAll = (rules: ReadonlyArray<StoredRule>) =>
    Effect.forEach(
      [true, false],
      (onlyIntended) => Effect.forEach(rules, (rule) => applyCounters(rule, onlyIntended), { discard: true }),
      { discard: true }
    )

  let rounds = 0
  /** One round over every rule of every organization. */
  return Effect.gen(function* () {
    if (++rounds % ROUNDS_REMEMBERED === 0) written.clear()
    const rules = yield* repository.all
    const keys = new Set(rules.map(({ name, organization_id }) => `${organization_id}\n${name}`))
    for (const key of written.keys()) if (!keys.has(key)) written.delete(key)
    const attempt = (what: string, work: Effect.Effect<void, SqlError.SqlError | { readonly message: string }>) =>
      Effect.catch(work, (error) =>
        Effect.logError(`${what} could not be carried out; tried again with the next round`, error)
      )
    for (const rule of rules) {
      if (rule.type === "popular_queries" || rule.type === "nohits_queries")
        yield* attempt(`The analytics rule ${rule.name} of ${rule.organization_id}`, publishQueries(rule))
    }
    const counters = rules.filter(({ type }) => type === "counter")
    for (const organizationId of new Set(counters.map(({ organization_id }) => organization_id))) {
      yield* attempt(
        `The counters of ${organizationId}`,
        applyAll(counters.filter(({ organization_id }) => organization_id === organizationId))
      )
    }
  })
})

/**
 * A round, and then one after every pause, as long as the layer lives; nothing where another process has the engine.
 */
export const layerRulesPublisher = ({ every_ms = EVERY_MS }: { readonly every_ms?: number } = {}): Layer.Layer<
  never,
  never,
  CatalogResources | Engine | Entitlements | SqlClient.SqlClient
> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      if ((yield* EngineAbsence) !== undefined) return
      const round = yield* make
      yield* Effect.forkScoped(
        Effect.forever(
          Effect.andThen(
            Effect.catch(unlessHeldOff(round), (error) =>
              Effect.logError("Analytics rules could not be read; tried again with the next round", error)
            ),
            Effect.sleep(every_ms)
          )
        )
      )
    })
  )
/** One round at once, for a test that has the layers. */
export const publishRules = Effect.flatten(make)
