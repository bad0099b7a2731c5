/**
 * Every failure an engine can return, as one closed union. An engine never throws these: it returns them, one per plan
 * or per write, so that one bad item does not affect the others. Anything thrown is a defect.
 */
export type EngineError =
  | Invalid
  | Closed
  | RestrictionNotApplicable
  | NotFound
  | Conflict
  | CapReached
  | Damaged
  | CapabilityMissing
  | Overloaded
  | Unavailable
  | TimedOut

/** The request is wrong. `message` is shown to the caller; `parameter` names what to change. */
export interface Invalid {
  readonly kind: "Invalid"
  readonly message: string
  readonly parameter?: string
}
/** The caller's restrictions exclude the collection, whether or not it exists. */
export interface Closed {
  readonly kind: "Closed"
  readonly message: string
}
/** A filter that the caller's restrictions force on the collection does not fit it, so nothing of it can be shown. */
export interface RestrictionNotApplicable {
  readonly kind: "RestrictionNotApplicable"
  readonly message: string
}
export interface NotFound {
  readonly kind: "NotFound"
  readonly message: string
}
export interface Conflict {
  readonly kind: "Conflict"
  readonly message: string
}
/** The namespace already stores as much as it may (`KeepLimits`): `limit` of `cap`, according to `plan`. */
export interface CapReached {
  readonly kind: "CapReached"
  readonly message: string
  readonly cap: KeptThing
  readonly limit: number
  readonly plan: string
}
/** A collection's stored data cannot be read; others are unaffected. */
export interface Damaged {
  readonly kind: "Damaged"
  readonly message: string
}
/** The engine in use cannot do this exactly, so it refuses instead of ignoring the parameter. */
export interface CapabilityMissing {
  readonly kind: "CapabilityMissing"
  readonly message: string
  readonly capability: Capability
  readonly parameter: string
}
export interface Overloaded {
  readonly kind: "Overloaded"
  readonly message: string
  readonly retryAfterSeconds: number
}
export interface Unavailable {
  readonly kind: "Unavailable"
  readonly message: string
  /** Only this answer was lost; the engine is up, so callers should keep using it. */ readonly isThere?: true
}
export interface TimedOut {
  readonly kind: "TimedOut"
  readonly message: string
  /** As in `Unavailable`. */ readonly isThere?: true
}

import type { Capability } from "./capabilities.ts"
import type { KeepLimits, KeptThing } from "./keep-limits.ts"

/**
 * A failure caused by an invalid request; `parameter` names what is wrong.
 *
 * @example
 * ```ts
 * import { fail, invalid, type Result } from "@dowser/engine-sdk"
 *
 * const refusal: Result<number> = fail(invalid("`page` counts from 1.", "page"))
 * ```
 */
export const invalid = (message: string, parameter?: string): Invalid =>
  parameter === undefined ? { kind: "Invalid", message } : { kind: "Invalid", message, parameter }
/**
 * A failure because something that was named does not exist.
 *
 * @example
 * ```ts
 * import { notFound, statusOf } from "@dowser/engine-sdk"
 *
 * statusOf(notFound("No collection `shoes`.")) // 404
 * ```
 */
export const notFound = (message: string): NotFound => ({ kind: "NotFound", message })
/**
 * A failure because the current state rules the request out.
 *
 * @example
 * ```ts
 * import { conflict, statusOf } from "@dowser/engine-sdk"
 *
 * statusOf(conflict("The collection is there already.")) // 409
 * ```
 */
export const conflict = (message: string): Conflict => ({ kind: "Conflict", message })
/**
 * A failure because a namespace already stores as much as its limits allow.
 *
 * @example
 * ```ts
 * import { capReached } from "@dowser/engine-sdk"
 *
 * const refusal = capReached("collections", { plan: "free", collections: 3 })
 * refusal.limit // 3
 * ```
 */
export const capReached = (cap: KeptThing, { plan, ...limits }: KeepLimits): CapReached => ({
  kind: "CapReached",
  message: `The plan ${plan} includes ${cap} up to ${limits[cap] ?? 0}.`,
  cap,
  limit: limits[cap] ?? 0,
  plan
})

/** A value or a failure, without exceptions and without a dependency. */
export type Result<A, E = EngineError> =
  | { readonly ok: true; readonly value: A }
  | { readonly ok: false; readonly error: E }
/**
 * A result that contains a value.
 *
 * @example
 * ```ts
 * import { ok, type Result } from "@dowser/engine-sdk"
 *
 * const parsed: Result<number> = ok(7)
 * if (parsed.ok) parsed.value // 7
 * ```
 */
export const ok = <A>(value: A): Result<A, never> => ({ ok: true, value })
/**
 * A result that contains a failure.
 *
 * @example
 * ```ts
 * import { fail, invalid, type Result } from "@dowser/engine-sdk"
 *
 * const parsed: Result<number> = fail(invalid("Not a number."))
 * if (!parsed.ok) parsed.error.message // "Not a number."
 * ```
 */
export const fail = <E>(error: E): Result<never, E> => ({ ok: false, error })

/**
 * The status for a failure in a Typesense-compatible import line, multi-search entry or HTTP answer.
 *
 * @example
 * ```ts
 * import { statusOf } from "@dowser/engine-sdk"
 *
 * statusOf({ kind: "NotFound", message: "No document `7`." }) // 404
 * ```
 */
export const statusOf = (error: EngineError): number => {
  switch (error.kind) {
    case "Invalid":
    case "CapabilityMissing":
      return 400
    case "CapReached":
    case "Closed":
    case "RestrictionNotApplicable":
      return 403
    case "NotFound":
      return 404
    case "Conflict":
      return 409
    case "Overloaded":
    case "Damaged":
      return 503
    case "Unavailable":
      return 502
    case "TimedOut":
      return 504
  }
}
