/**
 * Search rules of every collection of every organization: rows in Postgres, kept in memory and compiled when first
 * needed, so that a search makes no call for them; read again where a write of any process changed them
 * (`Configuration`). A write is durable before it is seen, and seen by the next search.
 *
 * Decision: rules belong to a collection, not to a name of it. An alias leads to the rules of the collection it points
 * to; pointed elsewhere, it leads to that one's rules. A collection that is dropped takes its rules with it.
 */
import { type CollectionInfo, fail, ok, type Result } from "@dowser/engine-sdk"
import { parseFilter } from "@dowser/engine-sdk/query"
import { fieldNamed } from "@dowser/engine-sdk/query"
import { checkRuleSet, type CompiledRules, type RuleSet } from "@dowser/engine-sdk/rules"
import { Clock, Context, Effect, Layer } from "effect"
import { collectionClosed } from "../identity/reach.ts"
import type { SqlClient } from "effect/sql"
import { PopularDocuments } from "../analytics/popular-documents.ts"
import { makeContexts } from "../catalog/engine-plane.ts"
import type { CatalogResources } from "../catalog/resources.ts"
import { Configuration } from "../configuration/configuration.ts"
import type { ConfigurationUnavailable } from "../configuration/errors.ts"
import type { Entitlements } from "../metering/entitlements.ts"
import type { FeatureNotInPlan } from "../metering/errors.ts"
import { bytesOf, LIST_BYTES_MAX, makeNamedResources } from "../metering/named-resources.ts"
import { Engine } from "../ports/engine/engine.ts"
import {
  type CollectionNotAllowed,
  InputInvalid,
  inputInvalid,
  NotFound,
  organizationUnavailable,
  type OrganizationUnavailable
} from "../http/errors.ts"
import { type AnswerGates, gatePart, gatesOf, type GateVisitor } from "./answer-gates.ts"
import { type CompiledFor, compileFor, isCurrent, ruleFields } from "./compiled-for.ts"
import { fieldTypeIssues } from "./field-types.ts"
import { makeRuleSetsRepository, type RuleSetRow, ruleSetOf, type StoredRuleSet } from "./rule-sets-repository.ts"

const NO_RULES = ok(undefined)

interface Entry {
  readonly stored: StoredRuleSet
  compiled: CompiledFor | undefined
}
interface OrganizationRules {
  readonly entries: Map<string, Entry>
  gates: AnswerGates
  /** Differs after every write. */ version: number
}

/** Decision: an answer may be changed and sent back: what the service itself adds to it is no unknown field. */
const asWritten = (body: unknown): unknown => {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return body
  const { collection: _collection, updated_at: _updated, ...own } = body as Readonly<Record<string, unknown>>
  return own
}
const isOf = ({ stored }: Entry, collection: CollectionInfo): boolean =>
  stored.collection_created_at === collection.created_at

/**
 * A set as it was stored, or undefined for what is none: fields that a filter names may have gone since, which is no
 * damage.
 */
const readRuleSet = ({ rule_set }: RuleSetRow): RuleSet | undefined => {
  const checked = checkRuleSet(rule_set, {
    parseFilter: () => ({ ok: true, value: undefined }),
    fallbacks: ["none", "drop_filters", "popular", "recommendations", "semantic"]
  })
  return checked.ok ? ruleSetOf(rule_set as Partial<RuleSet>) : undefined
}

