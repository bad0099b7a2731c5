/**
 * The actor of a change: set for a request that may change something once its caller is known (`src/api/route.ts`),
 * and read when the change is recorded. Without a request, the actor is the system.
 */
import { Context } from "effect"

export type Actor =
  | { readonly type: "key"; readonly id: string }
  | { readonly type: "member"; readonly id: string }
  | { readonly type: "operator" }
  | { readonly type: "system" }

export interface Origin {
  readonly actor: Actor
  readonly requestId: string | undefined
  /** Id of the API operation. */ readonly operation: string | undefined
}

export const systemOrigin: Origin = { actor: { type: "system" }, requestId: undefined, operation: undefined }
export const CurrentOrigin = Context.Reference<Origin>("dowser/audit/CurrentOrigin", {
  defaultValue: () => systemOrigin
})
