/** The rooms of one process that cache configuration, and how each reads its rows again. */
import { Effect } from "effect"
import type { SqlError } from "effect/sql"
import { type Change, type ConfigurationKind, type Subject, subjectsByKind } from "./change.ts"
import { Damages } from "./damages.ts"

/**
 * Reads the given rows, or all, into memory, and drops those that no longer exist. Memory changes in one step, after
 * the read.
 */
export type Load = (subjects: ReadonlyArray<Subject> | "all") => Effect.Effect<void, SqlError.SqlError>

/** Must not be used by several fibers at a time, because a read that began earlier must not end later. */
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
