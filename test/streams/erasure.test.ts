/**
 * Erasure of a person: nobody can read the person's events any more, figures are as if the person had never existed,
 * and none of the person's text is left.
 */
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { join } from "node:path"
import { it as plainIt } from "vitest"
import type { BehaviouralEvent, ServedSearch } from "../../log/event-schema.ts"
import { keptEntry, REJECTIONS_SCHEMA_VERSION } from "../../log/rejection.ts"
import { Replays } from "../../src/events/replays/replays.ts"
import { EventLog } from "../../log/event-log/event-log.ts"
import { Identifiers } from "../../log/identifiers.ts"
import { narrowKey } from "../../log/fingerprint.ts"
import { Erasures, makerOf, packPrints, printOf, unpackPrints } from "../../streams/erasure/erasures.ts"
import { letterWithoutErased, withoutErased } from "../../streams/erasure/rewriting.ts"
import { subjectOfText } from "../../streams/erasure/subjects.ts"
import { AttributionState } from "../../streams/processors/attribution/state.ts"
import { decodeRecord, encodeRecord } from "../../log/record.ts"
import { memoryStore } from "../../streams/state/state.ts"
import { openStateStore } from "../../streams/state/lmdb.ts"
import { BEHAVIOUR_EVENTS, BEHAVIOUR_REJECTED, deadLettersOf, SEARCH_SERVED, TOPICS } from "../../log/topics.ts"
import { generate, type OracleInput, seeded } from "../support/attribution-oracle.ts"
import { folded } from "../support/folded.ts"
import { layerTestSql, temporaryFolder } from "../support/postgres.ts"
import { eventsRecord, figuresOf, jobEnd, makeOrganization, servedRecord, startStreams } from "../support/replays.ts"

const DAY = 86_400_000
const START = Date.now() - 3 * DAY
const KEY = [1, 2, 3, 4] as const

const tombstone = (over: Partial<ConstructorParameters<typeof Erasures>[0][number]> = {}) => ({
  organizationId: "o",
  jobId: "j",
  erasedAt: 1_000,
  prints: [printOf(narrowKey(KEY, "o"), "user", "u")],
  ends: { [`${BEHAVIOUR_EVENTS.name}/0`]: 10, [`${SEARCH_SERVED.name}/0`]: 10 },
  ...over
})
const print = (kind: "user" | "session" | "anonymous" | "query", id: string) => printOf(narrowKey(KEY, "o"), kind, id)
const events = (organization_id: string, all: ReadonlyArray<Partial<BehaviouralEvent> | null>) => ({
  schema_version: 1,
  organization_id,
  occurred_at: 0,
  payload: { events: all }
})

