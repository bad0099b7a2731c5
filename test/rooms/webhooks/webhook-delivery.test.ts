/** Delivery over a real Postgres to real receivers, with a clock that can be moved forward by hours. */
import { it } from "@effect/vitest"
import { Clock, Effect, Exit, Layer, Random, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { expect } from "vitest"
import { Seal } from "../../../src/access/seal.ts"
import { type OutboundEvent, Outbox } from "../../../log/outbox.ts"
import { Identifiers } from "../../../log/identifiers.ts"
import { layer as layerHttp } from "../../../src/ports/outbound-http/node.ts"
import { sweep } from "../../../src/runtime/housekeeping.ts"
import { type DispatcherOptions, layerDispatcher } from "../../../src/webhooks/dispatcher.ts"
import { makeDeliveriesRepository } from "../../../src/webhooks/deliveries-repository.ts"
import { expireDeliveries, FAILED_KEPT_MS } from "../../../src/webhooks/deliveries-retention.ts"
import { FAILING_MAX_MS } from "../../../src/webhooks/endpoint-failing.ts"
import { waitMax_ms } from "../../../src/webhooks/next-attempt.ts"
import { ROTATION_MS } from "../../../src/webhooks/secrets.ts"
import { signalDue } from "../../../src/webhooks/signals.ts"
import { subscribableEvents, wildcardOnlyEvents } from "../../../src/webhooks/subscribable-events.ts"
import { Webhooks } from "../../../src/webhooks/webhooks.ts"
import { makeShiftedClock } from "../../support/clock.ts"
import { layerTestSql } from "../../support/postgres.ts"
import { type Behaviour, eventually, pause, startReceiver, verified } from "../../support/receiver.ts"

const ORGANIZATION = "org_hooks"
const stack = (allowPrivateAddresses: boolean) =>
  Layer.mergeAll(Webhooks.layer, Outbox.layer).pipe(
    Layer.provideMerge(
      Layer.mergeAll(Identifiers.layer, Seal.layer(new Uint8Array(32).fill(3)), layerHttp({ allowPrivateAddresses }))
    ),
    Layer.provideMerge(layerTestSql)
  )
const receiver = (answer: number | Behaviour = 200) =>
  Effect.acquireRelease(
    Effect.promise(() => startReceiver(answer)),
    (running) => Effect.promise(running.stop)
  )

const lab = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const webhooks = yield* Webhooks
  const outbox = yield* Outbox
  const time = yield* makeShiftedClock
  const services = yield* Effect.context<SqlClient.SqlClient>()
  yield* sql`INSERT INTO organizations (id, name, status, plan, created_at) VALUES (${ORGANIZATION}, 'Hooks', 'active', 'standard', 0)`
  const timed = Effect.provideService(Clock.Clock, time.clock)
  const run = <A, E>(effect: Effect.Effect<A, E>) => Effect.runPromise(timed(effect))
  /** A dispatcher in its own scope; `stop` ends it as a shutdown does. */
  const dispatcher = Effect.fnUntraced(function* (options: Partial<DispatcherOptions> = {}) {
    const scope = yield* Scope.fork(yield* Effect.scope)
    yield* timed(
      Random.withSeed(Layer.buildWithScope(Layer.fresh(layerDispatcher({ isAlone: false, ...options })), scope), 11)
    )
    return { stop: Scope.close(scope, Exit.void) }
  })
  const endpoint = (url: string, events: ReadonlyArray<string> = ["*"]) =>
    timed(webhooks.create(ORGANIZATION, { name: "n", url, events, enabled: true }))
  const emit = (event: OutboundEvent, data: Record<string, unknown> = {}) =>
    timed(sql.withTransaction(outbox.put(ORGANIZATION, event, data)))
  const deliveries = (id: string) => run(webhooks.deliveries(ORGANIZATION, id, { cursor: undefined, limit: 250 }))
  const when = (
    what: string,
    id: string,
    holds: (all: Awaited<ReturnType<typeof deliveries>>) => boolean,
    ms?: number
  ) =>
    Effect.promise(() =>
      eventually(
        what,
        async () => {
          const all = await deliveries(id)
          return holds(all) ? all : undefined
        },
        ms
      )
    )
  const unsettled = Effect.map(
    sql<{ count: number }>`SELECT count(*)::int4 AS count FROM outbox WHERE settled_at IS NULL`,
    (rows) => rows[0].count
  )
  /** Moves the clock forward and wakes the dispatchers, which otherwise sleep until their earlier wake-up time. */
  const forward = (ms: number, endpointId: string) =>
    Effect.andThen(
      Effect.sync(() => time.forward(ms)),
      Effect.provide(signalDue(endpointId), services)
    )
  return { sql, webhooks, time, timed, dispatcher, endpoint, emit, when, unsettled, forward }
})

