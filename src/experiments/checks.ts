/** Checks of a definition that need its collection: rules, profiles, presets, and whether the search is valid. */
import type { CollectionInfo, EngineError } from "@dowser/engine-sdk"
import { prepareSearch, Reach, readSearch, resolveCollection } from "@dowser/engine-sdk/operations"
import { Effect } from "effect"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { type Issue, refused } from "../http/checks.ts"
import { type CollectionNotAllowed, InputInvalid, NotFound } from "../http/errors.ts"
import type { Caller } from "../identity/caller.ts"
import { collectionClosed, reachesCollection, reachesEverything } from "../identity/reach.ts"
import { restrictionsOf } from "../identity/restrictions.ts"
import { SearchPolicies } from "../policies/search-policies.ts"
import { profiled } from "../profiles/profile-step.ts"
import { SearchProfiles } from "../profiles/search-profiles.ts"
import { SearchRules } from "../rules/search-rules.ts"
import type { Definition, Variant } from "./definition.ts"
import { withParams } from "./experiment-step.ts"

const textsOf = (params: NonNullable<Variant["params"]>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(params).map(([name, value]) => [name, String(value)]))
/** Whether the request itself is wrong; an unavailable engine does not show that. */
const isWrong = ({ kind }: EngineError): boolean => kind === "Invalid" || kind === "NotFound"

/** A preset belongs to no collection and affects searches of all, so it requires a key for all collections. */
export const presetReached = (
  caller: Caller,
  { target }: Pick<Definition, "target">
): Effect.Effect<void, CollectionNotAllowed> =>
  target !== undefined && "preset" in target && !reachesEverything(caller)
    ? Effect.fail(collectionClosed())
    : Effect.void

const atRules = (path: string, { message, path: at }: Issue): Issue => ({
  path: `${path}.rules${at === "" ? "" : `.${at}`}`,
  message
})

export const makeChecks = Effect.gen(function* () {
  const contextOf = yield* makeContexts
  const rules = yield* SearchRules
  const steps = { profiles: yield* SearchProfiles, policies: yield* SearchPolicies }

  /** Why a search for everything fails with the parameters. */
  const searchIssues = Effect.fnUntraced(function* (
    caller: Caller,
    { collection, target }: Definition,
    params: NonNullable<Variant["params"]>,
    path: string
  ) {
    const context = contextOf(caller.organizationId),
      reach = new Reach(context, restrictionsOf(caller))
    const read = readSearch(context, collection, { q: "*", ...target }, reach.restrictions)
    const step = read.ok ? profiled(steps, { context, caller, request: read.value, fields: reach.fields }) : read
    if (!step.ok) return [] as ReadonlyArray<Issue>
    const { request } = step.value
    const asked = { ...request, parameters: withParams(request.parameters, textsOf(params), undefined) }
    const planned = yield* Effect.promise(() => prepareSearch(context, asked, reach))
    if (planned.ok || !isWrong(planned.error)) return []
    const parameter = planned.error.kind === "Invalid" ? planned.error.parameter : undefined
    return [{ path: parameter === undefined ? path : `${path}.${parameter}`, message: planned.error.message }]
  })
  const variantIssues = Effect.fnUntraced(function* (
    caller: Caller,
    collection: CollectionInfo,
    definition: Definition,
    { params, profile, rules: ruleSet }: Variant,
    path: string
  ) {
    if (profile !== undefined && steps.profiles.get(caller.organizationId, collection, profile) === undefined)
      return {
        issues: [{ path: `${path}.profile`, message: "The collection has no such profile" }],
        ruleSet: undefined
      }
    if (params !== undefined)
      return { issues: yield* searchIssues(caller, definition, params, `${path}.params`), ruleSet: undefined }
    if (ruleSet === undefined) return { issues: [], ruleSet: undefined }
    const checked = rules.checked(caller.organizationId, collection, ruleSet, (name) => reachesCollection(caller, name))
    return yield* Effect.matchEffect(checked, {
      onSuccess: (complete) => Effect.succeed({ issues: [] as ReadonlyArray<Issue>, ruleSet: complete }),
      onFailure: (error) =>
        error instanceof InputInvalid
          ? Effect.succeed({ issues: error.issues.map((issue) => atRules(path, issue)), ruleSet: undefined })
          : Effect.fail(error)
    })
  })
  const targetIssues = (caller: Caller, collection: CollectionInfo, { target }: Definition): ReadonlyArray<Issue> => {
    if (target === undefined) return []
    if ("profile" in target)
      return steps.profiles.get(caller.organizationId, collection, target.profile) === undefined
        ? [{ path: "target.profile", message: "The collection has no such profile" }]
        : []
    const { namespace, resources } = contextOf(caller.organizationId)
    const preset = resources.get(namespace, "preset", target.preset)
    const isOne = typeof preset?.value === "object" && preset.value !== null && !("searches" in preset.value)
    return isOne ? [] : [{ path: "target.preset", message: "There is no preset of this name for a single search" }]
  }

  /** The definition with the collection's own name and complete rule sets. 400 with everything that is wrong. */
  return Effect.fnUntraced(function* (caller: Caller, definition: Definition) {
    const collection = resolveCollection(contextOf(caller.organizationId), definition.collection)
    if (collection === undefined) return yield* new NotFound({ message: "Collection not found" })
    const { name } = collection.schema
    if (!reachesCollection(caller, name)) return yield* collectionClosed()
    yield* presetReached(caller, definition)
    const named = { ...definition, collection: name }
    const issues: Array<Issue> = [...targetIssues(caller, collection, named)]
    const variants: Array<Variant> = []
    for (const [i, variant] of definition.variants.entries()) {
      const found = yield* variantIssues(caller, collection, named, variant, `variants[${i}]`)
      issues.push(...found.issues)
      variants.push(found.ruleSet === undefined ? variant : { ...variant, rules: { ...found.ruleSet } })
    }
    yield* refused(issues)
    return { ...named, variants }
  })
})
