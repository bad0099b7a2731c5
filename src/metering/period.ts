/**
 * Decision: a quota's period is a calendar month of UTC; a session's AI allowance is per clock hour; bytes of events
 * are per day of UTC.
 */
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

export interface Period {
  readonly started_at: number
  readonly ends_at: number
}

export const monthOf = (now_ms: number): Period => {
  const at = new Date(now_ms)
  return {
    started_at: Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), 1),
    ends_at: Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1)
  }
}
const windowOf = (now_ms: number, length_ms: number): Period => {
  const started_at = Math.floor(now_ms / length_ms) * length_ms
  return { started_at, ends_at: started_at + length_ms }
}
export const hourOf = (now_ms: number): Period => windowOf(now_ms, HOUR_MS)
export const dayOf = (now_ms: number): Period => windowOf(now_ms, DAY_MS)