it.live(
  "six attempts, each due within its interval, then failed; a redelivery is a new round; the first one settles the event",
  () =>
    Effect.gen(function* () {
      const { dispatcher, emit, endpoint, forward, time, timed, unsettled, webhooks, when } = yield* lab
      const target = yield* receiver(500)
      const { id } = yield* endpoint(target.url)
      yield* dispatcher()
      yield* emit("alert.fired", { alert_id: "alr_1" })
      const waits: Array<number> = []
      for (let n = 1; n <= 5; n++) {
        const [{ http_code, last_attempt_at = 0, next_attempt_at = 0, status }] = yield* when(
          `attempt ${n}`,
          id,
          ([one]) => one?.attempts === n
        )
        expect([status, http_code, yield* unsettled]).toEqual(["pending", 500, 1])
        waits.push(next_attempt_at - last_attempt_at)
        expect(waits[n - 1]).toBeLessThanOrEqual(waitMax_ms(n))
        yield* forward(Math.max(0, next_attempt_at - time.now()), id)
      }
      expect(waits.every((wait) => wait >= 0) && new Set(waits).size === 5).toBe(true)
      const [failed] = yield* when("the sixth attempt", id, ([one]) => one?.attempts === 6)
      expect(failed).toMatchObject({ status: "failed", http_code: 500, error: "The receiver answered 500" })
      expect(failed.next_attempt_at).toBeUndefined()
      expect(yield* unsettled).toBe(0)
      yield* forward(3_600_000, id)
      yield* Effect.sleep(200)
      expect(target.received.length).toBe(6)
      yield* timed(webhooks.redeliver(ORGANIZATION, id, failed.id))
      yield* when("the seventh attempt", id, ([one]) => one?.attempts === 7 && one.status === "pending")
      target.answer = 200
      yield* timed(webhooks.redeliver(ORGANIZATION, id, failed.id))
      yield* when("the success", id, ([one]) => one?.status === "success" && one.attempts === 8)
      expect(new Set(target.received.map(({ body }) => body)).size).toBe(1)
    }).pipe(Effect.scoped, Effect.provide(stack(true)))
)

