/**
 * Turns an operation and its handler into a route. The order of refusals (contract part 0) is the order of this file:
 * key and everything `Access.check` decides, then the handler, which looks at the resource before it asks for the body.
 * Query and body are therefore effects that decode when yielded. Every failure and every defect is rendered here.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { Readable } from "node:stream"
import { NodeHttpServerRequest } from "@effect/platform-node"
import { Cause, Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { Access } from "../access/access.ts"
import type { Caller } from "../identity/caller.ts"
import { collectionClosed, reachesCollection, reachesEverything } from "../access/check/decision.ts"
import type { KeyRecord } from "../identity/key-record.ts"
import { type NamesOf, type Reach, reachOf } from "../access/check/reach.ts"
import { OperatorAuth } from "../access/check/operator.ts"
import { originOf } from "../access/check/origins.ts"
import { clientAddress } from "../http/client-address.ts"
import { type Actor, CurrentOrigin } from "../identity/origin.ts"
import { Console, type ConsoleCaller } from "../console/console.ts"
import type { Role } from "../identity/roles.ts"
import {
  bodyBytes,
  bodyStream,
  discardRest,
  isStorable,
  parseBounded,
  parseRefusals,
  textOf,
  unstorablePath
} from "../http/body.ts"
import {
  type CollectionNotAllowed,
  EngineRefusal,
  type InputInvalid,
  InternalError,
  inputInvalid,
  NotFound,
  SessionRequired,
  type Throttled
} from "../http/errors.ts"
import { edgeHeaders } from "../http/edges.ts"
import { isBearer, type Operation, paramsOf } from "../http/operation.ts"
import { type Plane, planeOfPath } from "../http/plane.ts"
import { type DeclaredError, render } from "../http/render.ts"
import { Reply } from "../http/reply.ts"
import { FREE_BYTES, type HeldMemory, RequestMemory } from "../http/request-memory.ts"
import { IN_PIECES_CHARS, textInPieces } from "../http/text-in-pieces.ts"
import { decoderOf } from "../http/validation.ts"

export interface Input<Q, B> {
  readonly caller: Caller
  /**
   * Decides once more: whether the key still holds and reaches, for another token of its rate. For requests that go on
   * for long; none without a caller.
   */
  readonly again: Effect.Effect<Caller, DeclaredError>
  /** Of operations of scope `console`, which have no `caller`. */ readonly consoleCaller: ConsoleCaller
  readonly params: Readonly<Record<string, string>>
  /** Raw query parameters; the last of a repeated name wins. */ readonly search: Readonly<Record<string, string>>
  /** Everything behind the `?`, as sent. */ readonly searchText: string
  readonly headers: IncomingMessage["headers"]
  readonly address: string
  /** This connection is TLS; a proxy in front may be without it. */ readonly isEncrypted: boolean
  /** Decoded by the operation's schema when yielded. */ readonly query: Effect.Effect<Q, InputInvalid>
  readonly payload: Effect.Effect<B, InputInvalid | Throttled | EngineRefusal>
  /** Decoded from its transfer, nothing more; at most the operation's bound. */ readonly bytes: Effect.Effect<
    Buffer,
    InputInvalid | Throttled
  >
  /** Unbounded: the handler must hold only a bounded part. */ readonly stream: Effect.Effect<Readable, InputInvalid>
  /** What this request holds in memory, of what all may; for who reads `stream` or answers with one. */
  readonly held: () => HeldMemory
}
export type Handler<Q, B, S> = (input: Input<Q, B>) => Effect.Effect<S | Reply, DeclaredError>

export interface Implemented {
  readonly operation: Operation
  /** The least that reaches it, of an operation of scope `console`. */ readonly role?: Role
  readonly handler: Handler<unknown, unknown, unknown>
}
/** Pairs an operation with its handler; the types of query, body and answer come from the operation. */
export const implement = <Q, B, S>(operation: Operation<Q, B, S>, handler: Handler<Q, B, S>): Implemented => ({
  operation: operation as Operation,
  handler: handler as Handler<unknown, unknown, unknown>
})

/**
 * Where a key may stand (contract part 0): its header, the stock clients' header, or their query parameter. One request
 * has one key: where several are given and differ, a proxy and we might go by different ones, so they are answered as
 * an unknown one is (a header sent twice arrives joined, and is unknown by itself).
 */
