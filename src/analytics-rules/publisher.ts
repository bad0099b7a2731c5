/**
 * Publishes the results of analytics rules to collections, every ten seconds, in the process with the engine.
 * Postgres is authoritative; documents follow it, and after a crash at any point a step is simply repeated.
 *
 * Guarantees. Queries: a document shows the count of its rule as of the last round; at most `limit` of them, and
 * earlier ones are removed. Counters: each event adds its weight once, even if processes crash; a write to the field
 * by its owner at the very moment of ours (between our read of the document and our write, less than a millisecond)
 * may be lost or may win. A failing rule is logged and retried; the others continue.
 */
import { Effect, Layer } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import type { CatalogResources } from "../engine-plane/resources.ts"
import type { Entitlements } from "../metering/entitlements.ts"
import { Engine, OwnsEngine } from "../ports/engine/engine.ts"
import { applyAll } from "./apply-counters.ts"
import { publishQueries } from "./publish-queries.ts"
import type { Publishing } from "./publishing.ts"
import { unlessHeldOff } from "./publishing-lock.ts"
import { makeRulesRepository, type StoredRule } from "./rules-repository.ts"
import { counted } from "../metrics/background.ts"

const EVERY_MS = 10_000
/** Published documents are written again after this many rounds (an hour), in case somebody changed them. */
const ROUNDS_REMEMBERED = 360

const keyOf = ({ name, organization_id }: StoredRule) => `${organization_id}\n${name}`
/** Logs failures, so that the others continue. */
const attempt = (what: string, work: Effect.Effect<void, SqlError.SqlError | { readonly message: string }>) =>
  Effect.catch(work, (error) =>
    Effect.logError(`${what} could not be carried out; tried again with the next round`, error)
  )

/** One round over every rule of every organization. */
const make = Effect.gen(function* () {
  const repository = yield* makeRulesRepository
  const parts: Publishing = { engine: yield* Engine, repository, contextOf: yield* makeContexts }
  /** The last written text of each document, by rule. */
  const written = new Map<string, ReadonlyMap<string, string>>()
  let rounds = 0
  const published = (rule: StoredRule) =>
    Effect.map(publishQueries(parts, rule, written.get(keyOf(rule)) ?? new Map<string, string>()), (now) => {
      if (now !== undefined) written.set(keyOf(rule), now)
    })

  return Effect.gen(function* () {
    if (++rounds % ROUNDS_REMEMBERED === 0) written.clear()
    const rules = yield* repository.all
    const keys = new Set(rules.map(keyOf))
    for (const key of written.keys()) if (!keys.has(key)) written.delete(key)
    for (const rule of rules)
      if (rule.type === "popular_queries" || rule.type === "nohits_queries")
        yield* attempt(`The analytics rule ${rule.name} of ${rule.organization_id}`, published(rule))
    const counters = rules.filter(({ type }) => type === "counter")
    for (const organizationId of new Set(counters.map(({ organization_id }) => organization_id)))
      yield* attempt(
        `The counters of ${organizationId}`,
        applyAll(
          parts,
          counters.filter(({ organization_id }) => organization_id === organizationId)
        )
      )
  })
})

/** Runs a round after every pause while the layer lives; does nothing if another process has the engine. */
export const layerRulesPublisher = ({ every_ms = EVERY_MS }: { readonly every_ms?: number } = {}): Layer.Layer<
  never,
  never,
  CatalogResources | Engine | Entitlements | SqlClient.SqlClient
> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      if (!(yield* OwnsEngine)) return
      const round = yield* make
      yield* Effect.forkScoped(
        Effect.forever(
          Effect.andThen(
            Effect.catch(counted("analytics rules")(unlessHeldOff(round)), (error) =>
              Effect.logError("Analytics rules could not be read; tried again with the next round", error)
            ),
            Effect.sleep(every_ms)
          )
        )
      )
    })
  )
/** Runs one round now, for a test that has the layers. */
export const publishRules = Effect.flatten(make)
