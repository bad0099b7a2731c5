/**
 * One operation of the API as a value: address, plane, scope, schemas, bounds. Routes, the OpenAPI document, the typed
 * client and the tests that walk every operation all read the same list; nothing else declares an address.
 */
import { Schema } from "effect"
import type { Plane } from "./plane.ts"

/**
/**
 * `public` needs no key; `search` is reachable with a search key (SK in the specification); `connector_write` with a
 * connector's; `installation` with the key of a CMS installation alone; `full` needs a full key; `operator` needs the
 * operator's token (console API); `console` needs it, or the session of a member of the organization in the path whose
 * role reaches the operation (`roles` of its room).
 */
export type Scope = "public" | "search" | "connector_write" | "installation" | "full" | "operator" | "console"
export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
type AnyCodec = Schema.Codec<unknown, unknown, never, never>

export interface Operation<Q = unknown, B = unknown, S = unknown> {
  /** The operation's name in the specification, or one in its manner. */ readonly id: string
  readonly group: string
  readonly summary: string
  readonly method: Method
  /** `/v1/collections/:collectionName`. */ readonly path: `/${string}`
  readonly plane: Plane
  readonly scope: Scope
  readonly query: Schema.Codec<Q, unknown, never, never> | undefined
  readonly payload: Schema.Codec<B, unknown, never, never> | undefined
  /** The engine validates the payload itself and answers in its own words; the schema is for the document only. */
  readonly payloadIsChecked: boolean
  readonly payloadType: "json" | "jsonl" | "none"
  readonly success: { readonly status: number; readonly schema: Schema.Codec<S, unknown, never, never> | undefined; readonly type: "json" | "text" | "html"; /** Answered instead where the request made the thing. */ readonly created?: 201 }
  readonly bodyBytesMax: number
  /** Statuses that this operation can answer beside the common refusals. */ readonly errors: ReadonlyArray<number>
  /** Not counted by the per-key rate (spec part 8). */ readonly isRateFree: boolean
  /** An AI operation: with a search key it needs a session (spec part 5), which is asked for before query and body are read. */ readonly isAi: boolean
}

/** 5 MB (contract part 0). */
export const bodyBytesMaxDefault = 5_000_000

export interface OperationOptions<Q extends AnyCodec, B extends AnyCodec, S extends AnyCodec> {
  readonly id: string
  readonly group: string
  readonly summary: string
  readonly method: Method
  readonly path: `/${string}`
  readonly plane: Plane
  readonly scope: Scope
  readonly query?: Q
  readonly payload?: B
  readonly payloadIsChecked?: boolean
  readonly payloadType?: "json" | "jsonl"
  readonly success?: S
  readonly status?: number
  readonly successType?: "json" | "text" | "html"
  /** Answers 201 too, with the same body. */ readonly creates?: boolean
  readonly bodyBytesMax?: number
  readonly errors?: ReadonlyArray<number>
  readonly isRateFree?: boolean
  readonly isAi?: boolean
}

export const operation = <Q extends AnyCodec = typeof Schema.Unknown, B extends AnyCodec = typeof Schema.Unknown, S extends AnyCodec = typeof Schema.Unknown>(
  options: OperationOptions<Q, B, S>
): Operation<Q["Type"], B["Type"], S["Type"]> => ({
  id: options.id,
  group: options.group,
  summary: options.summary,
  method: options.method,
  path: options.path,
  plane: options.plane,
  scope: options.scope,
  query: options.query as Operation<Q["Type"], B["Type"], S["Type"]>["query"],
  payload: options.payload as Operation<Q["Type"], B["Type"], S["Type"]>["payload"],
  payloadIsChecked: options.payloadIsChecked ?? true,
  payloadType: options.payload === undefined ? "none" : options.payloadType ?? "json",
  success: { status: options.status ?? 200, schema: options.success as Operation<Q["Type"], B["Type"], S["Type"]>["success"]["schema"], type: options.successType ?? "json", ...(options.creates === true ? { created: 201 as const } : {}) },
  bodyBytesMax: options.bodyBytesMax ?? bodyBytesMaxDefault,
  errors: options.errors ?? [],
  isRateFree: options.isRateFree ?? false,
  isAi: options.isAi ?? false
})

/** Names of the `:params` in a path, in order. */
export const paramsOf = (path: string): ReadonlyArray<string> => [...path.matchAll(/:([A-Za-z_]+)/g)].map((match) => match[1])

/** Whether the key stands in `Authorization`. */
export const isBearer = ({ plane, scope }: Pick<Operation, "plane" | "scope">): boolean => plane === "gateway" || scope === "operator" || scope === "installation"