const presentedKey = (
  operation: Pick<Operation, "plane" | "scope">,
  headers: IncomingMessage["headers"],
  search: Readonly<Record<string, string>>
): string | undefined => {
  if (isBearer(operation)) return bearer(headers)
  const places = [
    headers["x-svc-api-key"],
    headers["x-typesense-api-key"],
    search["x-typesense-api-key"],
    operation.scope === "search" ? search["x-svc-api-key"] : undefined
  ]
  const keys = new Set(places.filter((value) => value !== undefined && value !== ""))
  return keys.size > 1 ? ambiguousKey : ([...keys][0] as string | undefined)
}
/** No key has these characters. */
const ambiguousKey = "\n"
const bearer = (headers: IncomingMessage["headers"]): string | undefined =>
  /^Bearer +(.+)$/i.exec(headers.authorization ?? "")?.[1]

const searchOf = (url: string): { readonly text: string; readonly values: Record<string, string> } => {
  const mark = url.indexOf("?")
  if (mark < 0 || mark === url.length - 1) return { text: "", values: {} }
  const text = url.slice(mark + 1)
  // A parameter named `__proto__` is one like any other; assigned to a plain object it would be swallowed.
  const values = Object.create(null) as Record<string, string>
  for (const [name, value] of new URLSearchParams(text)) values[name] = value
  return { text, values }
}

/** JSON whatever the content type says; the engine plane has the engine's words for a body that does not parse. */
const parseJson = (
  { payloadIsChecked, plane }: Operation,
  bytes: Buffer
): Effect.Effect<unknown, InputInvalid | EngineRefusal> => {
  const refuse = (message: string) =>
    plane === "engine" ? new EngineRefusal({ message: "Bad JSON.", status: 400 }) : inputInvalid("body", message)
  const text = textOf(bytes)
  const parsed = parseBounded(text)
  if (typeof parsed !== "object") return Effect.fail(refuse(parseRefusals[parsed]))
  // Only an escape can write them. A room that checks its payload itself says what it does with them.
  const unstorable = payloadIsChecked && text.includes("\\u") ? unstorablePath(parsed.value) : undefined
  return unstorable === undefined
    ? Effect.succeed(parsed.value)
    : Effect.fail(inputInvalid(unstorable === "" ? "body" : unstorable, notStorable))
}
const notStorable = "No NUL character and no half surrogate pair"
/**
 * The first parameter of the path, or of the query, that nothing can be named; a search of the engine takes any, and
 * what is public reads none.
 */
const unnameable = (
  { plane, scope }: Operation,
  params: Readonly<Record<string, string>>,
  search: Readonly<Record<string, string>>
): string | undefined => {
  for (const name in params) if (!isStorable(params[name]!)) return name
  if (scope !== "public" && (plane !== "engine" || scope !== "search"))
    for (const name in search) if (!isStorable(search[name]!)) return name
  return undefined
}

const isDeclared = (error: unknown): error is DeclaredError =>
  typeof error === "object" &&
  error !== null &&
  typeof (error as { readonly _tag?: unknown })._tag === "string" &&
  typeof (error as { readonly message?: unknown }).message === "string"

const errorResponse = (
  error: DeclaredError,
  plane: Plane,
  headers: Readonly<Record<string, string>> = {}
): HttpServerResponse.HttpServerResponse => {
  const rendered = render(error, plane)
  return HttpServerResponse.text(JSON.stringify(rendered.body), {
    status: rendered.status,
    headers: { ...headers, ...rendered.headers },
    contentType: "application/json"
  })
}

/**
 * A cause as an answer: a declared failure by its shape, anything else is logged with its request id and told as a 500.
 */
const causeResponse = (
  cause: Cause.Cause<unknown>,
  plane: Plane,
  requestId: string,
  place: string,
  headers: Readonly<Record<string, string>>
) => {
  const failure = cause.reasons.find((reason) => reason._tag === "Fail")
  if (failure !== undefined && isDeclared(failure.error))
    return Effect.succeed(errorResponse(failure.error, plane, headers))
  if (Cause.hasInterruptsOnly(cause)) return Effect.interrupt
  return Effect.as(
    Effect.logError(`${place} failed (${requestId})`, cause),
    errorResponse(new InternalError({ message: "Unexpected error.", requestId }), plane, headers)
  )
}

/**
 * Of every page: what it loads and whom it asks is ours, and nobody shows it inside of theirs. A page may narrow it.
 */