export class SearchRules extends Context.Service<
  SearchRules,
  {
    readonly get: (organizationId: string, collection: CollectionInfo) => StoredRuleSet | undefined
    /**
     * A body as a complete set, or one issue for each of its problems (at most 100). A filter joins only what
     * `reaches`, by its name.
     */
    readonly checked: (
      organizationId: string,
      collection: CollectionInfo,
      body: unknown,
      reaches?: (name: string) => boolean
    ) => Effect.Effect<RuleSet, InputInvalid | CollectionNotAllowed>
    /**
     * InputInvalid for more than a set may have in bytes, NotFound when the collection was dropped meanwhile. Of two at
     * the same moment the later one stands.
     */
    readonly replace: (
      organizationId: string,
      collection: CollectionInfo,
      ruleSet: RuleSet
    ) => Effect.Effect<StoredRuleSet, InputInvalid | FeatureNotInPlan | NotFound | ConfigurationUnavailable>
    /** Also for a collection that is gone, and where there was nothing. */
    readonly remove: (organizationId: string, collection: string) => Effect.Effect<void, ConfigurationUnavailable>
    /**
     * Ready to match; undefined where the collection has none. O(1), and O(rules) after the set or a schema changed.
     * Fails for a set that does not compile: a search without it could show what the rules hide.
     */
    readonly compiled: (
      organizationId: string,
      collection: CollectionInfo
    ) => Result<CompiledRules | undefined, OrganizationUnavailable>
    /** A set that is not stored, under the schema of now. O(rules). */
    readonly compile: (organizationId: string, collection: CollectionInfo, ruleSet: RuleSet) => CompiledRules
    /**
     * The part of a kept answer's key that rules ask for: differs after a write of rules and wherever a rule tells two
     * requests apart.
     */
    readonly answerKey: (
      organizationId: string,
      visitor: GateVisitor,
      now_ms: number
    ) => ReadonlyArray<string | number | null>
  }
