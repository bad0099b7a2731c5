/**
 * One operation of the API as a value: address, plane, scope, schemas, limits. Routes, the OpenAPI document, the
 * typed client and the tests that cover every operation all read the same list; nothing else declares an address.
 */
import { Schema } from "effect"
import type { Declared, DeclaredError, ErrorsOf } from "./declared.ts"
import type { Plane } from "./plane.ts"
import type { CommonRefusal } from "./refusals.ts"

/**
 * `public` needs no key; `search` accepts a search key; `connector_write` a connector's key; `installation` only the
 * key of a CMS installation; `full` needs a full key; `operator` needs the operator's token (console API); `console`
 * needs that token, or the session of a member of the organization in the path whose role allows the operation
 * (`roles` of its room).
 */
export type Scope = "public" | "search" | "connector_write" | "installation" | "full" | "operator" | "console"
type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
type AnyCodec = Schema.Codec<unknown, unknown, never, never>
/** How a body is sent; `jsonl` and `event_stream` are read and written as they arrive, `bytes` is a raw file. */
type PayloadType = "json" | "jsonl" | "bytes"
type SuccessType = "json" | "jsonl" | "event_stream" | "web_socket" | "text" | "html" | "bytes"

/**
 * A request that succeeds for an organization in which everything that it names exists.
 * `test/contract/examples.test.ts` creates such an organization and sends every example.
 */
interface Example {
  /** Path parameters by name; ids that the program generates come from `sample-ids.ts`. */ readonly params?: Readonly<
    Record<string, string>
  >
  readonly query?: Readonly<Record<string, string>>
  /** In addition to the header with the key. */ readonly headers?: Readonly<Record<string, string>>
  /** A JSON value, or the text of any other body. */ readonly body?: unknown
}
type NamesIn<P extends string> = P extends `${string}/:${infer Name}/${infer Rest}`
  ? Name | NamesIn<`/${Rest}`>
  : P extends `${string}/:${infer Name}`
    ? Name
    : never
/** Schemas of some of the names in the path; a parameter without one is any text. */
type ParamSchemas<P extends string> = { readonly [Name in NamesIn<P>]?: Schema.Codec<unknown, string, never, never> }
/** What a handler receives for the names in the path, and for no other name. */
type ParamsOf<P extends string, PS> = {
  readonly [Name in NamesIn<P>]: Name extends keyof PS
    ? PS[Name] extends Schema.Codec<infer A, string, never, never>
      ? A
      : string
    : string
}
/** For one operation: every name of its path has a value, query and body match its schemas. */
type ExampleOf<P extends string, Q extends AnyCodec, B extends AnyCodec> = {
  readonly query?: Q["Encoded"] & Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: B["Encoded"] | string
} & ([NamesIn<P>] extends [never]
  ? { readonly params?: undefined }
  : { readonly params: { readonly [Name in NamesIn<P>]: string } })
/** What a room's `examples.ts` contains for each of its operations. */
export interface Described {
  readonly description: string
  readonly example: Example
}

/** `E`: every failure, including the refusals of its scope. */
export interface Operation<
  Q = unknown,
  B = unknown,
  S = unknown,
  P = unknown,
  E extends DeclaredError = DeclaredError,
  Sc extends Scope = Scope
> {
  /** The operation's name in the OpenAPI document. */ readonly id: string
  readonly group: string
  readonly summary: string
  /** What it does, its limits and its refusals, in plain sentences. The document adds who may call it, from `scope`. */
  readonly description: string
  readonly example: Example
  readonly method: Method
  /** `/v1/collections/:collectionName`. */ readonly path: `/${string}`
  readonly plane: Plane
  readonly scope: Sc
  /** Path parameters by name; those without a schema accept any text. */
  readonly params: { readonly [Name in keyof P]?: Schema.Codec<P[Name], unknown, never, never> }
  readonly query: Schema.Codec<Q, unknown, never, never> | undefined
  readonly payload: Schema.Codec<B, unknown, never, never> | undefined
  /** The engine validates the payload itself and returns its own messages; the schema is only for the document. */
  readonly payloadIsChecked: boolean
  readonly payloadType: PayloadType | "none"
  /** Media types of the body, the usual one first. */ readonly payloadMedia: ReadonlyArray<string>
  readonly success: {
    readonly status: number
    readonly schema: Schema.Codec<S, unknown, never, never> | undefined
    readonly type: SuccessType
    /** Media types of the response, the usual one first. */ readonly media: ReadonlyArray<string>
    /** Returned instead if the request created the resource. */ readonly created?: 201
  }
  readonly bodyBytesMax: number
  /** Errors of this operation in addition to the common refusals (`refusals.ts`). */
  readonly errors: ReadonlyArray<Declared<E>>
  /** Does not count towards the per-key rate. */ readonly isRateFree: boolean
  /** An AI operation: with a search key it needs a session, which is checked before query and body are read. */
  readonly isAi: boolean
}

/** 5 MB. */
export const BODY_BYTES_MAX_DEFAULT = 5_000_000

