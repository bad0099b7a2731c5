/**
 * The search profile that a short-lived key is bound to, and whether it is still there. The room of profiles gives it;
 * where none does, no such key is let in.
 */
import { Context } from "effect"

/** A profile is meant by its id: one of the same name that was made anew is another. */
export interface ProfilePin {
  readonly id: string
  readonly name: string
  /** The collection's own name. */ readonly collection: string
}
export const KnownProfiles = Context.Reference<{
  readonly has: (organizationId: string, pin: ProfilePin) => boolean
}>("dowser/identity/KnownProfiles", { defaultValue: () => ({ has: () => false }) })