describe("a tombstone", () => {
  plainIt("hides the person's entries below its offsets, in his organization alone", () => {
    const erasures = new Erasures([tombstone()], KEY)
    const record = events("o", [{ user_id: "u" }, { user_id: "v" }, {}, null, { user_id: "u" }])
    const hidden = (organization: string, offset: number, partition = 0) => [
      ...(erasures.hiddenIn(BEHAVIOUR_EVENTS.name, partition, offset, { ...record, organization_id: organization }) ??
        [])
    ]
    assert.deepStrictEqual([hidden("o", 9), hidden("o", 10), hidden("p", 9), hidden("o", 9, 1)], [[0, 4], [], [], []])
  })
  plainIt("hides what is his by session, anonymous id or search, unless it carries another user's id", () => {
    const erasures = new Erasures(
      [
        tombstone({ prints: [print("user", "u"), print("session", "s"), print("anonymous", "a"), print("query", "q")] })
      ],
      KEY
    )
    const all = [
      { session_id: "s" },
      { anonymous_id: "a" },
      { query_id: "q" },
      { session_id: "s", user_id: "v" },
      { session_id: "a" },
      { query_id: "q", user_id: "u", session_id: "x" }
    ]
    assert.deepStrictEqual([...(erasures.hiddenIn(BEHAVIOUR_EVENTS.name, 0, 0, events("o", all)) ?? [])], [0, 1, 2, 5])
  })
  plainIt("hides a search that was answered before it and appended after it", () => {
    const erasures = new Erasures([tombstone()], KEY)
    const served = (at: number) => ({
      schema_version: 1,
      organization_id: "",
      occurred_at: 0,
      payload: {
        served: [
          { organization_id: "o", user_id: "u", at },
          { organization_id: "p", user_id: "u", at }
        ]
      }
    })
    assert.deepStrictEqual([...(erasures.hiddenIn(SEARCH_SERVED.name, 0, 50, served(1_000)) ?? [])], [0])
    assert.isUndefined(erasures.hiddenIn(SEARCH_SERVED.name, 0, 50, served(1_001)))
  })
  plainIt("knows its person in text that is no JSON, and the number under which queries remember him", () => {
    assert.deepStrictEqual(
      subjectOfText(
        `{"user_id":42,"q":"a\\"b","session_id" : "s\\u00e9", "x":[{"user_id":"u"}], "anonymous_id": "cut off`
      ),
      { users: ["42", "u"], sessions: ["sé"], anonymous: [], queries: [], makes: undefined, at: undefined }
    )
    const state = new AttributionState(memoryStore(), { fingerprintKey: KEY })
    assert.deepStrictEqual(state.who("o", { user_id: "u", anonymous_id: "a", session_id: "s" }, 7), [
      makerOf(print("user", "u")),
      makerOf(print("anonymous", "a")),
      makerOf(print("session", "s")),
      7
    ])
    assert.deepStrictEqual(unpackPrints(packPrints([print("user", "u"), print("query", "q")])), [
      print("user", "u"),
      print("query", "q")
    ])
  })
  plainIt("leaves the places of other entries alone when a record is rewritten, dead letters included", () => {
    const erasures = new Erasures([tombstone()], KEY)
    const record = events("o", [{ user_id: "v" }, { user_id: "u", q: "secret" }, { user_id: "w" }])
    const rewritten = withoutErased(erasures, BEHAVIOUR_EVENTS.name, 0, 3, record)!
    assert.deepStrictEqual(decodeRecord(rewritten.value).payload, {
      events: [{ user_id: "v" }, null, { user_id: "w" }]
    })
    assert.isUndefined(withoutErased(erasures, BEHAVIOUR_EVENTS.name, 0, 3, decodeRecord(rewritten.value)))
    const letter = (index: number, body: unknown) => ({
      schema_version: 1,
      organization_id: "o",
      occurred_at: 0,
      payload: {
        group: "attribution",
        partition: 0,
        topic: BEHAVIOUR_EVENTS.name,
        offset: 3,
        index,
        reason: "secret",
        body
      }
    })
    for (const [index, body] of [
      [1, { kind: "event", organizationId: "o", event: { user_id: "u", q: "secret" } }],
      [-1, encodeRecord(record)],
      [-1, Buffer.from("\u0001 u secret")]
    ] as const) {
      const emptied = letterWithoutErased(erasures, "u", letter(index, body))!
      assert.isFalse(Buffer.from(emptied.value).includes("secret"))
    }
    assert.isUndefined(
      letterWithoutErased(erasures, "u", letter(1, { kind: "event", organizationId: "o", event: { user_id: "v" } }))
    )
  })
})

/**
 * Logs in some visits of two sessions: as the person to be erased, and as another user of one of the person's sessions.
 */
