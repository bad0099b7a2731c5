/**
 * Which generation of a partition's state a store has. Postgres increments it when an organization's part is exchanged
 * (`adoptShadow`); a store with a lower number is from before that, in this process or another, and is rebuilt from the
 * log.
 */
import type { StateStore } from "../state/state.ts"

/** Sorts after every prefix of a processor. */
const GENERATION = "\u0002generation"

export const generationOf = (store: StateStore): number => {
  const stored = store.get(GENERATION)
  return stored === undefined ? 0 : Number(Buffer.from(stored).toString())
}
export const generationWrite = (generation: number): readonly [string, Uint8Array] => [
  GENERATION,
  Buffer.from(String(generation))
]