/**
 * Media types of a body unless the operation says otherwise. JSON Lines are read under any type; clients of the
 * engine send `text/plain`.
 */
const usualPayloadMedia: Readonly<Record<PayloadType, ReadonlyArray<string>>> = {
  json: ["application/json"],
  jsonl: ["text/plain", "application/x-ndjson"],
  bytes: ["application/octet-stream"]
}
const usualSuccessMedia: Readonly<Record<SuccessType, string>> = {
  json: "application/json",
  jsonl: "application/x-ndjson",
  event_stream: "text/event-stream",
  /** The media type of each frame. */ web_socket: "application/json",
  text: "text/plain",
  html: "text/html",
  bytes: "application/octet-stream"
}

interface OperationOptions<
  P extends `/${string}`,
  Q extends AnyCodec,
  B extends AnyCodec,
  S extends AnyCodec,
  PS extends ParamSchemas<P>,
  Sc extends Scope,
  Es extends ReadonlyArray<Declared>
> {
  readonly id: string
  readonly group: string
  readonly summary: string
  readonly description: string
  readonly example: ExampleOf<P, Q, B>
  readonly method: Method
  readonly path: P
  /** The type of each path parameter by name; those without a schema accept any text. */
  readonly params?: PS & { readonly [Name in Exclude<keyof PS, NamesIn<P>>]: never }
  readonly plane: Plane
  readonly scope: Sc
  readonly query?: Q
  readonly payload?: B
  readonly payloadIsChecked?: boolean
  readonly payloadType?: PayloadType
  readonly payloadMedia?: ReadonlyArray<string>
  readonly success?: S
  readonly status?: number
  readonly successType?: SuccessType
  /**
   * Several if the caller chooses, such as `["application/json", "text/event-stream"]`; JSON is then as `success` says.
   */
  readonly successMedia?: ReadonlyArray<string>
  /** May also return 201, with the same body. */ readonly creates?: boolean
  readonly bodyBytesMax?: number
  readonly errors?: Es
  readonly isRateFree?: boolean
  readonly isAi?: boolean
}

export const operation = <
  P extends `/${string}`,
  Q extends AnyCodec = typeof Schema.Unknown,
  B extends AnyCodec = typeof Schema.Unknown,
  S extends AnyCodec = typeof Schema.Unknown,
  PS extends ParamSchemas<P> = {},
  Sc extends Scope = Scope,
  const Es extends ReadonlyArray<Declared> = readonly []
>(
  options: OperationOptions<P, Q, B, S, PS, Sc, Es>
): Operation<Q["Type"], B["Type"], S["Type"], ParamsOf<P, PS>, ErrorsOf<Es> | CommonRefusal<Sc>, Sc> => ({
  id: options.id,
  group: options.group,
  summary: options.summary,
  description: options.description,
  example: options.example as Example,
  method: options.method,
  path: options.path,
  plane: options.plane,
  scope: options.scope,
  params: (options.params ?? {}) as Operation<unknown, unknown, unknown, ParamsOf<P, PS>>["params"],
  query: options.query as Operation<Q["Type"], B["Type"], S["Type"]>["query"],
  payload: options.payload as Operation<Q["Type"], B["Type"], S["Type"]>["payload"],
  payloadIsChecked: options.payloadIsChecked ?? true,
  payloadType: options.payload === undefined ? "none" : (options.payloadType ?? "json"),
  payloadMedia: options.payloadMedia ?? usualPayloadMedia[options.payloadType ?? "json"],
  success: {
    status: options.status ?? 200,
    schema: options.success as Operation<Q["Type"], B["Type"], S["Type"]>["success"]["schema"],
    type: options.successType ?? "json",
    media: options.successMedia ?? [usualSuccessMedia[options.successType ?? "json"]],
    ...(options.creates === true ? { created: 201 as const } : {})
  },
  bodyBytesMax: options.bodyBytesMax ?? BODY_BYTES_MAX_DEFAULT,
  errors: (options.errors ?? []) as ReadonlyArray<Declared<ErrorsOf<Es> | CommonRefusal<Sc>>>,
  isRateFree: options.isRateFree ?? false,
  isAi: options.isAi ?? false
})

/** Names of the `:params` in a path, in order. */
export const paramsOf = (path: string): ReadonlyArray<string> =>
  [...path.matchAll(/:([A-Za-z_]+)/g)].map((match) => match[1]!)

/** All parameters of the path as one schema. */
export const paramsSchema = ({ params, path }: Pick<Operation, "params" | "path">) => {
  const given = new Map<string, Schema.Codec<unknown, string, never, never>>(Object.entries(params))
  return Schema.Struct(Object.fromEntries(paramsOf(path).map((name) => [name, given.get(name) ?? Schema.String])))
}

/** Whether the key is sent in `Authorization`. */
export const isBearer = ({ plane, scope }: Pick<Operation, "plane" | "scope">): boolean =>
  plane === "gateway" || scope === "operator" || scope === "installation"
