/** The rooms of one process that remember configuration, and how each reads its rows again. */
import { Effect } from "effect"
import type { SqlError } from "effect/sql"
import { type Change, type ConfigurationKind, type Subject, subjectsByKind } from "./change.ts"
import { Damages } from "./damages.ts"

/**
 * Reads rows into memory, those named or all there are, and forgets those that are gone. Memory changes at once, after
 * the reading.
 */
export type Load = (subjects: ReadonlyArray<Subject> | "all") => Effect.Effect<void, SqlError.SqlError>

/** Not for several fibers at a time: a reading that began earlier must not end later. */
export const makeRooms = () => {
  const loads = new Map<ConfigurationKind, Array<Load>>()
  const damages = new Damages()
  return {
    damages,
    keep: (kind: ConfigurationKind, load: Load) =>
      Effect.suspend(() => {
        loads.set(kind, [...(loads.get(kind) ?? []), load])
        return load("all")
      }),
    load: (changes: ReadonlyArray<Change> | "all"): Effect.Effect<void, SqlError.SqlError> =>
      Effect.suspend(() => {
        const wanted =
          changes === "all" ? new Map([...loads.keys()].map((kind) => [kind, "all" as const])) : subjectsByKind(changes)
        return Effect.forEach(
          wanted,
          ([kind, subjects]) => Effect.forEach(loads.get(kind) ?? [], (load) => load(subjects), { discard: true }),
          { discard: true }
        )
      })
  }
}
