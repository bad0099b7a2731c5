/**
 * A search without rules and with them, at any instant and for any visitor. It runs as searches do, over the same
 * engine, and leaves no trace: no query id, no report, nothing kept.
 */
import type { CollectionInfo } from "../../engine-sdk/src/mod.ts"
import { AnswerBudget, type Answered, type OperationContext, search } from "../../engine-sdk/src/operations/mod.ts"
import type { Trace } from "../../engine-sdk/src/pipeline/mod.ts"
import { parseInstant } from "../../engine-sdk/src/rules/instant.ts"
import type { CompiledRules } from "../../engine-sdk/src/rules/mod.ts"
import { Clock, Effect } from "effect"
import type { Caller } from "../identity/caller.ts"
import { reachesCollection } from "../access/check/decision.ts"
import { PopularDocuments } from "../analytics/popular-documents.ts"
import { declaredOf, forcedFilterParameter, makeContexts } from "../catalog/engine-plane.ts"
import { engineCallerOf } from "../search/engine-caller.ts"
import { environmentOf, searchMerchandise } from "../search/search-merchandise.ts"
import { visitorOf } from "../search/visitor.ts"
import { InputInvalid, inputInvalid } from "../http/errors.ts"
import type { DeclaredError } from "../http/render.ts"
import type { HeldMemory } from "../http/request-memory.ts"
import type { SearchPreviewBody } from "./schema.ts"
import { SearchRules } from "./search-rules.ts"

type Preview = typeof SearchPreviewBody.Type

/** What the search itself got wrong is told at its place in the body. */
const refused = (answered: Extract<Answered, { readonly ok: false }>): DeclaredError => {
  const { error } = answered
  if (error.kind !== "Invalid" || error.parameter === forcedFilterParameter) return declaredOf(error)
  return inputInvalid(error.parameter === undefined ? "search" : `search.${error.parameter}`, error.message)
}

/** Answers JSON text `{before, after, explain}`. Two engine calls, four with fallbacks. */
export const makePreview = Effect.gen(function* () {
  const contextOf = yield* makeContexts
  const rules = yield* SearchRules
  const popular = yield* PopularDocuments
  const clock = yield* Clock.Clock

  const run = async (
    context: OperationContext,
    caller: Caller,
    collection: CollectionInfo,
    preview: Preview,
    now_ms: number,
    own: CompiledRules | undefined,
    explain: boolean
  ) => {
    let trace: Trace | undefined
    let refusal: DeclaredError | undefined
    const answered = await search(
      {
        ...context,
        now_s: Math.floor(now_ms / 1_000),
        annotate: (answer) => {
          trace = answer.trace
          return undefined
        },
        merchandising: {
          environment: environmentOf(caller.organizationId, popular),
          of: (_collection, parameters) =>
            searchMerchandise({
              rules: own,
              parameters,
              now_ms,
              explain,
              visitor: () => {
                const { country, device, language } = visitorOf(parameters, {}, undefined)
                return {
                  device: preview.device ?? device,
                  language: preview.language ?? language,
                  country: preview.country ?? country
                }
              }
            })
        }
      },
      collection.schema.name,
      preview.search,
      engineCallerOf(context, caller, (error) => {
        refusal ??= error
      })
    )
    return { answered, trace, refusal }
  }

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
            (error) =>
              error._tag !== "InputInvalid"
                ? error
                : new InputInvalid({
                    message: error.message,
                    issues: error.issues.map((issue) => ({
                      ...issue,
                      path: issue.path === "" ? "rules" : `rules.${issue.path}`
                    }))
                  })
          )
    const own =
      given === undefined
        ? rules.compiled(organizationId, collection)
        : rules.compile(organizationId, collection, given)
    const planned = contextOf(organizationId)
    const context = {
      ...planned,
      budget: new AnswerBudget(planned.limits.answer_bytes_max, (bytes) => held().holdWriting(bytes))
    }
    const before = yield* Effect.promise(() => run(context, caller, collection, preview, now_ms, undefined, false))
    if (before.refusal !== undefined) return yield* Effect.fail(before.refusal)
    if (!before.answered.ok) return yield* Effect.fail(refused(before.answered))
    const after = yield* Effect.promise(() => run(context, caller, collection, preview, now_ms, own, true))
    if (after.refusal !== undefined) return yield* Effect.fail(after.refusal)
    if (!after.answered.ok) return yield* Effect.fail(refused(after.answered))
    return `{"before":${before.answered.value.text},"after":${after.answered.value.text},"explain":${JSON.stringify(after.trace)}}`
  })
})