const people = (input: OracleInput, seed: number): OracleInput => {
  const random = seeded(seed)
  const someone = <
    A extends { readonly session_id?: string; readonly user_id?: string; readonly anonymous_id?: string }
  >(
    entry: A
  ): A =>
    entry.session_id === "s0"
      ? { ...entry, ...(random() < 0.4 ? { user_id: random() < 0.8 ? "gone" : "other" } : {}) }
      : entry.session_id === "s1"
        ? { ...entry, ...(random() < 0.3 ? { user_id: "other" } : {}) }
        : entry.user_id === undefined
          ? entry
          : ({
              ...entry,
              user_id: random() < 0.5 ? "gone" : "other",
              anonymous_id: random() < 0.5 ? "device" : undefined
            } as A)
  // A duplicate of an event must stay equal to it.
  const told = new Map<BehaviouralEvent, BehaviouralEvent>()
  const events = input.events.map((event) => {
    if (!told.has(event)) told.set(event, someone(event))
    return told.get(event)!
  })
  return { ...input, served: input.served.map(someone), events }
}
/** A plain implementation of the rule that decides what belongs to a person. */
const withoutPerson = ({ events, served, ...input }: OracleInput, userId: string): OracleInput => {
  const his = [...events, ...served].filter(({ user_id }) => user_id === userId)
  const sessions = new Set(his.map(({ session_id }) => session_id).filter((id) => id !== undefined))
  const anonymous = new Set(his.map(({ anonymous_id }) => anonymous_id).filter((id) => id !== undefined))
  const isHis = ({
    anonymous_id,
    session_id,
    user_id
  }: {
    readonly user_id?: string
    readonly session_id?: string
    readonly anonymous_id?: string
  }) =>
    user_id !== undefined
      ? user_id === userId
      : (session_id !== undefined && sessions.has(session_id)) ||
        (anonymous_id !== undefined && anonymous.has(anonymous_id))
  const queries = new Set<string | undefined>(
    [...served.filter(isHis), ...events.filter((event) => event.type === "search" && isHis(event))].map(
      ({ query_id }) => query_id
    )
  )
  queries.delete(undefined)
  return {
    ...input,
    served: served.filter((one) => !isHis(one)),
    events: events.filter((event) => !isHis(event) && !(event.user_id === undefined && queries.has(event.query_id)))
  }
}
const as = (organizationId: string, { events, served }: OracleInput): OracleInput => ({
  organizationId,
  events,
  served: served.map((one) => ({ ...one, organization_id: organizationId }))
})
const append = (input: OracleInput, size = 9) =>
  Effect.gen(function* () {
    const log = yield* EventLog
    for (let i = 0; i < Math.max(input.served.length, input.events.length); i += size) {
      const [served, events] = [input.served.slice(i, i + size), input.events.slice(i, i + size)]
      yield* log.append([
        ...(served.length > 0 ? [servedRecord(served)] : []),
        ...(events.length > 0 ? [eventsRecord(input.organizationId, events)] : [])
      ])
    }
  })

