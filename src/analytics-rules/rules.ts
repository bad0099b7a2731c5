/** Analytics rules for a caller; rules on collections that the key may not access do not exist for it. */
import { resolveCollection } from "@dowser/engine-sdk/operations"
import { fieldNamed } from "@dowser/engine-sdk/query"
import { Clock, Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { Caller } from "../identity/caller.ts"
import { reachesCollection } from "../identity/reach.ts"
import { makeAuditRecorder } from "../audit/record.ts"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { bytesOf, makeNamedResources, VALUE_BYTES_MAX } from "../metering/named-resources.ts"
import { inputInvalid, NotFound } from "../http/errors.ts"
import { type RuleTargets, ruleOf } from "./rule-input.ts"
import { makeRulesRepository, type StoredRule } from "./rules-repository.ts"
import { type Rule, RULES_MAX } from "./schema.ts"

export const shown = ({ collection, event_type, name, params, rule_tag, type }: Rule): Rule => ({
  name,
  type,
  collection,
  event_type,
  ...(rule_tag === undefined ? {} : { rule_tag }),
  params
})
const missing = () => new NotFound({ message: "Rule not found" })
/** Whether the key may access both the collection that a rule counts and the one to which it publishes. */
const isReached = (caller: Caller, { collection, params }: Rule): boolean =>
  [collection, params.destination_collection].every((name) => name === undefined || reachesCollection(caller, name))

/** Parses a body as a rule; refuses one that names something that does not exist. */
const makeChecked = Effect.gen(function* () {
  const contextOf = yield* makeContexts
  const knownOf = (organizationId: string): RuleTargets => {
    const named = (name: string) => resolveCollection(contextOf(organizationId), name)
    return {
      hasCollection: (name) => named(name) !== undefined,
      fieldType: (collection, field) => {
        const found = named(collection)
        return found === undefined ? undefined : fieldNamed(found.schema, field)?.type
      }
    }
  }
  return (organizationId: string, body: unknown, existing?: StoredRule) => {
    const rule = ruleOf(body, knownOf(organizationId), existing)
    if ("_tag" in rule) return Effect.fail(rule)
    return bytesOf(rule) > VALUE_BYTES_MAX
      ? Effect.fail(inputInvalid("body", `A rule may have at most ${VALUE_BYTES_MAX} bytes`))
      : Effect.succeed(rule)
  }
})

export const makeRules = Effect.gen(function* () {
  const repository = yield* makeRulesRepository
  const sql = yield* SqlClient.SqlClient
  const audit = yield* makeAuditRecorder
  const named = yield* makeNamedResources
  /** A driver failure becomes a defect. */
  const recorded = <A>(organizationId: string, id: string, change: Effect.Effect<A, SqlError.SqlError>) =>
    Effect.catchTag(
      sql.withTransaction(
        audit.recorded({ kind: "analytics_rule", organizationId, id }, named.within(organizationId, change))
      ),
      "SqlError",
      (error) => Effect.die(error)
    )
  const checked = yield* makeChecked
  const create = Effect.fnUntraced(function* (organizationId: string, body: unknown) {
    const rule = yield* checked(organizationId, body)
    const now = yield* Clock.currentTimeMillis
    const written = yield* recorded(
      organizationId,
      rule.name,
      Effect.gen(function* () {
        if ((yield* repository.lockCount(organizationId)) >= RULES_MAX) return "full"
        return (yield* repository.insert(organizationId, rule, now)) ? "written" : "there"
      })
    )
    if (written !== "written")
      return yield* inputInvalid(
        "name",
        written === "full" ? `There are ${RULES_MAX} rules already` : "Rule already exists"
      )
    return shown(rule)
  })
  const known = (caller: Caller, name: string) =>
    Effect.map(Effect.orDie(repository.get(caller.organizationId, name)), (rule) =>
      rule === undefined || !isReached(caller, rule) ? undefined : rule
    )
  const found = (caller: Caller, name: string) =>
    Effect.flatMap(known(caller, name), (rule) => (rule === undefined ? Effect.fail(missing()) : Effect.succeed(rule)))
  const remove = Effect.fnUntraced(function* (caller: Caller, name: string) {
    const rule = yield* found(caller, name)
    if (!(yield* recorded(caller.organizationId, rule.name, repository.remove(caller.organizationId, rule.name))))
      return yield* missing()
    return shown(rule)
  })
  /** Undefined if it did not exist, or was deleted after the look-up. */
  const update = Effect.fnUntraced(function* (organizationId: string, body: unknown, existing: StoredRule | undefined) {
    if (existing === undefined) return undefined
    const rule = yield* checked(organizationId, body, existing)
    const now = yield* Clock.currentTimeMillis
    const isWritten = yield* recorded(organizationId, rule.name, repository.update(organizationId, rule, now))
    return isWritten ? shown(rule) : undefined
  })
  const list = (caller: Caller, tag: string | undefined) =>
    Effect.map(Effect.orDie(repository.list(caller.organizationId, tag)), (rules) =>
      rules.filter((rule) => isReached(caller, rule)).map(shown)
    )
  const events = Effect.fnUntraced(function* (caller: Caller, name: string, userId: string, limit: number) {
    const rule = yield* found(caller, name)
    return yield* Effect.orDie(repository.events(caller.organizationId, rule.name, userId, limit))
  })
  return { create, events, found, known, list, remove, update }
})
