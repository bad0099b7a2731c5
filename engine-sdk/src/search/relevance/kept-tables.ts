/** Bound on the tables that searches derive from a collection for units: requests may name any number of units. */
const TABLES_MAX = 128

/** The most recently used is last; the oldest is evicted when there are too many. */
export const keepTable = (derived: Map<string, unknown>, key: string, table: unknown): void => {
  derived.delete(key)
  derived.set(key, table)
  for (const oldest of derived.keys()) {
    if (derived.size <= TABLES_MAX) return
    derived.delete(oldest)
  }
}