const pageHeaders = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  "referrer-policy": "same-origin"
}
interface TextOptions {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly contentType: string
}
const textResponse = (
  text: string,
  { contentType, headers, status }: TextOptions
): HttpServerResponse.HttpServerResponse =>
  text.length < IN_PIECES_CHARS
    ? HttpServerResponse.text(text, { status, headers, contentType })
    : HttpServerResponse.raw(textInPieces(text), {
        status,
        headers: { ...headers, "content-type": contentType, "content-length": String(Buffer.byteLength(text)) }
      })
const toResponse = (
  operation: Operation,
  answer: unknown,
  headers: Readonly<Record<string, string>>,
  held: () => HeldMemory
): HttpServerResponse.HttpServerResponse => {
  const owing = <A extends string | Uint8Array>(body: A): A => {
    if (body.length > FREE_BYTES) held().owe(body.length)
    return body
  }
  if (!(answer instanceof Reply))
    return textResponse(owing(JSON.stringify(answer)), {
      status: operation.success.status,
      headers,
      contentType: "application/json"
    })
  const options = {
    status: answer.status,
    headers: { ...headers, ...(answer.type.startsWith("text/html") ? pageHeaders : {}), ...answer.headers },
    contentType: answer.type
  }
  if (typeof answer.body === "string") return textResponse(owing(answer.body), options)
  if (answer.body instanceof Readable)
    return HttpServerResponse.raw(answer.body, {
      status: answer.status,
      headers: { ...headers, ...answer.headers, "content-type": answer.type }
    })
  return HttpServerResponse.uint8Array(owing(answer.body), options)
}

const sessionOf = (headers: IncomingMessage["headers"]): string | undefined => {
  const value = headers["x-svc-session-id"]
  return typeof value === "string" && value.trim() !== "" ? value : undefined
}
interface Known {
  readonly key: Pick<KeyRecord, "origins">
  readonly rate: Caller["rate"]
}
/** Of every answer to a known key, refusals included. */
const headersOf = (known: Known | undefined, node: IncomingMessage): Record<string, string> => {
  const origin = originOf(node.headers)
  const headers: Record<string, string> =
    node.headers.upgrade === undefined ? {} : { ...edgeHeaders(String(node.headers["x-request-id"])) }
  if (known === undefined) return headers
  const { key, rate } = known
  if (rate !== undefined) {
    headers["x-ratelimit-limit"] = String(rate.limit)
    headers["x-ratelimit-remaining"] = String(rate.remaining)
    headers["x-ratelimit-reset"] = new Date(rate.resets_at).toISOString()
  }
  if (key.origins.length > 0 && origin !== undefined) {
    headers["access-control-allow-origin"] = origin
    headers.vary = "origin"
  }
  return headers
}

/**
 * What the request names is within the key's reach; nothing is looked up before that. Only for keys that do not reach
 * everything.
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

const pathOf = (url: string): string => {
  const mark = url.indexOf("?")
  return mark < 0 ? url : url.slice(0, mark)
}

export interface RouteOptions {
  /** CIDR ranges of proxies in front, whose word about the client's address counts; none when absent. */
  readonly trustedProxies?: ReadonlyArray<string>
  /** What requests may hold in memory together (`request-memory.ts`). */ readonly requestBytesMax?: number
  /** Which collections the operations touch, where they are others than the API's. */ readonly reaches?: Readonly<
    Record<string, Reach>
  >
}

/** Whose change it is; undefined for what changes nothing that is audited. */
const actorOf = (
  operation: Operation,
  caller: Caller | undefined,
  consoleCaller: ConsoleCaller | undefined
): Actor | undefined => {
  if (operation.method === "GET" || operation.scope === "search" || operation.scope === "public") return undefined
  if (caller !== undefined) return { type: "key", id: caller.key.id }
  return consoleCaller?.type === "member" ? { type: "member", id: consoleCaller.member.id } : { type: "operator" }
}

/** One request on its way to its answer. */
class Exchange {
  readonly node: IncomingMessage
  readonly params: Record<string, string> = {}
  readonly search: Record<string, string>
  readonly searchText: string
  readonly requestId: string
  readonly origin: string | undefined
  readonly address: string
  /** Whose it is, once that is known: an organization, or nobody's. */ holder = ""
  known: Known | undefined
  /** A body can be read once; a handler may look at it twice. */ read: Buffer | undefined
  /** A body that is read as it comes. */ streamed: Readable | undefined
  check: Effect.Effect<Caller, DeclaredError> = Effect.never
  readonly held: () => HeldMemory