>()("dowser/rules/SearchRules") {
  static readonly layer: Layer.Layer<
    SearchRules,
    never,
    CatalogResources | Configuration | Engine | Entitlements | PopularDocuments | SqlClient.SqlClient
  > = Layer.effect(
    SearchRules,
    Effect.gen(function* () {
      const configuration = yield* Configuration
      const repository = yield* makeRuleSetsRepository
      const contextOf = yield* makeContexts
      const engine = yield* Engine
      const popular = yield* PopularDocuments
      const named = yield* makeNamedResources
      const organizations = new Map<string, OrganizationRules>()
      let changes = 0

      const rulesOf = (organizationId: string): OrganizationRules => {
        let own = organizations.get(organizationId)
        if (own === undefined)
          organizations.set(organizationId, (own = { entries: new Map(), gates: gatesOf([]), version: 0 }))
        return own
      }
      const changed = (own: OrganizationRules) => {
        own.version = ++changes
        own.gates = gatesOf([...own.entries.values()].map(({ stored }) => stored.ruleSet))
      }
      const services = yield* Effect.context<never>()
      /** Searches without rules could show what the rules hide: the organization is refused instead. */
      const refuse = (
        { collection, organization_id: organizationId }: Pick<StoredRuleSet, "collection" | "organization_id">,
        how: string,
        error?: unknown
      ): string => {
        const reason = `The stored search rules of \`${collection.slice(0, 80)}\` ${how}.`
        configuration.damages.note("search_rule_set", { organizationId, id: collection }, reason)
        Effect.runSyncWith(services)(
          Effect.logError(`${organizationId} is refused: ${reason}`, ...(error === undefined ? [] : [error]))
        )
        return reason
      }
      const compile = (organizationId: string, collection: CollectionInfo, ruleSet: RuleSet): CompiledFor => {
        // Known before somebody finds nothing: a search does not wait for it.
        if (ruleSet.zero_hits_fallback === "popular") popular.ids(organizationId, collection.schema.name)
        return compileFor(contextOf(organizationId), collection, ruleSet)
      }
      const compiledOf = (
        organizationId: string,
        collection: CollectionInfo,
        stored: StoredRuleSet
      ): Result<CompiledFor, OrganizationUnavailable> => {
        try {
          return ok(compile(organizationId, collection, stored.ruleSet))
        } catch (error) {
          return fail(organizationUnavailable(refuse(stored, "do not compile", error)))
        }
      }
      yield* configuration.keep("search_rule_set", (subjects) =>
        Effect.map(repository.read(subjects), (rows) => {
          configuration.damages.forget("search_rule_set", subjects)
          const touched = new Set<OrganizationRules>()
          const forget = (own: OrganizationRules, forgotten: (entries: Map<string, Entry>) => void) => {
            forgotten(own.entries)
            touched.add(own)
          }
          if (subjects === "all") for (const own of organizations.values()) forget(own, (entries) => entries.clear())
          else
            for (const { id, organizationId } of subjects)
              forget(rulesOf(organizationId), (entries) => entries.delete(id))
          for (const row of rows) {
            const ruleSet = readRuleSet(row)
            if (ruleSet === undefined) {
              refuse(row, "are not what they should be")
              continue
            }
            const { rule_set: _, ...rest } = row
            const own = rulesOf(row.organization_id)
            own.entries.set(row.collection, { stored: { ...rest, ruleSet }, compiled: undefined })
            touched.add(own)
          }
          for (const own of touched) changed(own)
        })
      )

      return SearchRules.of({
        get: (organizationId, collection) => {
          const entry = organizations.get(organizationId)?.entries.get(collection.schema.name)
          return entry !== undefined && isOf(entry, collection) ? entry.stored : undefined
        },
        checked: (organizationId, collection, body, reaches = () => true) =>
          Effect.suspend((): Effect.Effect<RuleSet, InputInvalid | CollectionNotAllowed> => {
            let isBeyond = false
            const fields = ruleFields(contextOf(organizationId), collection, (name, schema) => {
              isBeyond ||= !reaches(name) || !reaches(schema?.name ?? name)
            })
            const checked = checkRuleSet(asWritten(body), {
              parseFilter: (text) => parseFilter(text, fields),
              hasField: (name) => fieldNamed(collection.schema, name) !== undefined
            })
            if (isBeyond) return Effect.fail(collectionClosed())
            const issues = checked.ok ? fieldTypeIssues(checked.value, collection.schema) : checked.issues
            return checked.ok && issues.length === 0
              ? Effect.succeed(checked.value)
              : Effect.fail(new InputInvalid({ message: "Input validation failed", issues }))
          }),
        replace: Effect.fn("SearchRules.replace")(function* (organizationId, { schema: { name } }, ruleSet) {
          if (bytesOf(ruleSet) > LIST_BYTES_MAX)
            return yield* inputInvalid("body", `At most ${LIST_BYTES_MAX} bytes of rules`)
          if (ruleSet.zero_hits_fallback === "popular") yield* popular.refresh(organizationId, name)
          return yield* configuration
            .write(
              { kind: "search_rule_set", organizationId, id: name },
              named.within(
                organizationId,
                Effect.gen(function* () {
                  yield* repository.lock(organizationId, name)
                  const collection = engine.describeCollection(organizationId, name)
                  if (collection === undefined) return yield* new NotFound({ message: "Collection not found" })
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
              )
            )
            .pipe(Effect.catchTag("SqlError", Effect.die))
        }),
        remove: Effect.fn("SearchRules.remove")(function* (organizationId, collection) {
          // Behind one that is being stored: it would outlive its collection.
          yield* configuration
            .write(
              { kind: "search_rule_set", organizationId, id: collection },
              Effect.andThen(repository.lock(organizationId, collection), repository.remove(organizationId, collection))
            )
            .pipe(Effect.catchTag("SqlError", Effect.die))
        }),
        compiled: (organizationId, collection) => {
          const entry = organizations.get(organizationId)?.entries.get(collection.schema.name)
          if (entry === undefined || !isOf(entry, collection)) return NO_RULES
          if (entry.compiled === undefined || !isCurrent(entry.compiled, () => contextOf(organizationId), collection)) {
            const compiled = compiledOf(organizationId, collection, entry.stored)
            if (!compiled.ok) return compiled
            entry.compiled = compiled.value
          }
          return ok(entry.compiled.rules)
        },
        compile: (organizationId, collection, ruleSet) => compile(organizationId, collection, ruleSet).rules,
        answerKey: (organizationId, visitor, now_ms) => {
          const own = organizations.get(organizationId)
          return own === undefined ? [] : [own.version, ...gatePart(own.gates, visitor, now_ms)]
        }
      })
    })
  )
}