it.live("`*` receives every event, a list those that it names, and one without subscribers is settled at once", () =>
  Effect.gen(function* () {
    const { dispatcher, emit, endpoint, unsettled, webhooks, timed } = yield* lab
    const [all, two] = [yield* receiver(), yield* receiver()]
    yield* dispatcher()
    yield* emit("hosting.enabled")
    yield* Effect.promise(() =>
      eventually("settled", async () => (await Effect.runPromise(unsettled)) === 0 || undefined)
    )
    yield* endpoint(all.url)
    const { id } = yield* endpoint(two.url, ["hosting.updated", "media.uploaded"])
    const names = [...subscribableEvents, ...wildcardOnlyEvents]
    for (const name of names) yield* emit(name, { name })
    yield* Effect.promise(() => all.until(names.length))
    yield* Effect.promise(() => two.until(2))
    expect(all.received.map(({ json }) => json.event).sort()).toEqual([...names].sort())
    expect(two.received.map(({ json }) => json.event).sort()).toEqual(["hosting.updated", "media.uploaded"])
    // One event has one id, wherever it is delivered.
    const idOf = (received: typeof all.received) =>
      received.find(({ json }) => json.event === "media.uploaded")?.headers["x-svc-delivery"]
    expect(idOf(two.received)).toBe(idOf(all.received))
    yield* Effect.promise(() =>
      eventually("settled", async () => (await Effect.runPromise(unsettled)) === 0 || undefined)
    )
    // Deleting an endpoint deletes its waiting deliveries, which settles them.
    two.answer = 503
    yield* emit("hosting.updated")
    yield* Effect.promise(() => two.until(3))
    yield* Effect.promise(() => all.until(names.length + 1))
    yield* Effect.sleep(100)
    expect(yield* unsettled).toBe(1)
    yield* timed(webhooks.remove(ORGANIZATION, id))
    expect(yield* unsettled).toBe(0)
  }).pipe(Effect.scoped, Effect.provide(stack(true)))
)

it.live("hanging receivers delay nobody else, and fail as timeouts", () =>
  Effect.gen(function* () {
    const { dispatcher, emit, endpoint, time, when } = yield* lab
    const hanging = yield* receiver(() => {})
    const fast = yield* receiver()
    const stuck = []
    for (let i = 0; i < 5; i++) stuck.push((yield* endpoint(hanging.url)).id)
    yield* endpoint(fast.url, ["alert.fired"])
    yield* dispatcher({ attemptTimeout_ms: 2_500 })
    for (let i = 0; i < 60; i++) yield* emit("media.uploaded")
    yield* Effect.sleep(300)
    const began = time.now()
    for (let i = 0; i < 30; i++) yield* emit("alert.fired")
    yield* Effect.promise(() => fast.until(30, 2_000))
    expect(time.now() - began).toBeLessThan(2_000)
    expect(hanging.received.length).toBeLessThanOrEqual(5 * 4)
    const all = yield* when("a time-out", stuck[0], (deliveries) => deliveries.some(({ attempts }) => attempts > 0))
    expect(all.find(({ attempts }) => attempts > 0)).toMatchObject({
      status: "pending",
      error: "No answer within 2.5 s"
    })
  }).pipe(Effect.scoped, Effect.provide(stack(true)))
)

it.live("two dispatchers deliver everything, and nothing twice", () =>
  Effect.gen(function* () {
    const { dispatcher, emit, endpoint, unsettled } = yield* lab
    const targets = [yield* receiver(), yield* receiver(), yield* receiver()]
    for (const { url } of targets) yield* endpoint(url)
    yield* Effect.all([dispatcher(), dispatcher()])
    yield* Effect.forEach(
      Array.from({ length: 300 }, (_, i) => i),
      (i) => emit("alert.fired", { i }),
      { concurrency: 4 }
    )
    for (const target of targets) yield* Effect.promise(() => target.until(300, 20_000))
    yield* Effect.promise(() =>
      eventually("settled", async () => (await Effect.runPromise(unsettled)) === 0 || undefined)
    )
    yield* Effect.sleep(200)
    for (const { received } of targets) {
      expect(received.length).toBe(300)
      expect(new Set(received.map(({ json }) => json.data.i)).size).toBe(300)
    }
  }).pipe(Effect.scoped, Effect.provide(stack(true)))
)

