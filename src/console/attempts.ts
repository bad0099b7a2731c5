/** Attempts to sign in, counted by key in windows, in bounded memory: the key that began first goes when there are too many. Pure but for its own map. */

export interface AttemptsOptions { readonly max: number; readonly window_ms: number; readonly keysMax: number }

export const makeAttempts = ({ keysMax, max, window_ms }: AttemptsOptions) => {
  const counts = new Map<string, { count: number; readonly ends_at: number }>()
  return {
    /** Milliseconds until another attempt is taken; 0 counts this one. */
    take: (key: string, now: number): number => {
      const found = counts.get(key)
      if (found !== undefined && found.ends_at > now) {
        if (found.count >= max) return found.ends_at - now
        found.count++
        return 0
      }
      counts.delete(key)
      if (counts.size >= keysMax) for (const [oldest] of counts) { counts.delete(oldest); break }
      counts.set(key, { count: 1, ends_at: now + window_ms })
      return 0
    },
    /** One attempt was right after all. */
    giveBack: (key: string): void => {
      const found = counts.get(key)
      if (found !== undefined && found.count > 0) found.count--
    },
    forget: (key: string): void => { counts.delete(key) },
    size: (): number => counts.size
  }
}
