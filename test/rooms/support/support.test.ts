/** Support threads outside the API: how they end, and how other processes are notified of them. */
import { it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { expect } from "vitest"
import { makeLiveThreads, notifyThread } from "../../../src/support/live.ts"
import { expireThreads, makeSupportRepository, type StoredThread } from "../../../src/support/support-repository.ts"
import { atTime } from "../../support/clock.ts"
import { layerTestSql } from "../../support/postgres.ts"

const DAY_MS = 86_400_000
const thread = (id: string, at: number, organization_id = "org_a"): StoredThread => ({
  organization_id,
  id,
  session_id: "ses",
  subject: "A question",
  status: "open",
  visitor_name: null,
  visitor_email: null,
  user_id: null,
  assignee_id: null,
  last_seq: 0,
  created_at: at,
  updated_at: at,
  last_message_at: at,
  unread: 0
})
const furnished = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const repository = yield* makeSupportRepository
  for (const id of ["org_a", "org_b"])
    yield* sql`INSERT INTO organizations (id, name, status, plan, created_at) VALUES (${id}, ${id}, 'active', 'standard', 0)`
  return { sql, repository }
})

it.live("a thread ends a year after its last message, with its visitor's attachments and nothing else", () =>
  Effect.gen(function* () {
    const { repository, sql } = yield* furnished
    for (const [id, organization] of [
      ["med_visitor", "org_a"],
      ["med_shop", "org_a"],
      ["med_other", "org_b"]
    ] as const)
      yield* sql`INSERT INTO media_assets (id, organization_id, kind, blob, created_at, updated_at, expires_at)
        VALUES (${id}, ${organization}, 'image', ${id}, 0, 0, ${id === "med_shop" ? null : "1"}::text::int8)`
    for (const id of ["thr_old", "thr_young"]) yield* repository.insert(thread(id, 1_000))
    expect(yield* repository.attach("org_a", ["med_visitor", "med_shop", "med_other"], "visitor")).toEqual(
      new Set(["med_visitor"])
    )
    const message = { seq: 1, id: "msg_1", text: "x", created_at: 2_000 }
    yield* repository.add("org_a", {
      ...message,
      thread_id: "thr_old",
      author: "visitor",
      media_ids: ["med_visitor", "med_other"]
    })
    yield* repository.add("org_a", {
      ...message,
      seq: 2,
      thread_id: "thr_old",
      author: "agent",
      media_ids: ["med_shop"]
    })
    yield* repository.add("org_a", {
      ...message,
      thread_id: "thr_young",
      author: "visitor",
      media_ids: [],
      created_at: 3_000
    })
    const at = 365 * DAY_MS + 2_000
    expect(yield* atTime(at)(expireThreads(10))).toBe(0)
    expect(yield* atTime(at + 1)(expireThreads(10))).toBe(1)
    expect(yield* repository.get("org_a", "thr_old", "agent")).toBeUndefined()
    expect(yield* repository.messages("org_a", "thr_old", 0, 10)).toEqual([])
    expect((yield* repository.get("org_a", "thr_young", "agent"))?.unread).toBe(1)
    const ends = yield* sql<{ id: string; at: number | null }>`SELECT id, expires_at::float8 AS at FROM media_assets`
    expect(new Map(ends.map(({ at: end, id }) => [id, end]))).toEqual(
      new Map([
        ["med_visitor", 0],
        ["med_shop", null],
        ["med_other", 1]
      ])
    )
  }).pipe(Effect.provide(Layer.fresh(layerTestSql)))
)

it.live("another process is notified of a thread when the change is committed, and of no other thread", () =>
  Effect.gen(function* () {
    const { sql } = yield* furnished
    const live = yield* makeLiveThreads
    const heard: Array<string> = []
    const unwatch = yield* live.watch("org_a", "thr_1", () => heard.push("1"))
    yield* live.watch("org_b", "thr_1", () => heard.push("other"))
    // Starting to listen notifies every watcher once.
    yield* Effect.promise(() => expect.poll(() => heard.length, { timeout: 60_000 }).toBe(2))
    heard.length = 0
    yield* Effect.ignore(sql.withTransaction(Effect.andThen(notifyThread("org_a", "thr_1"), Effect.fail("taken back"))))
    yield* notifyThread("org_a", "thr_2")
    yield* sql.withTransaction(notifyThread("org_a", "thr_1"))
    yield* Effect.promise(() => expect.poll(() => heard.join(), { timeout: 60_000 }).toBe("1"))
    unwatch()
    yield* notifyThread("org_a", "thr_1")
    yield* notifyThread("org_b", "thr_1")
    yield* Effect.promise(() => expect.poll(() => heard.join(), { timeout: 60_000 }).toBe("1,other"))
  }).pipe(Effect.scoped, Effect.provide(Layer.fresh(layerTestSql)))
)
