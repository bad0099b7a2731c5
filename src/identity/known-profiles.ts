/**
 * The search profile that a short-lived key is bound to, and whether it still exists. The room of profiles provides
 * this check; without it no such key is accepted.
 */
import { Context } from "effect"

/** A profile is identified by its id: one with the same name created later is a different one. */
export interface ProfilePin {
  readonly id: string
  readonly name: string
  /** The collection's own name, not an alias. */ readonly collection: string
}
export const KnownProfiles = Context.Reference<{
  readonly has: (organizationId: string, pin: ProfilePin) => boolean
}>("dowser/identity/KnownProfiles", { defaultValue: () => ({ has: () => false }) })
