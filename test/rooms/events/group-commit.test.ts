/** Groups of requests that share a commit, without events and without a log. */
import { it } from "@effect/vitest"
import { Clock, Deferred, Effect, Exit, Fiber, Latch } from "effect"
import { describe, expect, it as plain } from "vitest"
import { GroupCommit, requestsWithin, type PendingRequest } from "../../../src/events/intake/group-commit.ts"

interface Work extends PendingRequest<string, never> {
  readonly name: string
}
const work = (name: string, size: number): Work => ({ name, size, cameAt: 0, done: Deferred.makeUnsafe() })
const bounds = { requestsMax: 3, sizeMax: 100, groupSizeMax: 10 }

/** Commits that wait for `gate`, and the names in each committed group. */
const committing = Effect.gen(function* () {
  const groups: Array<ReadonlyArray<string>> = []
  const gate = yield* Latch.make()
  const commits = new GroupCommit<string, never, Work>(bounds, yield* Clock.Clock, yield* Latch.make(), (group) =>
    Effect.andThen(
      gate.await,
      Effect.sync(() => {
        groups.push(group.map(({ name }) => name))
        for (const { done, name } of group) Deferred.doneUnsafe(done, Effect.succeed(name))
      })
    )
  )
  return { commits, gate, groups }
})

describe("a group", () => {
  plain("contains requests up to about its size, and at least one", () => {
    const sizes = [4, 4, 4, 50, 1].map((size) => ({ size }))
    expect(requestsWithin(sizes, 0, 10)).toBe(3)
    expect(requestsWithin(sizes, 3, 10)).toBe(1)
    expect(requestsWithin(sizes, 4, 10)).toBe(1)
    expect(requestsWithin(sizes, 5, 10)).toBe(0)
  })
})

it.live("requests that come during a commit share the next ones, in order", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const { commits, gate, groups } = yield* committing
      yield* Effect.forkScoped(commits.loop)
      const first = yield* Effect.forkChild(commits.add(work("a", 1)))
      yield* Effect.sleep(20)
      const others = yield* Effect.forEach([work("b", 6), work("c", 6), work("d", 1)], (one) =>
        Effect.forkChild(commits.add(one))
      )
      yield* Effect.sleep(5)
      gate.openUnsafe()
      expect(yield* Effect.forEach([first, ...others], Fiber.join)).toEqual(["a", "b", "c", "d"])
      expect(groups).toEqual([["a"], ["b", "c"], ["d"]])
    })
  )
)

it.live("a group has room for three requests and a size of a hundred, and always for one request", () =>
  Effect.gen(function* () {
    const { commits, gate, groups } = yield* committing
    expect(commits.hasRoom(1_000)).toBe(true)
    yield* Effect.forkChild(commits.add(work("a", 90)), { startImmediately: true })
    expect([commits.hasRoom(10), commits.hasRoom(11)]).toEqual([true, false])
    yield* Effect.forkChild(commits.add(work("b", 1)), { startImmediately: true })
    yield* Effect.forkChild(commits.add(work("c", 1)), { startImmediately: true })
    expect(commits.hasRoom(0)).toBe(false)
    gate.openUnsafe()
    yield* commits.drain
    expect(groups).toEqual([["a"], ["b", "c"]])
    expect(commits.hasRoom(1_000)).toBe(true)
  })
)

it.live("a group that was taken is finished although the loop is interrupted", () =>
  Effect.gen(function* () {
    const { commits, gate, groups } = yield* committing
    const loop = yield* Effect.forkChild(commits.loop)
    const asked = yield* Effect.forkChild(commits.add(work("a", 1)))
    yield* Effect.sleep(20)
    const stopped = yield* Effect.forkChild(Fiber.interrupt(loop))
    yield* Effect.sleep(5)
    gate.openUnsafe()
    yield* Fiber.join(stopped)
    expect(Exit.isSuccess(yield* Fiber.await(asked))).toBe(true)
    expect(groups).toEqual([["a"]])
  })
)
