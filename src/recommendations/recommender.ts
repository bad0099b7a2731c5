/**
 * One request for recommendations: a model's candidates from the live state by one message, the documents among them
 * that the caller may see by one search, and the fallback chain if those are too few.
 */
import { ok } from "@dowser/engine-sdk"
import { type OperationContext, resolveCollection } from "@dowser/engine-sdk/operations"
import { Clock, Context, Effect, Layer } from "effect"
import { askOf } from "../recommendation-models/ask-of.ts"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { type Conflict, inputInvalid, type InputInvalid } from "../http/errors.ts"
import type { Job } from "../jobs/schema.ts"
import type { SearchRequest } from "../search/request.ts"
import { Search } from "../search/search.ts"
import type { SearchFailure } from "../search/search-errors.ts"
import { Answering, type Wanted } from "./answering.ts"
import { fallbackOf } from "./fill-answer.ts"
import type { Model, StoredModel } from "../recommendation-models/schema.ts"
import { RecommendModels } from "../recommendation-models/live/recommend-models.ts"
import type { Recommended, RecommendBody } from "./schema.ts"
import { makeTrainings } from "./trainings.ts"

interface RecommenderShape {
  readonly recommend: (
    request: SearchRequest,
    model: StoredModel,
    body: RecommendBody
  ) => Effect.Effect<Recommended, SearchFailure | InputInvalid>
  /** `new` until the state knows events of its collection. */
  readonly statusOf: (model: StoredModel) => Effect.Effect<Model["status"]>
  readonly train: (model: StoredModel) => Effect.Effect<Job, Conflict>
}

const LIMIT = 10
/** Spare candidates of each link, because some are filtered out. */
const SPARE = 40
const CANDIDATES_MAX = 250

const optional = (name: string, value: string | undefined) => (value === undefined ? {} : { [name]: value })
/** As search parameters. `id` is always requested, and removed again if the caller did not request it. */
const parametersOf = ({
  anonymous_id,
  exclude_fields,
  filter_by,
  include_fields,
  surface,
  user_id
}: RecommendBody): Readonly<Record<string, string>> => ({
  q: "*",
  ...optional("filter_by", filter_by),
  ...optional("include_fields", include_fields === undefined ? undefined : `${include_fields},id`),
  ...optional("exclude_fields", exclude_fields),
  ...optional("x_user_id", user_id),
  ...optional("x_anonymous_id", anonymous_id),
  ...optional("x_surface", surface)
})
const seedsOf = ({ document_id, document_ids = [] }: RecommendBody): ReadonlyArray<string> =>
  document_id === undefined ? document_ids : [...document_ids.filter((id) => id !== document_id), document_id]
/** The category of a collection: the facet with that name, else its first. */
const categoryOf = (context: OperationContext, name: string): string | undefined => {
  const facets = (resolveCollection(context, name)?.schema.fields ?? []).filter(
    ({ facet, name: own, type }) => facet === true && (type === "string" || type === "string[]") && !own.includes("*")
  )
  return (facets.find(({ name: own }) => /categor/i.test(own)) ?? facets[0])?.name
}

const askingOf = (body: RecommendBody, session: string | undefined, now: number) => {
  const person = body.user_id ?? body.anonymous_id ?? ""
  return {
    seeds: seedsOf(body),
    visitor: body.session_id ?? session ?? person,
    person,
    now,
    most: Math.min(CANDIDATES_MAX, (body.limit ?? LIMIT) + SPARE + (body.exclude_ids?.length ?? 0))
  }
}

const make = Effect.gen(function* () {
  const contextOf = yield* makeContexts
  const state = yield* RecommendModels
  const search = yield* Search
  const trainings = yield* makeTrainings
  const clock = yield* Clock.Clock

  const recommend: RecommenderShape["recommend"] = Effect.fnUntraced(function* (request, model, body) {
    if (body.collection !== undefined && body.collection !== model.collection)
      return yield* inputInvalid("collection", `The model is of the collection ${model.collection}`)
    const context = contextOf(request.caller.organizationId)
    const now = clock.currentTimeMillisUnsafe()
    const ask = askOf(context, model, askingOf(body, request.caller.sessionId, now))
    const answer = yield* state.ask(ask)
    const wanted: Wanted = {
      type: model.type,
      params: model.params,
      seeds: ask.seeds,
      excluded: new Set([...ask.seeds, ...(body.exclude_ids ?? [])]),
      candidates: answer?.candidates ?? [],
      limit: body.limit ?? LIMIT,
      category: categoryOf(context, model.collection),
      schema: resolveCollection(context, model.collection)?.schema,
      hidesId: isHidden(body)
    }
    const asked = { ...request, shared: parametersOf(body), queryText: "" }
    const session = body.session_id === undefined ? request.caller : { ...request.caller, sessionId: body.session_id }
    const { chosen, query_id } = yield* search.choosing(
      { ...asked, caller: session },
      model.collection,
      async (documents) => {
        const hits = await new Answering(documents, wanted).hits()
        return hits.ok ? ok(hits.value) : hits
      }
    )
    return { query_id, model_id: model.id, hits: chosen, fallback_used: fallbackOf(model.type, chosen) }
  })
  return Recommender.of({
    recommend,
    statusOf: (model) =>
      model.status !== "new"
        ? Effect.succeed(model.status)
        : Effect.map(
            state.ask({
              ...askOf(contextOf(model.organization_id), model, {
                seeds: [],
                visitor: "",
                person: "",
                now: clock.currentTimeMillisUnsafe(),
                most: 1
              }),
              chain: ["popular"]
            }),
            (answer) => ((answer?.candidates.length ?? 0) > 0 ? "ready" : "new")
          ),
    train: trainings.start
  })
})
const isHidden = ({ exclude_fields = "", include_fields }: RecommendBody): boolean => {
  const names = (text: string) => text.split(",").map((name) => name.trim())
  return (include_fields !== undefined && !names(include_fields).includes("id")) || names(exclude_fields).includes("id")
}

export class Recommender extends Context.Service<Recommender, RecommenderShape>()(
  "dowser/recommendations/Recommender"
) {
  static readonly layer = Layer.effect(
    Recommender,
    Effect.suspend(() => make)
  )
}