it.live(
  "the claim of a dead holder expires; a single process takes its own back at once; a stop returns what is in progress",
  () =>
    Effect.gen(function* () {
      const { dispatcher, emit, endpoint, forward, sql, time, timed, webhooks, when } = yield* lab
      const target = yield* receiver()
      const { id } = yield* endpoint(target.url)
      const first = yield* dispatcher()
      yield* emit("alert.fired")
      const [{ id: deliveryId }] = yield* when("delivered", id, ([one]) => one?.status === "success")
      yield* first.stop
      const claim = Effect.gen(function* () {
        yield* timed(webhooks.redeliver(ORGANIZATION, id, deliveryId))
        const repository = yield* makeDeliveriesRepository
        const claimed = yield* repository.claim([{ endpointId: id, places: 5 }], time.now(), time.now() + 45_000)
        expect(claimed.length).toBe(1)
        return { repository, claimed: claimed[0] }
      })
      const { claimed, repository } = yield* claim
      const second = yield* dispatcher()
      yield* Effect.sleep(300)
      expect(target.received.length).toBe(1)
      yield* forward(45_001, id)
      yield* Effect.promise(() => target.until(2))
      const [before] = yield* when("delivered again", id, ([one]) => one?.status === "success" && one.attempts === 2)
      // A late result of the dead holder no longer counts.
      yield* repository.record([
        { ...claimed, status: "failed", http_code: 500, error: "late", ended_at: time.now(), due_at: undefined }
      ])
      expect((yield* when("unchanged", id, () => true))[0]).toEqual(before)
      yield* second.stop

      yield* claim
      const third = yield* dispatcher({ isAlone: true })
      yield* Effect.promise(() => target.until(3))
      yield* when("delivered a third time", id, ([one]) => one?.status === "success")

      target.answer = () => {}
      yield* timed(webhooks.redeliver(ORGANIZATION, id, deliveryId))
      yield* Effect.promise(() => target.until(4))
      yield* third.stop
      expect(yield* sql`SELECT status, is_claimed, attempts FROM webhook_deliveries`).toEqual([
        { status: "pending", is_claimed: false, attempts: 3 }
      ])
    }).pipe(Effect.scoped, Effect.provide(stack(true)))
)

it.live("an endpoint that fails for five days is disabled, reported, and recovers when it is enabled again", () =>
  Effect.gen(function* () {
    const { dispatcher, emit, endpoint, forward, sql, time, timed, unsettled, webhooks, when } = yield* lab
    const target = yield* receiver(410)
    const { id } = yield* endpoint(target.url)
    const get = timed(webhooks.get(ORGANIZATION, id))
    yield* dispatcher()
    yield* emit("alert.fired")
    yield* when("failed", id, ([one]) => one?.status === "failed")
    const { failing_since } = yield* get
    yield* forward(FAILING_MAX_MS - 60_000, id)
    yield* emit("alert.fired")
    yield* when("failed", id, (all) => all.length === 2 && all.every(({ status }) => status === "failed"))
    expect(yield* get).toMatchObject({ enabled: true, failing_since })
    // A delivery waits for its retry when the endpoint is disabled.
    target.answer = 503
    yield* emit("alert.fired")
    yield* when("waiting", id, (all) => all.length === 3 && all[0]?.status === "pending" && all[0].attempts === 1)
    // Its wait is random and may end when the clock moves: it must not be the failure that disables the endpoint.
    yield* sql`UPDATE webhook_deliveries SET due_at = due_at + 3600000 WHERE endpoint_id = ${id} AND status = 'pending'`
    target.answer = 410
    yield* forward(60_000, id)
    yield* emit("media.uploaded")
    yield* Effect.promise(() =>
      eventually("disabled", async () => ((await Effect.runPromise(get)).enabled ? undefined : true))
    )
    expect(yield* get).toMatchObject({
      enabled: false,
      failing_since,
      disabled_at: expect.any(Number),
      disabled_reason: expect.stringContaining(
        `Every attempt since ${new Date(failing_since ?? 0).toISOString()} failed`
      )
    })
    expect((yield* when("all given up", id, (all) => all.every(({ status }) => status === "failed"))).length).toBe(4)
    expect(yield* unsettled).toBe(0)
    const sent = target.received.length
    yield* emit("alert.fired")
    yield* Effect.sleep(200)
    expect(target.received.length).toBe(sent)
    target.answer = 200
    const enabled = yield* timed(
      webhooks.replace(ORGANIZATION, id, { name: "n", url: target.url, events: ["*"], enabled: true })
    )
    expect([enabled.enabled, enabled.failing_since, enabled.disabled_at, enabled.disabled_reason]).toEqual([
      true,
      undefined,
      undefined,
      undefined
    ])
    expect(yield* timed(webhooks.recover(ORGANIZATION, id, time.now() - 3_600_000))).toEqual({ recovered: 3 })
    yield* Effect.promise(() => target.until(sent + 3))
    expect(yield* timed(webhooks.recover(ORGANIZATION, id, 0))).toEqual({ recovered: 1 })
    yield* when("all delivered", id, (all) => all.every(({ status }) => status === "success"))
  }).pipe(Effect.scoped, Effect.provide(stack(true)))
)