  constructor(
    request: HttpServerRequest.HttpServerRequest,
    memory: RequestMemory,
    trustedProxies: ReadonlyArray<string>
  ) {
    const node = (this.node = NodeHttpServerRequest.toIncomingMessage(request) as IncomingMessage)
    const { text, values } = searchOf(node.url ?? "/")
    this.search = values
    this.searchText = text
    this.requestId = String(node.headers["x-request-id"])
    this.origin = originOf(node.headers)
    this.address = clientAddress(node.socket.remoteAddress ?? "", node.headers["x-forwarded-for"], trustedProxies)
    let opened: HeldMemory | undefined
    const held = () => {
      if (opened !== undefined) return opened
      const response = NodeHttpServerRequest.toServerResponse(request) as ServerResponse
      const account = (opened = memory.open(this.holder, () => response.destroy()))
      // Its end, whoever made it: all is sent, or nobody is there any more.
      if (response.destroyed || response.writableFinished) account.close()
      else response.once("close", () => account.close())
      return account
    }
    // Not at once: a function that is written where a property is set is made for long (`ARCHITECTURE.md`).
    this.held = held
  }
}
const bodyOf = (exchange: Exchange, bytes_max: number): Effect.Effect<Buffer, InputInvalid | Throttled> =>
  Effect.suspend(() =>
    exchange.read === undefined
      ? Effect.map(bodyBytes(exchange.node, bytes_max, exchange.held), (body) => (exchange.read = body))
      : Effect.succeed(exchange.read)
  )

