/** Decision: a quota's period is a calendar month of UTC; a session's AI allowance an hour of the clock. */
const HOUR_MS = 3_600_000

export interface Period { readonly started_at: number; readonly ends_at: number }

export const monthOf = (now_ms: number): Period => {
  const at = new Date(now_ms)
  return { started_at: Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), 1), ends_at: Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1) }
}
export const hourOf = (now_ms: number): Period => {
  const started_at = Math.floor(now_ms / HOUR_MS) * HOUR_MS
  return { started_at, ends_at: started_at + HOUR_MS }
}
