/** What a namespace may keep, as its host says it with each write. */
/**
 * What one namespace may keep; a number that is absent is no limit. Whoever writes gives it along, because an engine
 * knows no plans; `plan` is what refusals call it. What only shrinks or replaces is never refused.
 */
export interface KeepLimits {
  readonly plan: string
  readonly collections?: number
  /** Declared, patterns and detected ones. */ readonly fields_per_collection?: number
  readonly documents?: number
  /** Of documents as they are stored. */ readonly stored_bytes?: number
}
export type KeptThing = Exclude<keyof KeepLimits, "plan">
