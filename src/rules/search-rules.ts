/**
 * Search rules of all collections of all organizations: rows in Postgres, kept in memory and compiled when first
 * needed, so that a search makes no call for them; re-read when a write of any process changed them (`Configuration`).
 * A write is durable before it is visible, and the next search sees it.
 *
 * Decision: rules belong to a collection, not to a name of it. An alias leads to the rules of its target, also after it
 * is moved. Dropping a collection drops its rules.
 */
import type { CollectionInfo, Result } from "@dowser/engine-sdk"
import { fieldNamed, parseFilter } from "@dowser/engine-sdk/query"
import type { OperationContext } from "@dowser/engine-sdk/operations"
import { checkRuleSet, type CompiledRules, type RuleSet } from "@dowser/engine-sdk/rules"
import { Clock, Context, Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import { PopularDocuments } from "../analytics/popular-documents.ts"
import { CollectionDrops } from "../engine-plane/collection-drops.ts"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { ownedFields } from "../engine-plane/owned-fields.ts"
import type { CatalogResources } from "../engine-plane/resources.ts"
import { Configuration } from "../configuration/configuration.ts"
import {
  type CollectionNotAllowed,
  type ConfigurationUnavailable,
  inputInvalid,
  InputInvalid,
  NotFound,
  type OrganizationUnavailable
} from "../http/errors.ts"
import { collectionClosed } from "../identity/reach.ts"
import type { Entitlements } from "../metering/entitlements.ts"
import type { FeatureNotInPlan } from "../metering/errors.ts"
import { bytesOf, LIST_BYTES_MAX, makeNamedResources } from "../metering/named-resources.ts"
import { FallbackModels } from "../recommendation-models/fallback-models.ts"
import { RecommendationModels } from "../recommendation-models/models.ts"
import { Engine } from "../ports/engine/engine.ts"
import type { GateVisitor } from "./answer-gates.ts"
import { compileFor } from "./compiled-for.ts"
import { fieldTypeIssues } from "./field-types.ts"
import { makeRuleSetsRepository, type StoredRuleSet } from "./rule-sets-repository.ts"
import { RuleTable, type RuleTableParts } from "./rule-table.ts"

/** Decision: an answer may be edited and sent back: fields that the service adds are accepted. */
const asWritten = (body: unknown): unknown => {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return body
  const { collection: _collection, updated_at: _updated, ...own } = body as Readonly<Record<string, unknown>>
  return own
}
interface SearchRulesShape {
  readonly get: (organizationId: string, collection: CollectionInfo) => StoredRuleSet | undefined
  /**
   * A body as a complete set, or one issue for each of its problems (at most 100). A filter may join only collections
   * that `reaches`, by their names.
   */
  readonly checked: (
    organizationId: string,
    collection: CollectionInfo,
    body: unknown,
    reaches?: (name: string) => boolean
  ) => Effect.Effect<RuleSet, InputInvalid | CollectionNotAllowed>
  /**
   * InputInvalid if the set is too large, NotFound if the collection was dropped meanwhile. Of two concurrent writes
   * the later one wins.
   */
  readonly replace: (
    organizationId: string,
    collection: CollectionInfo,
    ruleSet: RuleSet
  ) => Effect.Effect<StoredRuleSet, InputInvalid | FeatureNotInPlan | NotFound | ConfigurationUnavailable>
  /** Also for a collection that was dropped, or has no rules. */
  readonly remove: (organizationId: string, collection: string) => Effect.Effect<void, ConfigurationUnavailable>
  /**
   * Ready to match; undefined if the collection has none. O(1); O(rules) after the set or a schema changed. Fails if
   * the set does not compile: a search without it could show what the rules hide.
   */
  readonly compiled: (
    organizationId: string,
    collection: CollectionInfo
  ) => Result<CompiledRules | undefined, OrganizationUnavailable>
  /** Compiles an unsaved set under the current schema. O(rules). */
  readonly compile: (organizationId: string, collection: CollectionInfo, ruleSet: RuleSet) => CompiledRules
  /**
   * The part of a cached answer's key that depends on rules: it changes with a write of rules and wherever a rule
   * distinguishes two requests.
   */
  readonly answerKey: (
    organizationId: string,
    visitor: GateVisitor,
    now_ms: number
  ) => ReadonlyArray<string | number | null>
}

const makeTable = Effect.gen(function* () {
  const configuration = yield* Configuration
  const contextOf = yield* makeContexts
  const popular = yield* PopularDocuments
  const services = yield* Effect.context<never>()
  const parts: RuleTableParts = {
    contextOf,
    compile: (organizationId, collection, ruleSet) => {
      // Starts loading the popular documents now, because the first search that needs them will not wait for them.
      if (showsPopular(ruleSet)) popular.ids(organizationId, collection.schema.name)
      return compileFor(contextOf(organizationId), collection, ruleSet)
    },
    damaged: ({ collection, organization_id: organizationId }, how, error) => {
      const reason = `The stored search rules of \`${collection.slice(0, 80)}\` ${how}.`
      configuration.damages.note("search_rule_set", { organizationId, id: collection }, reason)
      Effect.runSyncWith(services)(
        Effect.logError(`${organizationId} is refused: ${reason}`, ...(error === undefined ? [] : [error]))
      )
      return reason
    }
  }
  return { table: new RuleTable(parts), compile: parts.compile, contextOf }
})

/** Popular documents replace the recommendations of a model that is unavailable or knows nothing. */
const showsPopular = ({ zero_hits_fallback: kind }: RuleSet): boolean =>
  kind === "popular" || kind === "recommendations"

const FALLBACKS = ["none", "drop_filters", "popular", "recommendations", "semantic"] as const
/** Checks a body against the schema of its collection, and reports every issue. */
const checkedSet = (
  context: OperationContext,
  collection: CollectionInfo,
  body: unknown,
  reaches: (name: string) => boolean,
  modelRefusal: (id: string) => string | undefined
): Effect.Effect<RuleSet, InputInvalid | CollectionNotAllowed> => {
  let isBeyond = false
  const fields = ownedFields(context, collection, (name, schema) => {
    isBeyond ||= !reaches(name) || !reaches(schema?.name ?? name)
  })
  const checked = checkRuleSet(asWritten(body), {
    parseFilter: (text) => parseFilter(text, fields),
    hasField: (name) => fieldNamed(collection.schema, name) !== undefined,
    fallbacks: FALLBACKS,
    modelRefusal
  })
  if (isBeyond) return Effect.fail(collectionClosed())
  const issues = checked.ok ? fieldTypeIssues(checked.value, collection.schema) : checked.issues
  return checked.ok && issues.length === 0
    ? Effect.succeed(checked.value)
    : Effect.fail(new InputInvalid({ message: "Input validation failed", issues }))
}

/** Sets are written under one lock of their collection: one stored after the collection was dropped would stay. */
const makeWrites = Effect.gen(function* () {
  const configuration = yield* Configuration
  const repository = yield* makeRuleSetsRepository
  const engine = yield* Engine
  const popular = yield* PopularDocuments
  const named = yield* makeNamedResources
  const models = yield* RecommendationModels
  const storing = Effect.fnUntraced(function* (organizationId: string, name: string, ruleSet: RuleSet) {
    yield* repository.lock(organizationId, name)
    const collection = engine.describeCollection(organizationId, name)
    if (collection === undefined) return yield* new NotFound({ message: "Collection not found" })
    const { fallback_model_id: model, zero_hits_fallback: kind } = ruleSet
    if (kind === "recommendations" && !(yield* models.hold(organizationId, model)))
      return yield* inputInvalid("fallback_model_id", "there is no such recommendation model")
    const stored: StoredRuleSet = {
      organization_id: organizationId,
      collection: name,
      collection_created_at: collection.created_at,
      ruleSet,
      updated_at: yield* Clock.currentTimeMillis
    }
    yield* repository.upsert(stored)
    return stored
  })
  const replace: SearchRulesShape["replace"] = Effect.fn("SearchRules.replace")(function* (
    organizationId,
    { schema: { name } },
    ruleSet
  ) {
    if (bytesOf(ruleSet) > LIST_BYTES_MAX)
      return yield* inputInvalid("body", `At most ${LIST_BYTES_MAX} bytes of rules`)
    if (showsPopular(ruleSet)) yield* popular.refresh(organizationId, name)
    return yield* configuration
      .write(
        { kind: "search_rule_set", organizationId, id: name },
        named.within(organizationId, storing(organizationId, name, ruleSet))
      )
      .pipe(Effect.catchTag("SqlError", Effect.die))
  })
  const remove: SearchRulesShape["remove"] = Effect.fn("SearchRules.remove")(function* (organizationId, collection) {
    yield* configuration
      .write(
        { kind: "search_rule_set", organizationId, id: collection },
        Effect.andThen(repository.lock(organizationId, collection), repository.remove(organizationId, collection))
      )
      .pipe(Effect.catchTag("SqlError", Effect.die))
  })
  return { replace, remove, read: repository.read }
})

export class SearchRules extends Context.Service<SearchRules, SearchRulesShape>()("dowser/rules/SearchRules") {
  static readonly layer: Layer.Layer<
    SearchRules,
    never,
    | CatalogResources
    | CollectionDrops
    | Configuration
    | Engine
    | Entitlements
    | FallbackModels
    | PopularDocuments
    | RecommendationModels
    | SqlClient.SqlClient
  > = Layer.effect(
    SearchRules,
    Effect.gen(function* () {
      const configuration = yield* Configuration
      const fallbacks = yield* FallbackModels
      const { compile, contextOf, table } = yield* makeTable
      const { read, remove, replace } = yield* makeWrites
      yield* (yield* CollectionDrops).register(remove)
      yield* configuration.keep("search_rule_set", (subjects) =>
        Effect.map(read(subjects), (rows) => {
          configuration.damages.forget("search_rule_set", subjects)
          table.replace(subjects, rows)
        })
      )
      return SearchRules.of({
        get: (organizationId, collection) => table.get(organizationId, collection),
        checked: (organizationId, collection, body, reaches = () => true) =>
          Effect.suspend(() =>
            checkedSet(contextOf(organizationId), collection, body, reaches, (id) =>
              fallbacks.refusal(organizationId, collection.schema.name, id)
            )
          ),
        replace,
        remove,
        compiled: (organizationId, collection) => table.compiled(organizationId, collection),
        compile: (organizationId, collection, ruleSet) => compile(organizationId, collection, ruleSet).rules,
        answerKey: (organizationId, visitor, now_ms) => table.answerKey(organizationId, visitor, now_ms)
      })
    })
  )
}
