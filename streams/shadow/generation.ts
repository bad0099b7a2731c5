/**
 * Which generation of a partition's state a store holds. Postgres counts one up when an organization's part is
 * exchanged (`adoptShadow`); a store that says less was left before that, here or in another process, and is rebuilt
 * from the log.
 */
import type { StateStore } from "../state/state.ts"

/** Behind every prefix of a processor. */
const GENERATION = "\u0002generation"

export const generationOf = (store: StateStore): number => {
  const stored = store.get(GENERATION)
  return stored === undefined ? 0 : Number(Buffer.from(stored).toString())
}
export const generationWrite = (generation: number): readonly [string, Uint8Array] => [
  GENERATION,
  Buffer.from(String(generation))
]