it.live("old and new secret sign for 24 h after a rotation, then only the new one; neither is stored in plain", () =>
  Effect.gen(function* () {
    const { dispatcher, endpoint, forward, sql, timed, webhooks } = yield* lab
    const target = yield* receiver()
    const { id, secret: old } = yield* endpoint(target.url)
    const { previous_secret_valid_until, secret } = yield* timed(webhooks.rotateSecret(ORGANIZATION, id))
    yield* dispatcher()
    const test = Effect.gen(function* () {
      const before = target.received.length
      yield* timed(webhooks.sendTest(ORGANIZATION, id))
      const received = (yield* Effect.promise(() => target.until(before + 1)))[before]
      return [
        verified(received, secret) !== undefined,
        verified(received, old) !== undefined,
        received.headers["webhook-signature"].split(" ").length
      ]
    })
    expect(previous_secret_valid_until).toEqual(expect.any(Number))
    expect(yield* test).toEqual([true, true, 2])
    yield* forward(ROTATION_MS - 60_000, id)
    expect(yield* test).toEqual([true, true, 2])
    yield* forward(61_000, id)
    expect(yield* test).toEqual([true, false, 1])
    expect((yield* timed(webhooks.get(ORGANIZATION, id))).previous_secret_valid_until).toBeUndefined()
    const stored = JSON.stringify(yield* sql`SELECT to_jsonb(webhook_endpoints) AS row FROM webhook_endpoints`)
    for (const text of [secret, old]) expect(stored).not.toContain(text.slice(6))
  }).pipe(Effect.scoped, Effect.provide(stack(true)))
)

it.live("a private address is a final failure with its reason, whatever name leads to it", () =>
  Effect.gen(function* () {
    const { dispatcher, emit, endpoint, when } = yield* lab
    const target = yield* receiver()
    yield* dispatcher()
    const ids = []
    for (const url of [
      target.url,
      target.url.replace("127.0.0.1", "localhost"),
      target.url.replace("127.0.0.1", "[::ffff:127.0.0.1]")
    ])
      ids.push((yield* endpoint(url)).id)
    yield* emit("alert.fired")
    for (const id of ids)
      expect((yield* when("refused", id, ([one]) => one?.status === "failed"))[0]).toMatchObject({
        attempts: 1,
        error: expect.stringContaining("private or reserved address")
      })
    expect(target.received).toEqual([])
  }).pipe(Effect.scoped, Effect.provide(stack(false)))
)