layer(layerTestSql, { timeout: 60_000, excludeTestServices: true })("an erasure", (it) => {
  /** A log whose records cannot be rewritten, as on brokers, so that everything depends on the tombstone. */
  const layerUnrewritable = Layer.effect(
    EventLog,
    Effect.map(EventLog, (log) => EventLog.of({ ...log, rewrite: () => Effect.succeed(false) }))
  ).pipe(Layer.provide(Layer.fresh(EventLog.layerMemory)))
  const environment = (isUnrewritable = false) =>
    Layer.provideMerge(
      Replays.layer({ visitorPartitions: 1 }),
      Layer.mergeAll(isUnrewritable ? layerUnrewritable : Layer.fresh(EventLog.layerMemory), Identifiers.layer)
    )
  const stores = (folder: string) => ({
    openStore: (group: string, partition: number) => openStateStore(join(folder, `${group}-${partition}`)),
    openShadowStore: (partition: number) => openStateStore(join(folder, `shadow-${partition}`))
  })
  const clean = Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`TRUNCATE stream_offsets, stream_generations, stream_replays, stream_replay_partitions, event_tombstones, jobs CASCADE`
  })
  const erase = (organizationId: string, userId: string) =>
    Effect.flatMap(Replays, (replays) => replays.erase(organizationId, userId))

  it.effect("leaves the figures of a world without the person; a person who returns is a new one", () =>
    Effect.gen(function* () {
      for (let seed = 1; seed <= 4; seed++) {
        yield* Effect.gen(function* () {
          yield* clean
          const folder = yield* temporaryFolder("erasure")
          const [a, b, c] = [`org_era_a${seed}`, `org_era_b${seed}`, `org_era_c${seed}`]
          for (const id of [a, b, c]) yield* makeOrganization(id)
          const input = people(generate(seed, 300, START), seed)
          // Answers from after the erasure, which their ids show.
          const later = people(generate(seed + 100, 120, Date.now() + 60_000), seed)
          const renamed = {
            ...later,
            served: later.served.map((s) => ({ ...s, query_id: `later ${s.query_id}` })),
            events: later.events.map((e) => ({
              ...e,
              ...(e.event_id === undefined ? {} : { event_id: `later ${e.event_id}` }),
              ...(e.query_id === undefined ? {} : { query_id: `later ${e.query_id}` })
            }))
          }
          const without = withoutPerson(input, "gone")
          // Late events that refer to what is erased: to the person's session, and to the person's searches.
          const late: OracleInput = {
            ...input,
            served: [],
            events: input.served.flatMap(({ at, collection, query_id }, i): ReadonlyArray<BehaviouralEvent> => [
              {
                type: "click",
                collection,
                document_id: "d1",
                session_id: "s0",
                timestamp: at + 50,
                event_id: `late s${i}`
              },
              {
                type: "purchase",
                collection,
                document_id: "d1",
                revenue: 3,
                user_id: "other",
                query_id,
                timestamp: at + 60,
                event_id: `late q${i}`
              }
            ])
          }
          assert.isBelow(without.events.length, input.events.length)
          const isLagging = seed % 2 === 0
          let streams = yield* startStreams(stores(folder))
          yield* append(as(a, input))
          // In every other run, half of it is not yet counted when the tombstone arrives.
          if (isLagging) yield* streams.stop
          else yield* streams.caughtUp
          yield* append(as(b, without))
          yield* append(as(c, input))
          const job = yield* erase(a, "gone")
          for (const id of [a, b, c]) yield* append(as(id, renamed))
          if (isLagging) streams = yield* startStreams(stores(folder))
          const end = yield* jobEnd(job.id)
          assert.deepStrictEqual([end.status, end.error, end.config], ["ready", null, {}])
          const { hidden_until, records_rewritten } = end.result!.topics.find(
            ({ name }: { readonly name: string }) => name === BEHAVIOUR_EVENTS.name
          )
          if (seed > 2)
            assert.strictEqual(hidden_until, end.result!.erased_at + BEHAVIOUR_EVENTS.retentionHours * 3_600_000)
          else assert.isAbove(records_rewritten, 0)
          yield* streams.caughtUp
          assert.deepStrictEqual(yield* figuresOf(a), yield* figuresOf(b), `seed ${seed}`)
          for (const id of [a, b, c]) yield* append(as(id, late))
          yield* streams.caughtUp
          assert.deepStrictEqual(yield* figuresOf(a), yield* figuresOf(b), `seed ${seed}, late`)
          const before = yield* figuresOf(c)
          // A replay respects the tombstone, and so does a state that is rebuilt elsewhere.
          const replays = yield* Replays
          const again = yield* replays.replay(a, { from: START - DAY, before: Date.now() + DAY })
          assert.strictEqual((yield* jobEnd(again.id)).status, "ready")
          yield* streams.stop
          const elsewhere = yield* startStreams(stores(join(folder, "elsewhere")))
          const latest = {
            ...late,
            events: late.events.map((event) => ({ ...event, event_id: `again ${event.event_id}` }))
          }
          for (const id of [a, b]) yield* append(as(id, latest))
          yield* elsewhere.caughtUp
          assert.deepStrictEqual(yield* figuresOf(a), yield* figuresOf(b), `seed ${seed}, rebuilt`)
          assert.deepStrictEqual(yield* figuresOf(c), before)
          yield* elsewhere.stop
        }).pipe(Effect.provide(environment(seed > 2)), Effect.scoped)
      }
    })
  )

  it.effect("leaves no word of the person in tables or log, and lists what it changed", () =>
    Effect.gen(function* () {
      yield* clean
      const sql = yield* SqlClient.SqlClient
      const log = yield* EventLog
      const folder = yield* temporaryFolder("erasure")
      const [a, b] = ["org_word_a", "org_word_b"]
      for (const id of [a, b]) {
        yield* makeOrganization(id)
        yield* sql`INSERT INTO analytics_rules (organization_id, name, type, collection, event_type, params, created_at, updated_at) VALUES (${id}, 'kept', 'log', 'c', 'click', '{}', 0, 0), (${id}, 'popular', 'popular_queries', 'c', 'search', '{"limit":10}', 0, 0)`
        yield* sql`INSERT INTO outbox (organization_id, delivery_id, event, data, created_at) VALUES (${id}, ${`dlv_${id}`}, 'conversation.completed', '{"user_id": "zanzibar-user", "text": "hello"}', 0)`
      }
      const at = Date.now() - 60_000
      const served = (organization_id: string): ReadonlyArray<ServedSearch> => [
        {
          organization_id,
          query_id: `qa-${organization_id}`,
          collection: "c",
          q: "zanzibar-query",
          found: 1,
          at,
          isCounted: true,
          user_id: "zanzibar-user",
          session_id: "zanzibar-session"
        },
        {
          organization_id,
          query_id: `qb-${organization_id}`,
          collection: "c",
          q: "shoes",
          found: 1,
          at,
          isCounted: true,
          session_id: "x"
        }
      ]
      const told = (organization_id: string): ReadonlyArray<BehaviouralEvent> => [
        {
          type: "click",
          collection: "c",
          document_id: "zanzibar-document",
          timestamp: at + 1,
          session_id: "zanzibar-session"
        },
        {
          type: "click",
          collection: "c",
          document_id: "zanzibar-other",
          timestamp: at + 2,
          query_id: `qa-${organization_id}`
        },
        { type: "click", collection: "c", document_id: "shoe", timestamp: at + 3, session_id: "x" }
      ]
      const streams = yield* startStreams(stores(folder))
      for (const id of [a, b]) {
        yield* log.append([
          servedRecord(served(id)),
          eventsRecord(id, told(id)),
          {
            topic: BEHAVIOUR_REJECTED.name,
            partition: 0,
            key: id,
            value: encodeRecord({
              schema_version: REJECTIONS_SCHEMA_VERSION,
              organization_id: id,
              occurred_at: at,
              payload: {
                rejections: [
                  keptEntry({ type: "nothing", user_id: "zanzibar-user" }, "no"),
                  keptEntry({ type: "nothing", user_id: "v" }, "no")
                ]
              }
            })
          },
          {
            topic: deadLettersOf(BEHAVIOUR_EVENTS).name,
            partition: 0,
            value: encodeRecord({
              schema_version: 1,
              organization_id: id,
              occurred_at: at,
              payload: {
                group: "attribution",
                partition: 0,
                topic: BEHAVIOUR_EVENTS.name,
                offset: 0,
                index: 0,
                reason: "zanzibar-reason",
                body: { kind: "event", organizationId: id, event: told(id)[0] }
              }
            })
          }
        ])
      }
      yield* streams.caughtUp
      const wordsOf = Effect.fnUntraced(function* (organizationId: string) {
        const tables = yield* sql<{
          table_name: string
        }>`SELECT DISTINCT table_name FROM information_schema.columns WHERE table_schema = 'public' AND column_name = 'organization_id' ORDER BY 1`
        const found: Array<string> = []
        for (const { table_name } of tables) {
          const rows = yield* sql.unsafe<{ text: string }>(
            `SELECT t::text AS text FROM ${table_name} t WHERE organization_id = $1 OR organization_id LIKE $2`,
            [organizationId, "job_%"]
          )
          // Bytes are shown in hexadecimal.
          if (
            rows.some(({ text }) => text.includes("zanzibar") || text.includes(Buffer.from("zanzibar").toString("hex")))
          )
            found.push(table_name)
        }
        for (const topic of TOPICS) {
          const { records } = yield* log.read({
            topic: topic.name,
            partition: 0,
            from: 0,
            recordsMax: 1_000,
            bytesMax: 1e9
          })
          for (const { value } of records) {
            const record = decodeRecord(value)
            const text = JSON.stringify(record)
            if (
              text.includes("zanzibar") &&
              (record.organization_id === organizationId || text.includes(`qb-${organizationId}`))
            )
              found.push(topic.name)
          }
        }
        return found
      })
      yield* folded
      const before = yield* wordsOf(a)
      assert.includeMembers(before, [
        "analytics_query_rollup",
        "analytics_product_rollup",
        "analytics_instants",
        "analytics_rule_events",
        "analytics_rule_queries",
        "event_rejections",
        "outbox",
        "query_popularity",
        BEHAVIOUR_EVENTS.name,
        BEHAVIOUR_REJECTED.name,
        deadLettersOf(BEHAVIOUR_EVENTS).name
      ])
      const ofOther = yield* wordsOf(b)
      const job = yield* erase(a, "zanzibar-user")
      const { result } = yield* jobEnd(job.id)
      // Several organizations share the records of answers here, so the other one's words stay in them.
      assert.deepStrictEqual(
        (yield* wordsOf(a)).filter((name) => name !== SEARCH_SERVED.name),
        []
      )
      assert.deepStrictEqual(yield* wordsOf(b), ofOther)
      const tables = Object.fromEntries(
        result!.tables.map(({ name, rows }: { readonly name: string; readonly rows: number }) => [name, rows])
      )
      assert.deepStrictEqual(
        [tables.event_rejections, tables.analytics_rule_events, tables.analytics_rule_queries, tables.outbox],
        [1, 2, 1, 1]
      )
      assert.deepStrictEqual(
        Object.fromEntries(
          result!.topics.map(
            ({
              entries,
              name,
              records_rewritten
            }: {
              readonly name: string
              readonly entries: number
              readonly records_rewritten: number
            }) => [name, [entries, records_rewritten]]
          )
        ),
        {
          [SEARCH_SERVED.name]: [1, 1],
          [BEHAVIOUR_EVENTS.name]: [2, 1],
          [BEHAVIOUR_REJECTED.name]: [1, 1],
          [deadLettersOf(SEARCH_SERVED).name]: [0, 0],
          [deadLettersOf(BEHAVIOUR_EVENTS).name]: [1, 1],
          [deadLettersOf(BEHAVIOUR_REJECTED).name]: [0, 0]
        }
      )
      assert.strictEqual((yield* sql`SELECT 1 FROM event_rejections WHERE organization_id = ${a}`).length, 1)
      yield* streams.stop
    }).pipe(Effect.provide(environment()), Effect.scoped)
  )

  for (const phase of ["linking", "building", "swapping", "settling", "cleaning"]) {
    it.effect(`resumes in "${phase}" when everything is killed there`, () =>
      Effect.gen(function* () {
        yield* clean
        const folder = yield* temporaryFolder("erasure")
        const [a, b] = [`org_phase_a_${phase}`, `org_phase_b_${phase}`]
        for (const id of [a, b]) yield* makeOrganization(id)
        const input = people(generate(5, 200, START), 5)
        let kills = 0
        const first = yield* startStreams({
          ...stores(folder),
          coordinatorProbe: (at) => Effect.suspend(() => (at === phase && kills++ === 0 ? Effect.never : Effect.void))
        })
        yield* append(as(a, input))
        yield* append(as(b, withoutPerson(input, "gone")))
        const job = yield* erase(a, "gone")
        while (kills === 0) yield* Effect.sleep(5)
        yield* first.stop
        const second = yield* startStreams(stores(folder))
        assert.strictEqual((yield* jobEnd(job.id)).status, "ready")
        yield* second.caughtUp
        assert.deepStrictEqual(yield* figuresOf(a), yield* figuresOf(b))
        yield* second.stop
      }).pipe(Effect.provide(environment()), Effect.scoped)
    )
  }
})
