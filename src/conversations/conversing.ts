/**
 * Searches that are answered in words (`conversation=true`). It wraps searches: what a key may not see is in no
 * search, and therefore in no answer.
 */
import { Effect, Layer } from "effect"
import { readSearch, resolveCollection } from "@dowser/engine-sdk/operations"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { reachesNamed } from "../engine-plane/reached.ts"
import { EngineRefusal, Throttled } from "../http/errors.ts"
import { isObject, listIn } from "../http/json-fields.ts"
import { OpenPlaces, type Places } from "../http/open-places.ts"
import type { Caller } from "../identity/caller.ts"
import { restrictionsOf, sessionRefusal } from "../identity/restrictions.ts"
import { Conversations, type Conversed } from "../search/conversations.ts"
import type { SearchRequest } from "../search/request.ts"
import {
  bodyProblem,
  mentions,
  mentionsInBody,
  parsed,
  type Parameters,
  type Searched,
  type Talking,
  talkingOf
} from "./asked.ts"
import { makeBeginTurn } from "./begin-turn.ts"
import { type Listener, makeEvents } from "./events.ts"
import { seen } from "./known-words.ts"
import { makeTakeTurn, type Searching } from "./take-turn.ts"

/** Limit of an organization's concurrent answers in one process. */
const AT_ONCE_MAX = 400,
  /** Limit for visitors, which leaves room for the organization itself. */ OF_VISITORS_MAX = 320,
  OF_SESSION_MAX = 5
const RETRY_AFTER_S = 5
const placesOf = ({ organizationId, scope, sessionId }: Caller): Places => [
  [organizationId, AT_ONCE_MAX],
  ...(scope === "full"
    ? []
    : ([
        [`${organizationId} visitors`, OF_VISITORS_MAX],
        [`${organizationId} of ${sessionId ?? ""}`, OF_SESSION_MAX]
      ] as const))
]
const refusal = (message: string) => new EngineRefusal({ status: 400, message })

/** Produces one answer, complete or streamed, within the limits of concurrent answers. */
const makeConversing = Effect.gen(function* () {
  const begin = yield* makeBeginTurn
  const take = yield* makeTakeTurn
  const events = yield* makeEvents

  const open = new OpenPlaces()

  /** Counts as one of the concurrent answers while it runs. */
  const placed = <A, E>(places: Places, answer: Effect.Effect<A, E>): Effect.Effect<A, E | Throttled> =>
    Effect.suspend((): Effect.Effect<A, E | Throttled> =>
      open.take(places)
        ? Effect.ensuring(
            answer,
            Effect.sync(() => open.give(places))
          )
        : Effect.fail(
            new Throttled({
              message: "Too many answers are being written.",
              kind: "backpressure",
              retry_after_s: RETRY_AFTER_S
            })
          )
    )
  return Effect.fnUntraced(function* <E>(talking: Talking, searching: Searching<E>) {
    const turn = yield* begin(searching.request, talking)
    const places = placesOf(searching.request.caller)
    if (!talking.isStream) return yield* placed(places, take(turn, searching))
    const written = (listener: Listener) => Effect.map(take(turn, searching, listener), ({ text }) => text)
    return { events: yield* events((listener) => placed(places, written(listener))) }
  })
})

const make = Effect.gen(function* () {
  const contextOf = yield* makeContexts
  const conversing = yield* makeConversing
  const embeddedOf = ({ caller }: SearchRequest): Parameters =>
    Object.fromEntries(Object.entries(caller.embedded ?? {}).map(([name, value]) => [name, String(value)]))

  /** The parameters of a search as it will run; undefined if the search would be refused. */
  const merged = (request: SearchRequest, name: string) => {
    const { caller } = request
    const context = contextOf(caller.organizationId)
    const collection = resolveCollection(context, name)
    if (collection === undefined || !reachesNamed(context, caller, name)) return undefined
    const read = readSearch(context, name, request.shared, restrictionsOf(caller))
    if (!read.ok || sessionRefusal(caller, read.value.parameters) !== undefined) return undefined
    return seen(context, caller, collection, read.value.parameters)
  }
  const one: Conversed = (request, name, search) =>
    Effect.suspend(() => {
      const { shared } = request
      const mayTalk = mentions(shared) || shared.preset !== undefined || mentions(request.caller.embedded ?? {})
      const known = mayTalk ? merged(request, name) : undefined
      if (known === undefined) return search(request, name)
      const talking = talkingOf(known.parameters)
      if (!talking.ok) return Effect.fail(refusal(talking.error.message))
      if (talking.value === undefined) return search(request, name)
      return conversing(talking.value, {
        request,
        parameters: known.parameters,
        searched: [known],
        run: (asked) => search(asked, name)
      })
    })

  /** What the entries of a body search, as far as known beforehand. */
  const searchedIn = ({ caller }: SearchRequest, shared: Parameters, body: unknown): ReadonlyArray<Searched> => {
    const context = contextOf(caller.organizationId)
    return listIn(body, "searches")
      .filter(isObject)
      .flatMap((entry) => {
        const merged = Object.entries({ ...entry, ...shared }).map(([name, value]) => [name, String(value)] as const)
        const parameters = Object.fromEntries(merged)
        const collection = resolveCollection(context, parameters.collection ?? "")
        return collection === undefined || !reachesNamed(context, caller, parameters.collection ?? "")
          ? []
          : [seen(context, caller, collection, parameters)]
      })
  }
  const many: Conversed = (request, body, search) =>
    Effect.suspend(() => {
      const own = embeddedOf(request)
      if (!mentions(request.shared) && !mentions(own) && !mentionsInBody(body)) return search(request, body)
      const parameters = { ...request.shared, ...own }
      if (sessionRefusal(request.caller, { conversation: "true" }) !== undefined) return search(request, body)
      const talking = talkingOf(parameters)
      if (!talking.ok) return Effect.fail(refusal(talking.error.message))
      const asked = parsed(body)
      const problem = bodyProblem(asked, talking.value !== undefined)
      if (!problem.ok) return Effect.fail(refusal(problem.error.message))
      if (talking.value === undefined) return search(request, body)
      const entries = listIn(asked, "searches").filter(isObject)
      const entryMode = entries.find(({ drop_tokens_mode }) => drop_tokens_mode !== undefined)
      return conversing(talking.value, {
        request,
        parameters: entryMode === undefined ? parameters : { ...parameters, drop_tokens_mode: "" },
        searched: searchedIn(request, parameters, asked),
        run: (own) => search(own, body)
      })
    })
  return Conversations.of({ one, many })
})

export const layerConversations = Layer.effect(Conversations, make)
