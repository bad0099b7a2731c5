/** Per-key buckets by clock minute (spec part 8): no smoothing, exact, one counter a key. */
export interface RateBuckets {
  /** Takes one request of the key's minute. `limit` 0 = no limit. */
  readonly take: (keyId: string, limit: number, now_ms: number) => { readonly isAllowed: boolean; readonly remaining: number; readonly resets_at: number }
}

/** Counters of past minutes are dropped together when the minute turns: memory is bounded by the keys active in one minute. */
export const makeRateBuckets = (): RateBuckets => {
  let minute = -1
  let used = new Map<string, number>()
  return {
    take: (keyId, limit, now_ms) => {
      const current = Math.floor(now_ms / 60_000)
      if (current !== minute) {
        minute = current
        used = new Map()
      }
      const count = used.get(keyId) ?? 0
      const resets_at = (current + 1) * 60_000
      if (count >= limit) return { isAllowed: false, remaining: 0, resets_at }
      used.set(keyId, count + 1)
      return { isAllowed: true, remaining: limit - count - 1, resets_at }
    }
  }
}
