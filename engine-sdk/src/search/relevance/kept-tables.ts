/** Tables of a collection that searches make by units, of which requests name as many as they like. */
const TABLES_MAX = 128

/** The last used stands last; the oldest goes when there are too many. */
export const keepTable = (derived: Map<string, unknown>, key: string, table: unknown): void => {
  derived.delete(key)
  derived.set(key, table)
  for (const oldest of derived.keys()) {
    if (derived.size <= TABLES_MAX) return
    derived.delete(oldest)
  }
}
