/**
 * Which secrets of an endpoint sign at a given time. Pure; the texts are sealed. After a rotation the new secret and
 * the old one are both valid for 24 h, so that a receiver can be changed without a gap.
 */
export const ROTATION_MS = 24 * 3_600_000
/**
 * Each valid secret adds a signature to every delivery. Decision: further rotations within 24 h are refused, because
 * dropping a secret early would break the promise.
 */
export const SECRETS_MAX = 4

export interface StoredSecret {
  readonly sealed: string
  /** Unix milliseconds; absent for the newest, which does not expire. */ readonly valid_until?: number
}

/** Newest first. */
export const validSecrets = (secrets: ReadonlyArray<StoredSecret>, now: number): ReadonlyArray<StoredSecret> =>
  secrets.filter(({ valid_until }) => valid_until === undefined || valid_until > now)

/** Undefined if too many are still valid. */
export const rotatedSecrets = (
  secrets: ReadonlyArray<StoredSecret>,
  sealed: string,
  now: number
): ReadonlyArray<StoredSecret> | undefined => {
  const kept = validSecrets(secrets, now).map((secret) => ({
    ...secret,
    valid_until: secret.valid_until ?? now + ROTATION_MS
  }))
  return kept.length >= SECRETS_MAX ? undefined : [{ sealed }, ...kept]
}

/** When the last of the older secrets expires; undefined if only the newest is valid. */
export const previousValidUntil = (secrets: ReadonlyArray<StoredSecret>, now: number): number | undefined =>
  validSecrets(secrets, now).reduce<number | undefined>(
    (latest, { valid_until }) => (valid_until === undefined ? latest : Math.max(latest ?? 0, valid_until)),
    undefined
  )
