/**
 * One life of the thread that keeps the runs: runs are opened, foreign ones discarded, and the log is followed until
 * the thread ends or a run turns out to be damaged.
 */
import { Deferred, Effect, type Scope } from "effect"
import type { EventLogUnavailable } from "@dowser/log/event-log/event-log"
import { type FollowedLog, foreignRuns, restoreNewest } from "./followed-log.ts"
import { failed, waitFor } from "./log-words.ts"
import type { RunThreadSettings } from "./messages.ts"
import { RunFollower } from "./run-follower.ts"
import { RunThread } from "./run-thread.ts"

/** Changes the tables when nobody is reading them; an exception in `change` makes the thread restart. */
type Guarded = (change: () => void) => void

/** Opens the thread until the scope closes. */
const openThread = (
  { layers }: FollowedLog,
  settings: RunThreadSettings,
  guarded: Guarded
): Effect.Effect<RunThread, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const thread: RunThread = new RunThread(settings, ({ added, removed }) =>
        guarded(() => {
          layers.changed(removed, added)
          thread.release(removed)
        })
      )
      return thread
    }),
    (thread) => Effect.promise(() => thread.close())
  )

/** Selects the runs that belong to this log; they are in use from now on. */
const installRuns = Effect.fnUntraced(function* (
  followed: FollowedLog,
  thread: RunThread,
  guarded: Guarded,
  endOffset: number
) {
  const { discarded, runs } = yield* waitFor(() => thread.opened)
  yield* Effect.forEach(discarded, (reason) =>
    Effect.logWarning(`The dedupe window reads the log again for a run that it threw away: ${reason}`)
  )
  const foreign = yield* foreignRuns(followed, runs, endOffset)
  if (foreign.length > 0) {
    yield* Effect.logWarning(
      `The dedupe window threw away ${foreign.length} runs that do not belong to this log (or are older than it)`
    )
    yield* waitFor(() => thread.discard(foreign))
  }
  const kept = runs.filter(({ name }) => !foreign.includes(name))
  yield* Effect.callback<void>((resume) =>
    guarded(() => {
      followed.layers.install(kept)
      thread.begin()
      resume(Effect.void)
    })
  )
  return kept
})

const follow = Effect.fnUntraced(function* (
  followed: FollowedLog,
  thread: RunThread,
  guarded: Guarded,
  hasStarted: Deferred.Deferred<void>
) {
  const { log, now, reach, topic, windowHours } = followed
  const hints = yield* log.subscribe
  yield* waitFor(() => thread.opened)
  const { endOffset } = yield* log.bounds(topic, 0)
  const first = yield* log.offsetAt(topic, 0, now() - windowHours * 3_600_000)
  const kept = yield* installRuns(followed, thread, guarded, endOffset)
  const covered = Math.max(first, ...kept.map(({ header }) => header.to))
  if (reach.knownTo === 0) {
    reach.hotFrom = reach.knownTo = endOffset
    yield* restoreNewest(followed, covered)
  }
  Deferred.doneUnsafe(hasStarted, Effect.void)
  const follower = new RunFollower(followed, thread, guarded)
  yield* follower.fillGaps(kept, first, Math.min(covered, endOffset))
  return yield* follower.followFrom(covered, hints)
})

/**
 * Fails if the thread or the log does. Succeeds with the name of a run that was found damaged (`damaged`) and removed:
 * the next life reads that part of the log again.
 */
export const threadLife = (
  followed: FollowedLog,
  settings: RunThreadSettings,
  damaged: Deferred.Deferred<string>,
  hasStarted: Deferred.Deferred<void>
): Effect.Effect<string, EventLogUnavailable> =>
  Effect.scoped(
    Effect.gen(function* () {
      const trouble = yield* Deferred.make<never, EventLogUnavailable>()
      const guarded: Guarded = (change) =>
        followed.layers.whenIdle(() => {
          try {
            change()
          } catch (error) {
            Deferred.doneUnsafe(trouble, Effect.fail(failed(error)))
          }
        })
      const thread = yield* openThread(followed, settings, guarded)
      followed.reach.unsealedRows = 0
      const name = yield* Effect.raceFirst(
        Effect.raceFirst(
          follow(followed, thread, guarded, hasStarted),
          Effect.raceFirst(
            waitFor(() => thread.failed),
            Deferred.await(trouble)
          )
        ),
        Deferred.await(damaged)
      )
      yield* waitFor(() => thread.discard([name]))
      return name
    })
  )
