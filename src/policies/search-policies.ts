/**
 * Search policies of all organizations: rows in Postgres, kept in memory, re-read when a write of any process changed
 * them (`Configuration`), so that the next search uses them.
 */
import { textParameters, type Parameters } from "@dowser/engine-sdk/query"
import { Clock, Context, Effect, Layer, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { Configuration } from "../configuration/configuration.ts"
import { stored } from "../configuration/stored.ts"
import { type ConfigurationUnavailable, inputInvalid, type InputInvalid, NotFound } from "../http/errors.ts"
import type { Entitlements } from "../metering/entitlements.ts"
import type { FeatureNotInPlan } from "../metering/errors.ts"
import { bytesOf, makeNamedResources, VALUE_BYTES_MAX } from "../metering/named-resources.ts"
import { PolicyInUse } from "./errors.ts"
import { makePoliciesRepository, type PolicyRow, type StoredPolicy } from "./policies-repository.ts"
import { SearchPolicy } from "./schema.ts"

/** A policy in the form that searches use. */
export interface KnownPolicy extends StoredPolicy {
  /** `params` as texts: the same object until the policy is replaced. */ readonly parameters: Parameters
}

interface SearchPoliciesShape {
  /** O(1). */
  readonly get: (organizationId: string, name: string) => KnownPolicy | undefined
  /** Sorted by name. */
  readonly list: (organizationId: string) => ReadonlyArray<KnownPolicy>
  /** A number that changes with every write of the organization's policies. */
  readonly version: (organizationId: string) => number
  readonly upsert: (
    organizationId: string,
    name: string,
    params: StoredPolicy["params"]
  ) => Effect.Effect<StoredPolicy, InputInvalid | FeatureNotInPlan | ConfigurationUnavailable>
  /**
   * Within a transaction: whether the policy exists, in which case it stays until the transaction ends; profiles that
   * name it are stored by then.
   */
  readonly hold: (organizationId: string, name: string) => Effect.Effect<boolean, SqlError.SqlError>
  readonly remove: (
    organizationId: string,
    name: string
  ) => Effect.Effect<void, NotFound | PolicyInUse | ConfigurationUnavailable>
}

const decodeParams = Schema.decodeUnknownSync(SearchPolicy.fields.params)
/** Throws if it is not a policy. */
const knownOf = (row: PolicyRow): KnownPolicy => {
  const params = decodeParams(row.params)
  const parameters = textParameters(params)
  if (!parameters.ok) throw new Error(parameters.error.message)
  return { ...row, params, parameters: parameters.value }
}
export const noPolicy = () => new NotFound({ message: "Search policy not found" })

interface Own {
  readonly policies: Map<string, KnownPolicy>
  version: number
}
/** Keeps all policies in memory, by organization. */
const keepPolicies = Effect.gen(function* () {
  const configuration = yield* Configuration
  const { read } = yield* makePoliciesRepository
  const organizations = new Map<string, Own>()
  let changes = 0
  const ownOf = (organizationId: string): Own => {
    let own = organizations.get(organizationId)
    if (own === undefined) organizations.set(organizationId, (own = { policies: new Map(), version: 0 }))
    return own
  }
  yield* configuration.keep("search_policy", (subjects) =>
    Effect.flatMap(read(subjects), (rows) =>
      Effect.suspend(() => {
        configuration.damages.forget("search_policy", subjects)
        const touched = new Set<Own>()
        if (subjects === "all")
          for (const own of organizations.values()) {
            own.policies.clear()
            touched.add(own)
          }
        else
          for (const { id, organizationId } of subjects) {
            const own = ownOf(organizationId)
            own.policies.delete(id)
            touched.add(own)
          }
        const unread: Array<Effect.Effect<void>> = []
        for (const row of rows) {
          const own = ownOf(row.organization_id)
          touched.add(own)
          try {
            own.policies.set(row.name, knownOf(row))
          } catch (error) {
            const reason = `The stored search policy \`${row.name.slice(0, 80)}\` is not what it should be.`
            configuration.damages.note("search_policy", { organizationId: row.organization_id, id: row.name }, reason)
            unread.push(Effect.logError(`${row.organization_id} is refused: ${reason}`, error))
          }
        }
        for (const own of touched) own.version = ++changes
        return Effect.all(unread, { discard: true })
      })
    )
  )
  return organizations
})

export class SearchPolicies extends Context.Service<SearchPolicies, SearchPoliciesShape>()(
  "dowser/policies/SearchPolicies"
) {
  static readonly layer: Layer.Layer<SearchPolicies, never, Configuration | Entitlements | SqlClient.SqlClient> =
    Layer.effect(
      SearchPolicies,
      Effect.gen(function* () {
        const configuration = yield* Configuration
        const repository = yield* makePoliciesRepository
        const named = yield* makeNamedResources
        const organizations = yield* keepPolicies
        const get = (organizationId: string, name: string) => organizations.get(organizationId)?.policies.get(name)
        const change = (organizationId: string, id: string) => ({ kind: "search_policy", organizationId, id })
        return SearchPolicies.of({
          get,
          list: (organizationId) =>
            [...(organizations.get(organizationId)?.policies.values() ?? [])].sort((a, b) =>
              a.name < b.name ? -1 : 1
            ),
          version: (organizationId) => organizations.get(organizationId)?.version ?? 0,
          upsert: Effect.fn("SearchPolicies.upsert")(function* (organizationId, name, params) {
            if (bytesOf(params) > VALUE_BYTES_MAX)
              return yield* inputInvalid("params", `A policy may have at most ${VALUE_BYTES_MAX} bytes`)
            const now = yield* Clock.currentTimeMillis
            const policy: StoredPolicy = {
              organization_id: organizationId,
              name,
              params,
              created_at: get(organizationId, name)?.created_at ?? now,
              updated_at: now
            }
            yield* stored(
              configuration.write(
                change(organizationId, name),
                named.within(organizationId, Effect.andThen(repository.lock(organizationId), repository.upsert(policy)))
              )
            )
            return policy
          }),
          hold: (organizationId, name) =>
            Effect.andThen(repository.lock(organizationId), repository.exists(organizationId, name)),
          remove: Effect.fn("SearchPolicies.remove")(function* (organizationId, name) {
            const removal = Effect.gen(function* () {
              yield* repository.lock(organizationId)
              if (!(yield* repository.exists(organizationId, name))) return yield* noPolicy()
              const profiles = yield* repository.usedBy(organizationId, name)
              if (profiles.length > 0)
                return yield* new PolicyInUse({
                  message: `The policy \`${name}\` is named by ${profiles.map((each) => `\`${each.collection}/${each.name}\``).join(", ")}.`,
                  profiles
                })
              yield* repository.remove(organizationId, name)
            })
            yield* stored(configuration.write(change(organizationId, name), removal))
          })
        })
      })
    )
}