it.live("housekeeping keeps the 100 newest of each endpoint, all that wait, and those that failed within 14 days", () =>
  Effect.gen(function* () {
    const { endpoint, sql, time, timed } = yield* lab
    const [one, two] = [yield* endpoint("https://a.example/"), yield* endpoint("https://b.example/")]
    const put = (endpointId: string, i: number, status: string, finishedAgo: number) =>
      sql`INSERT INTO webhook_deliveries (endpoint_id, id, organization_id, event, body, status, created_at, finished_at) VALUES (${endpointId}, ${`dlv_${String(i).padStart(5, "0")}`}, ${ORGANIZATION}, 'e', '{}', ${status}, 0, ${String(time.now() - finishedAgo)}::text::int8)`
    for (let i = 0; i < 40; i++) yield* put(one.id, i, "success", 1_000)
    yield* put(one.id, 40, "pending", 0)
    yield* put(one.id, 41, "failed", FAILED_KEPT_MS - 60_000)
    yield* put(one.id, 42, "failed", FAILED_KEPT_MS + 60_000)
    for (let i = 43; i < 143; i++) yield* put(one.id, i, i % 2 === 0 ? "success" : "failed", FAILED_KEPT_MS * 2)
    for (let i = 0; i < 60; i++) yield* put(two.id, i, "success", FAILED_KEPT_MS * 2)
    expect(yield* timed(expireDeliveries(7))).toBe(7)
    expect(yield* timed(sweep(10))).toBe(34)
    expect(yield* timed(expireDeliveries(7))).toBe(0)
    const left = yield* sql<{
      endpoint_id: string
      id: string
    }>`SELECT endpoint_id, id FROM webhook_deliveries ORDER BY id`
    expect(left.filter(({ endpoint_id }) => endpoint_id === one.id).map(({ id }) => Number(id.slice(4)))).toEqual([
      40,
      41,
      ...Array.from({ length: 100 }, (_, i) => 43 + i)
    ])
    expect(left.filter(({ endpoint_id }) => endpoint_id === two.id).length).toBe(60)
  }).pipe(Effect.scoped, Effect.provide(stack(true)))
)

it.live("an endpoint whose row is unreadable gets nothing, and delays no other", () =>
  Effect.gen(function* () {
    const { dispatcher, emit, endpoint, sql, when } = yield* lab
    const target = yield* receiver()
    const broken = yield* endpoint(target.url)
    const { id } = yield* endpoint(target.url)
    yield* sql`UPDATE webhook_endpoints SET events = '{"no": "list"}'::jsonb WHERE id = ${broken.id}`
    yield* dispatcher()
    yield* emit("alert.fired", { alert_id: "alr_1" })
    yield* when("the other's delivery", id, ([one]) => one?.status === "success")
  }).pipe(Effect.scoped, Effect.provide(stack(true)))
)

it.live("events of two organizations in one batch go only to their own organization's endpoints", () =>
  Effect.gen(function* () {
    const { dispatcher, endpoint, sql, timed, webhooks, when } = yield* lab
    const outbox = yield* Outbox
    yield* sql`INSERT INTO organizations (id, name, status, plan, created_at) VALUES ('org_other', 'Other', 'active', 'standard', 0)`
    const own = yield* receiver(),
      others = yield* receiver()
    const mine = yield* endpoint(own.url)
    const theirs = yield* timed(
      webhooks.create("org_other", { name: "n", url: others.url, events: ["*"], enabled: true })
    )
    // There is no dispatcher yet, so that one transaction takes all of them.
    for (let n = 0; n < 3; n++)
      for (const id of [ORGANIZATION, "org_other"])
        yield* timed(sql.withTransaction(outbox.put(id, "alert.fired", { alert_id: `${id} ${n}` })))
    yield* dispatcher()
    yield* when("what was ours", mine.id, (all) => all.length === 3 && all.every(({ status }) => status === "success"))
    yield* Effect.promise(() => others.until(3))
    yield* Effect.promise(() => pause(200))
    const named = ({ received }: typeof own) => received.map(({ json }) => json.data.alert_id as string).sort()
    expect(named(own)).toEqual([0, 1, 2].map((n) => `${ORGANIZATION} ${n}`))
    expect(named(others)).toEqual([0, 1, 2].map((n) => `org_other ${n}`))
    expect((yield* timed(webhooks.deliveries("org_other", theirs.id, { cursor: undefined, limit: 250 }))).length).toBe(
      3
    )
  }).pipe(Effect.scoped, Effect.provide(stack(true)))
)
