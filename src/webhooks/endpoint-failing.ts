/**
 * When an endpoint counts as failing, and when that has lasted too long. Pure. An endpoint fails from its first
 * unsuccessful attempt until one succeeds; after five days of that it is disabled, and reports this.
 */
export const FAILING_MAX_MS = 5 * 24 * 3_600_000

interface AttemptOutcome {
  readonly isSuccess: boolean
  /** Unix milliseconds. */ readonly at: number
}

/** `failing_since` after these attempts, in the order in which they ended. */
export const failingSince = (before: number | undefined, attempts: ReadonlyArray<AttemptOutcome>): number | undefined =>
  attempts.reduce<number | undefined>((since, { at, isSuccess }) => (isSuccess ? undefined : (since ?? at)), before)

export const isDisabledFor = (failing_since: number | undefined, now: number): boolean =>
  failing_since !== undefined && now - failing_since >= FAILING_MAX_MS

export const disabledReason = (failing_since: number): string =>
  `Every attempt since ${new Date(failing_since).toISOString()} failed: the endpoint was disabled after 5 days. Repair the receiver, then replace the endpoint with \`enabled\`: true and recover what failed.`
