/** Storage limits of a namespace, passed by its host with each write. */
/**
 * What one namespace may store; an absent number means no limit. The writer passes it along, because an engine knows no
 * plans; refusals name `plan`. Writes that only shrink or replace documents are never refused.
 */
export interface KeepLimits {
  readonly plan: string
  readonly collections?: number
  /** Including declared fields, patterns and detected fields. */ readonly fields_per_collection?: number
  readonly documents?: number
  /** Bytes of documents as stored. */ readonly stored_bytes?: number
}
export type KeptThing = Exclude<keyof KeepLimits, "plan">
