/**
 * A search without and with rules, at any time and for any visitor. It runs like other searches, over the same engine,
 * and leaves no trace: no query id, no report, nothing stored.
 */
import { type CollectionInfo, type EngineError, fail, ok, type Result } from "@dowser/engine-sdk"
import {
  AnswerBudget,
  closed,
  type Environment,
  type OperationContext,
  type PlannedSearch,
  prepareSearch,
  Reach,
  readSearch,
  runSearch,
  writeAnswer
} from "@dowser/engine-sdk/operations"
import type { Trace } from "@dowser/engine-sdk/pipeline"
import { type CompiledRules, parseInstant } from "@dowser/engine-sdk/rules"
import { Clock, Effect } from "effect"
import type { Caller } from "../identity/caller.ts"
import { reachesCollection } from "../identity/reach.ts"
import { PopularDocuments } from "../analytics/popular-documents.ts"
import type { EngineFailure } from "../engine-plane/engine-errors.ts"
import { failureOf, makeContexts } from "../engine-plane/engine-plane.ts"
import { FallbackMeanings } from "../embedding/fallback-meanings.ts"
import { FallbackModels } from "../recommendation-models/fallback-models.ts"
import { Rerankers } from "../rerankers/rerankers.ts"
import { restrictionsOf, sessionRefusal } from "../identity/restrictions.ts"
import { environmentOf, searchMerchandise } from "./search-merchandise.ts"
import { NO_TRAITS, visitorOf } from "../identity/visitor.ts"
import { InputInvalid, inputInvalid, type SessionRequired } from "../http/errors.ts"
import type { HeldMemory } from "../http/request-memory.ts"
import { profiled, type ProfileStepParts } from "../profiles/profile-step.ts"
import { SearchPolicies } from "../policies/search-policies.ts"
import { SearchProfiles } from "../profiles/search-profiles.ts"
import type { SearchPreviewBody } from "./schema.ts"
import { SearchRules } from "./search-rules.ts"

type Preview = typeof SearchPreviewBody.Type

/** Errors of the search itself are reported with their path in the body. */
const refused = (error: EngineError): EngineFailure | InputInvalid =>
  error.kind !== "Invalid"
    ? failureOf(error)
    : inputInvalid(error.parameter === undefined ? "search" : `search.${error.parameter}`, error.message)
const resulting = <A, E>(result: Result<A, E>): Effect.Effect<A, E> =>
  result.ok ? Effect.succeed(result.value) : Effect.fail(result.error)
/** The visitor that the preview names, else the one in the search's own parameters. */
const visitorIn = (preview: Preview, parameters: Readonly<Record<string, string>>) => {
  const who = visitorOf(parameters, NO_TRAITS, undefined)
  const { country, device, language } = who
  return {
    ...who,
    device: preview.device ?? device,
    language: preview.language ?? language,
    country: preview.country ?? country
  }
}

/** The engine's part of a search, its text with what the rules add, and what they did. */
const run = async (
  parts: ProfileStepParts,
  environment: Environment,
  context: OperationContext,
  caller: Caller,
  collection: CollectionInfo,
  preview: Preview,
  now_ms: number,
  own: CompiledRules | undefined,
  explain: boolean
): Promise<
  Result<{ readonly text: string; readonly trace: Trace | undefined }, EngineFailure | InputInvalid | SessionRequired>
> => {
  const reach = new Reach(context, restrictionsOf(caller))
  const asked = readSearch(context, collection.schema.name, preview.search, reach.restrictions)
  if (!asked.ok) return fail(refused(asked.error))
  const step = profiled(parts, { context, caller, request: asked.value, fields: reach.fields })
  if (!step.ok) return fail(refused(step.error))
  const { request } = step.value
  const session = sessionRefusal(caller, request.parameters)
  if (session !== undefined) return fail(session)
  const planned = await prepareSearch(context, request, reach)
  if (!planned.ok) return fail(refused(planned.error))
  const merchandise = searchMerchandise({
    rules: own,
    parameters: planned.value.parameters,
    now_ms,
    explain,
    visitor: () => visitorIn(preview, planned.value.parameters)
  })
  const search: PlannedSearch = { ...planned.value, merchandise }
  const found = await runSearch(context, search, environment)
  if (!found.ok) return fail(refused(found.error))
  const open = writeAnswer(search, found.value)
  return open.ok ? ok({ text: closed(open.value), trace: found.value.trace }) : fail(refused(open.error))
}

/** Issues of the rules, with their path in the body. */
const atRules = <E extends { readonly _tag: string }>(error: E | InputInvalid): E | InputInvalid =>
  error instanceof InputInvalid
    ? new InputInvalid({
        message: error.message,
        issues: error.issues.map((issue) => ({ ...issue, path: issue.path === "" ? "rules" : `rules.${issue.path}` }))
      })
    : error

/** Returns JSON text `{before, after, explain}`. Two engine calls, four with fallbacks. */
export const makePreview = Effect.gen(function* () {
  const contextOf = yield* makeContexts
  const rules = yield* SearchRules
  const popular = yield* PopularDocuments
  const parts: ProfileStepParts = { profiles: yield* SearchProfiles, policies: yield* SearchPolicies }
  const models = yield* Rerankers
  const fallbacks = yield* FallbackModels
  const meanings = yield* FallbackMeanings
  const clock = yield* Clock.Clock

  return Effect.fnUntraced(function* (
    caller: Caller,
    collection: CollectionInfo,
    preview: Preview,
    held: () => HeldMemory
  ) {
    const organizationId = caller.organizationId
    const now_ms = preview.at === undefined ? clock.currentTimeMillisUnsafe() : parseInstant(preview.at)
    if (now_ms === undefined)
      return yield* inputInvalid("at", "must be an ISO 8601 date-time, e.g. `2026-05-01T00:00:00Z`")
    const given =
      preview.rules === undefined
        ? undefined
        : yield* Effect.mapError(
            rules.checked(organizationId, collection, preview.rules, (name) => reachesCollection(caller, name)),
            atRules
          )
    const own =
      given === undefined
        ? yield* resulting(rules.compiled(organizationId, collection))
        : rules.compile(organizationId, collection, given)
    const planned = contextOf(organizationId)
    const context: OperationContext = {
      ...planned,
      now_s: Math.floor(now_ms / 1_000),
      budget: new AnswerBudget(planned.limits.answer_bytes_max, (bytes) => held().reserveForAnswer(bytes))
    }
    const environment = environmentOf(organizationId, popular, models, fallbacks, meanings)
    const shown = (compiled: CompiledRules | undefined, explain: boolean) =>
      Effect.flatMap(
        Effect.promise(() => run(parts, environment, context, caller, collection, preview, now_ms, compiled, explain)),
        resulting
      )
    const before = yield* shown(undefined, false)
    const after = yield* shown(own, true)
    return `{"before":${before.text},"after":${after.text},"explain":${JSON.stringify(after.trace)}}`
  })
})
