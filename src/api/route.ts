/**
 * Turns an operation and its handler into a route. The order of refusals (`docs/contract/errors.md#order-of-refusals`)
 * is the order in this file: the caller's identity and everything that its check decides, then the handler, which looks
 * up the resource before it reads the body. Query and body are therefore effects that decode when yielded. Every
 * failure and every defect is rendered here. It depends on no room: identity's authenticators find the caller.
 */
import { type Cause, Effect } from "effect"
import { HttpRouter, HttpServerRequest, type HttpServerResponse } from "effect/http"
import { traced } from "@dowser/log/process/traces"
import { bodyStream, discardRest, parseBounded, textOf } from "../http/body.ts"
import { type CollectionNotAllowed, inputInvalid, SessionRequired } from "../http/errors.ts"
import { type Operation, paramsOf, paramsSchema } from "../http/operation.ts"
import type { DeclaredError } from "../http/declared.ts"
import { openFrameSocket } from "../http/frame-socket.ts"
import type { ConsoleRefusal, KeyRefusal } from "../http/refusals.ts"
import { RequestFigures } from "../http/request-figures.ts"
import { RequestMemory } from "../http/request-memory.ts"
import { decoderOf } from "../http/validation.ts"
import { ConsoleAuthenticator, KeyAuthenticator } from "../identity/authenticators.ts"
import type { Caller } from "../identity/caller.ts"
import type { ConsoleCaller } from "../identity/console-caller.ts"
import { OperatorAuth } from "../identity/operator.ts"
import { type Actor, CurrentOrigin } from "../identity/origin.ts"
import { collectionClosed, type NamesOf, type Reach, reachesCollection, reachesEverything } from "../identity/reach.ts"
import { bodyOf, Exchange } from "./exchange.ts"
import type { AnyInput, Implemented } from "./implement.ts"
import { bearer, presentedKey, sessionInQuery, sessionOf } from "./presented-key.ts"
import { notStorable, parseJson, unnameable } from "./read-input.ts"
import { reachOf } from "./reach-of.ts"
import { causeResponse, headersOf, toResponse } from "./responses.ts"

export interface RouteOptions {
  /** CIDR ranges of proxies in front that are trusted about the client's address; none if absent. */
  readonly trustedProxies?: ReadonlyArray<string>
  /** Limit of the memory that all requests together may hold (`request-memory.ts`). */
  readonly requestBytesMax?: number
  /** Which collections the operations access, as their rooms declare. */
  readonly reaches: ReadonlyMap<string, Reach>
}
interface Authenticators {
  readonly keys: KeyAuthenticator["Service"]
  readonly consoles: ConsoleAuthenticator["Service"]
  readonly operator: OperatorAuth["Service"]
}
/** The sender of a request: a key's caller or a console caller, or neither. */
interface Asker {
  readonly caller: Caller | undefined
  readonly consoleCaller: ConsoleCaller | undefined
}
type Response = HttpServerResponse.HttpServerResponse
type Decode = (input: unknown) => Effect.Effect<unknown, DeclaredError>

/**
 * Whether the key may access everything that the request names; nothing is looked up before that. Only for keys
 * restricted to some collections.
 */
const namesReached = (
  caller: Caller,
  namesOf: NamesOf,
  search: Readonly<Record<string, string>>,
  bytes: Buffer
): Effect.Effect<void, CollectionNotAllowed> => {
  const parsed = parseBounded(textOf(bytes))
  const names = namesOf({ search, body: typeof parsed === "object" ? parsed.value : undefined })
  return names !== "organization" && names.every((name) => reachesCollection(caller, name))
    ? Effect.void
    : Effect.fail(collectionClosed())
}

/** The actor of the change; undefined if nothing audited changes. */
const actorOf = (
  operation: Operation,
  caller: Caller | undefined,
  consoleCaller: ConsoleCaller | undefined
): Actor | undefined => {
  if (operation.method === "GET" || operation.scope === "search" || operation.scope === "public") return undefined
  if (caller !== undefined) return { type: "key", id: caller.key.id }
  return consoleCaller?.type === "member" ? { type: "member", id: consoleCaller.member.id } : { type: "operator" }
}

const decodersOf = ({ params, path, payload, payloadIsChecked, query }: Operation) => ({
  // Texts are passed on unchanged: nothing is decoded unless the operation has schemas.
  params:
    Object.keys(params).length === 0
      ? undefined
      : (decoderOf(paramsSchema({ params, path }), { closed: false }) as Decode),
  query: query === undefined ? undefined : (decoderOf(query, { closed: false }) as Decode),
  payload: payload === undefined || !payloadIsChecked ? undefined : (decoderOf(payload, { closed: true }) as Decode)
})