/** Routes for the given operations. Needs `Access` once, when built; nothing per request. */
export const routesOf = (
  implemented: ReadonlyArray<Implemented>,
  { reaches, requestBytesMax, trustedProxies = [] }: RouteOptions = {}
) =>
  Effect.gen(function* () {
    const context = yield* Effect.context<never>()
    const memory = new RequestMemory({
      bytesMax: requestBytesMax,
      onCutOff: (organization) => {
        Effect.runForkWith(context)(
          Effect.logWarning(
            `Answers that are not read hold too much memory; one of ${organization || "no organization"} was cut off`
          )
        )
      }
    })
    const access = yield* Access
    const operator = yield* OperatorAuth
    const consoles = yield* Console
    return implemented.map(({ handler, operation, role: least }) => {
      const decodeQuery = operation.query === undefined ? undefined : decoderOf(operation.query, { closed: false })
      const decodePayload =
        operation.payload === undefined || !operation.payloadIsChecked
          ? undefined
          : decoderOf(operation.payload, { closed: true })
      const place = `${operation.method} ${operation.path}`
      const names = paramsOf(operation.path)
      const reach = reachOf(operation, reaches)
      if (operation.scope === "console" && least === undefined)
        throw new Error(`No room says which role reaches ${operation.id}`)
      // One generator function for all requests: one made in each would keep what it captures until a full collection
      // (`ARCHITECTURE.md`).
      const answered = Effect.fnUntraced(function* (exchange: Exchange) {
        const { address, held, node, origin, params, requestId, search, searchText } = exchange
        const bytes = bodyOf(exchange, operation.bodyBytesMax)
        const consoleCaller =
          operation.scope === "console" && least !== undefined
            ? yield* consoles.check({
                bearer: bearer(node.headers),
                headers: node.headers,
                isRead: operation.method === "GET",
                organizationId: names.includes("organizationId") ? params.organizationId : undefined,
                least
              })
            : undefined
        const caller =
          operation.scope === "public" || consoleCaller !== undefined
            ? undefined
            : operation.scope === "operator"
              ? yield* operator.check(bearer(node.headers))
              : yield* (exchange.check = access.check({
                  key: presentedKey(operation, node.headers, search),
                  scope: operation.scope,
                  address,
                  origin,
                  collection: params.collectionName,
                  isOfAll: reach === "organization",
                  sessionId: sessionOf(node.headers),
                  isRateFree: operation.isRateFree,
                  isGateway: operation.plane === "gateway",
                  onKey: (key, rate) => {
                    exchange.known = { key, rate }
                  }
                }))
        exchange.holder = caller?.organizationId ?? params.organizationId ?? ""
        const unnamed = unnameable(operation, params, search)
        if (unnamed !== undefined) return yield* inputInvalid(unnamed, notStorable)
        if (typeof reach === "function" && caller !== undefined && !reachesEverything(caller))
          yield* namesReached(caller, reach, search, yield* bytes)
        // Asked for with the query or the body, which a handler reads after it found its resource (contract part 0).
        const inSession = <A, E>(read: Effect.Effect<A, E>): Effect.Effect<A, E> =>
          operation.isAi && caller?.scope === "search" && caller.sessionId === undefined
            ? (Effect.fail(
                new SessionRequired({ message: "Header `X-SVC-SESSION-ID` is required." })
              ) as unknown as Effect.Effect<A, E>)
            : read
        const actor = actorOf(operation, caller, consoleCaller)
        const handled = handler({
          caller: caller as Caller,
          again: exchange.check,
          consoleCaller: consoleCaller as ConsoleCaller,
          params,
          search,
          searchText,
          headers: node.headers,
          address,
          isEncrypted: (node.socket as { readonly encrypted?: boolean }).encrypted === true,
          query: inSession(decodeQuery === undefined ? Effect.succeed(search) : decodeQuery(search)),
          payload: Effect.flatMap(inSession(bytes), (body) => {
            const json = parseJson(operation, body)
            return decodePayload === undefined ? json : Effect.flatMap(json, decodePayload)
          }),
          bytes: inSession(bytes),
          stream: Effect.tap(inSession(bodyStream(node, held)), (stream) =>
            Effect.sync(() => {
              exchange.streamed = stream
            })
          ),
          held
        })
        const answer = yield* actor === undefined
          ? handled
          : Effect.provideService(handled, CurrentOrigin, { actor, requestId, operation: operation.id })
        return toResponse(operation, answer, headersOf(exchange.known, node), held)
      })
      const failed = (
        cause: Cause.Cause<unknown>,
        plane: Plane,
        requestId: string,
        at: string,
        headers: Readonly<Record<string, string>>,
        { node, streamed }: Exchange
      ) => {
        if (streamed !== undefined) discardRest(node, streamed)
        return causeResponse(cause, plane, requestId, at, headers)
      }
      const handle = (
        request: HttpServerRequest.HttpServerRequest,
        raw: Readonly<Record<string, string | undefined>>
      ) => {
        const exchange = new Exchange(request, memory, trustedProxies)
        for (const name of names) exchange.params[name] = raw[name] ?? ""
        return Effect.catchCause(answered(exchange), (cause) =>
          failed(cause, operation.plane, exchange.requestId, place, headersOf(exchange.known, exchange.node), exchange)
        )
      }
      return HttpRouter.route(
        operation.method,
        operation.path,
        Effect.flatMap(HttpRouter.params, (raw) =>
          Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => handle(request, raw))
        )
      )
    })
  })

/** What no operation answers: 401 first, then 404 in the plane's shape (contract part 7). */
export const unmatchedRoute = ({ trustedProxies = [] }: RouteOptions = {}) =>
  Effect.gen(function* () {
    const access = yield* Access
    return HttpRouter.route(
      "*",
      "/*",
      Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
        const node = NodeHttpServerRequest.toIncomingMessage(request) as IncomingMessage
        const path = pathOf(node.url ?? "/")
        const plane = planeOfPath(path)
        const { values: search } = searchOf(node.url ?? "/")
        const key = presentedKey({ plane, scope: "search" }, node.headers, search)
        const isApi = path.startsWith("/v1") || path.startsWith("/api/v1")
        let known: Known | undefined
        const checked = !isApi
          ? Effect.void
          : access.check({
              key,
              scope: "search",
              address: clientAddress(node.socket.remoteAddress ?? "", node.headers["x-forwarded-for"], trustedProxies),
              origin: originOf(node.headers),
              collection: undefined,
              sessionId: undefined,
              isRateFree: false,
              isGateway: plane === "gateway",
              onKey: (key, rate) => {
                known = { key, rate }
              }
            })
        const program = Effect.andThen(checked, Effect.fail(new NotFound({ message: "Not Found" })))
        return Effect.catchCause(program, (cause) =>
          causeResponse(cause, plane, String(node.headers["x-request-id"]), path, headersOf(known, node))
        )
      })
    )
  })
