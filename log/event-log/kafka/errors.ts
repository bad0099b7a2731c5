/** Finds the broker's reason inside the client's errors, which wrap it once or twice. */

/** The broker's name for an error; empty if it contains none. */
export const errorTypeOf = (error: unknown): string => {
  const { cause, originalError, type } = (error ?? {}) as {
    readonly type?: unknown
    readonly cause?: unknown
    readonly originalError?: unknown
  }
  if (typeof type === "string") return type
  const inner = originalError ?? cause
  return inner === undefined || inner === error ? "" : errorTypeOf(inner)
}
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