/** One operation: everything about it that is common to all requests. */
class OperationRoute {
  readonly #implemented: Implemented
  readonly #authenticators: Authenticators
  readonly #figures: RequestFigures["Service"]
  readonly #decode: ReturnType<typeof decodersOf>
  readonly #names: ReadonlyArray<string>
  readonly #reach: Reach | undefined

  constructor(
    implemented: Implemented,
    authenticators: Authenticators,
    figures: RequestFigures["Service"],
    reaches: ReadonlyMap<string, Reach>
  ) {
    const { operation, role } = implemented
    if (operation.scope === "console" && role === undefined)
      throw new Error(`No room says which role reaches ${operation.id}`)
    this.#implemented = implemented
    this.#authenticators = authenticators
    this.#figures = figures
    this.#decode = decodersOf(operation)
    this.#names = paramsOf(operation.path)
    this.#reach = reachOf(operation, reaches)
  }

  /** Turns every failure into a response. */
  handle(exchange: Exchange, raw: Readonly<Record<string, string | undefined>>): Effect.Effect<Response> {
    const { operation } = this.#implemented
    for (const name of this.#names) exchange.params[name] = raw[name] ?? ""
    const answered = Effect.catchCause(this.#answered(exchange), (cause: Cause.Cause<unknown>) => {
      const { known, node, requestId, streamed } = exchange
      if (streamed !== undefined) discardRest(node, streamed)
      const place = `${operation.method} ${operation.path}`
      return causeResponse(cause, operation.plane, requestId, place, headersOf(known, node))
    })
    const asked = () => ({ "http.request.method": operation.method, "http.route": operation.path })
    return traced(operation.id, "server", asked, this.#counted(answered), ({ status }) => ({
      "http.response.status_code": status,
      "dowser.organization_id": exchange.holder ?? ""
    }))
  }

  #counted(answered: Effect.Effect<Response>): Effect.Effect<Response> {
    const { id } = this.#implemented.operation
    const { answers, times } = this.#figures
    const began = performance.now()
    return Effect.map(answered, (response) => {
      times.note(id, (performance.now() - began) / 1_000)
      answers.add(`${id} ${response.status}`)
      return response
    })
  }

  // One generator function for all requests: one per request would retain its captured variables until a full
  // collection (`ARCHITECTURE.md`).
  readonly #answered = Effect.fnUntraced(
    function* (this: OperationRoute, exchange: Exchange) {
      const { handler, operation } = this.#implemented
      const { held, node, params, requestId, search } = exchange
      const asker = yield* this.#askerOf(exchange)
      const { caller } = asker
      exchange.holder = caller?.organizationId ?? params.organizationId ?? ""
      const unnamed = unnameable(operation, params, search)
      if (unnamed !== undefined) return yield* inputInvalid(unnamed, notStorable)
      const reach = this.#reach
      if (typeof reach === "function" && caller !== undefined && !reachesEverything(caller))
        yield* namesReached(caller, reach, search, yield* bodyOf(exchange, operation.bodyBytesMax))
      const actor = actorOf(operation, caller, asker.consoleCaller)
      const decoded = this.#decode.params === undefined ? params : yield* this.#decode.params(params)
      const handled = handler(this.#inputOf(exchange, asker, decoded))
      const answer = yield* actor === undefined
        ? handled
        : Effect.provideService(handled, CurrentOrigin, { actor, requestId, operation: operation.id })
      return toResponse(operation, answer, headersOf(exchange.known, node), held)
    }.bind(this)
  )

  #askerOf(exchange: Exchange): Effect.Effect<Asker, KeyRefusal | ConsoleRefusal> {
    const { operation, role } = this.#implemented
    const { consoles, operator } = this.#authenticators
    const { node, params } = exchange
    if (operation.scope === "public") return NOBODY
    if (operation.scope === "operator") return Effect.as(operator.check(bearer(node.headers)), NO_ONE)
    if (operation.scope !== "console") return Effect.map(this.#keyOf(exchange), ofKey)
    const checked = consoles.check({
      bearer: bearer(node.headers),
      headers: node.headers,
      isRead: operation.method === "GET",
      organizationId: this.#names.includes("organizationId") ? params.organizationId : undefined,
      least: role!
    })
    return Effect.map(checked, ofConsole)
  }
  #keyOf(exchange: Exchange): Effect.Effect<Caller, KeyRefusal> {
    const { isRateFree, success } = this.#implemented.operation
    const check = this.#checkOf(exchange, isRateFree)
    // A connection that is open for minutes is checked again every few seconds, without taking a token of the key's
    // minute.
    exchange.check = success.type === "web_socket" ? this.#checkOf(exchange, true) : check
    return check
  }
  #checkOf(exchange: Exchange, isRateFree: boolean): Effect.Effect<Caller, KeyRefusal> {
    const { operation } = this.#implemented
    const { address, node, origin, params, search } = exchange
    return this.#authenticators.keys.check({
      key: presentedKey(operation, node.headers, search),
      scope: operation.scope,
      address,
      origin,
      collection: params.collectionName,
      isOfAll: this.#reach === "session" ? "with a full key" : this.#reach === "organization",
      sessionId: sessionOf(node.headers) ?? sessionInQuery(operation, search),
      isRateFree,
      isGateway: operation.plane === "gateway",
      onKey: (key, rate) => {
        exchange.known = { key, rate }
      }
    })
  }

  #inputOf(exchange: Exchange, { caller, consoleCaller }: Asker, params: unknown): AnyInput {
    const { operation } = this.#implemented
    const { address, held, node, search, searchText } = exchange
    const decode = this.#decode
    const bytes = bodyOf(exchange, operation.bodyBytesMax)
    // Checked when the query or the body is read, which a handler does after it found its resource.
    const inSession = <A, E, R>(read: Effect.Effect<A, E, R>): Effect.Effect<A, E | SessionRequired, R> =>
      operation.isAi && caller?.scope === "search" && caller.sessionId === undefined
        ? Effect.fail(new SessionRequired({ message: "Header `X-SVC-SESSION-ID` is required." }))
        : read
    return {
      caller,
      again: exchange.check,
      consoleCaller,
      params,
      search,
      searchText,
      headers: node.headers,
      address,
      isEncrypted: (node.socket as { readonly encrypted?: boolean }).encrypted === true,
      query: inSession(
        decode.query === undefined ? Effect.succeed(search) : (decode.query(search) as AnyInput["query"])
      ),
      payload: Effect.flatMap(inSession(bytes), (body) => {
        const json = parseJson(operation, body)
        return decode.payload === undefined ? json : (Effect.flatMap(json, decode.payload) as AnyInput["payload"])
      }),
      bytes: inSession(bytes),
      stream: Effect.tap(inSession(bodyStream(node, held)), (stream) =>
        Effect.sync(() => {
          exchange.streamed = stream
        })
      ),
      upgrade: inSession(Effect.suspend(() => openFrameSocket(node, headersOf(exchange.known, node)))),
      held
    }
  }
}
const NO_ONE: Asker = { caller: undefined, consoleCaller: undefined }
const NOBODY = Effect.succeed(NO_ONE)
const ofKey = (caller: Caller): Asker => ({ caller, consoleCaller: undefined })
const ofConsole = (consoleCaller: ConsoleCaller): Asker => ({ caller: undefined, consoleCaller })

/** Routes for the given operations. Needs the authenticators once, when built; nothing per request. */
export const routesOf = (
  implemented: ReadonlyArray<Implemented>,
  { reaches, requestBytesMax, trustedProxies = [] }: RouteOptions
) =>
  Effect.gen(function* () {
    const context = yield* Effect.context<never>()
    const figures = yield* RequestFigures
    const memory = new RequestMemory({
      bytesMax: requestBytesMax,
      onCutOff: (organization) => {
        figures.cutOff++
        Effect.runForkWith(context)(
          Effect.logWarning(
            `Answers that are not read hold too much memory; one of ${organization || "no organization"} was cut off`
          )
        )
      }
    })
    figures.memories.add(memory)
    const authenticators = {
      keys: yield* KeyAuthenticator,
      operator: yield* OperatorAuth,
      consoles: yield* ConsoleAuthenticator
    }
    return implemented.map((one) => {
      const route = new OperationRoute(one, authenticators, figures, reaches)
      return HttpRouter.route(
        one.operation.method,
        one.operation.path,
        Effect.flatMap(HttpRouter.params, (raw) =>
          Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
            route.handle(new Exchange(request, memory, trustedProxies), raw)
          )
        )
      )
    })
  })
