/** The live state of recommendations: the work of its thread, and several processes that follow one log. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { EventLog } from "../../../log/event-log/event-log.ts"
import type { BehaviouralEvent } from "../../../log/event-schema.ts"
import { narrowKey } from "../../../log/fingerprint.ts"
import { encodeRecord } from "../../../log/record.ts"
import { BEHAVIOUR_EVENTS } from "../../../log/topics.ts"
import { LiveModels } from "../../../src/recommendation-models/live/live-models.ts"
import type { Ask } from "../../../src/recommendation-models/live/messages.ts"
import { RecommendModels } from "../../../src/recommendation-models/live/recommend-models.ts"
import { loadSnapshot, storeSnapshot } from "../../../src/recommendation-models/live/snapshot.ts"
import { listParameters } from "../../../src/recommendation-models/params.ts"
import { seeded } from "../../support/attribution-oracle.ts"
import { Erasures, printOf, type Tombstone } from "../../../streams/erasure/erasures.ts"

const NOON = Date.UTC(2026, 10, 2, 12)
const GB = 1_000_000_000
const key = [1, 2, 3, 4] as const
const topic = BEHAVIOUR_EVENTS.name

type View = readonly [session: string, document: string, more?: Partial<BehaviouralEvent>]
const record = (organization: string, views: ReadonlyArray<View>) =>
  encodeRecord({
    schema_version: 1,
    organization_id: organization,
    occurred_at: NOON,
    payload: {
      events: views.map(([session_id, document_id, more]) => ({
        type: "view",
        collection: "goods",
        session_id,
        document_id,
        timestamp: NOON,
        ...more
      }))
    }
  })
const asked = (more: Partial<Ask> = {}): Ask => ({
  organizationId: "org_a",
  collections: ["goods"],
  since: 0,
  chain: ["also_viewed"],
  seeds: ["lamp"],
  visitor: "",
  person: "",
  now: NOON,
  most: 10,
  parameters: listParameters({}),
  ...more
})
const found = (models: LiveModels, more: Partial<Ask> = {}) => models.answer(asked(more)).candidates.map(({ id }) => id)
const folders: Array<string> = []
const folder = () => {
  const made = mkdtempSync(join(tmpdir(), "dowser-recommend-"))
  folders.push(made)
  return made
}
afterEach(() => {
  for (const made of folders.splice(0)) rmSync(made, { recursive: true, force: true })
})

describe("the state of a process", () => {
  const taking = (models: LiveModels) => {
    let offset = models.positions[0]?.next ?? 0
    return (organization: string, views: ReadonlyArray<View>, appendedAt = NOON) => {
      models.take({ partition: 0, offset, appendedAt, value: record(organization, views) })
      models.passed({ partition: 0, next: ++offset, appendedAt })
    }
  }
  it("separates organizations with the same ids, and returns nothing of others", () => {
    const models = new LiveModels(GB)
    const take = taking(models)
    take("org_a", [
      ["v1", "lamp"],
      ["v1", "bulb"]
    ])
    take("org_b", [
      ["v1", "lamp"],
      ["v1", "rug"]
    ])
    expect(found(models)).toEqual(["bulb"])
    expect(found(models, { organizationId: "org_b" })).toEqual(["rug"])
    expect(found(models, { organizationId: "org_c" })).toEqual([])
  })
  it("names the document and the number of visits behind a hit, and follows the visit", () => {
    const models = new LiveModels(GB)
    const take = taking(models)
    take("org_a", [
      ["v1", "lamp"],
      ["v1", "bulb"],
      ["v2", "lamp"],
      ["v2", "bulb"],
      ["me", "lamp"]
    ])
    expect(models.answer(asked({ seeds: [], visitor: "me" })).candidates).toMatchObject([
      { id: "bulb", kind: "also_viewed", source: "lamp", support: 2 }
    ])
  })
  it("reads visits with the parameters that a training found for the model", () => {
    const models = new LiveModels(GB)
    const take = taking(models)
    for (let i = 0; i < 9; i++)
      take("org_a", [
        [`v${i}`, "lamp"],
        [`v${i}`, "bulb"]
      ])
    for (let i = 0; i < 2; i++)
      take("org_a", [
        [`w${i}`, "sofa"],
        [`w${i}`, "rug"]
      ])
    const seeds = ["lamp", "sofa"]
    expect(found(models, { seeds })[0]).toBe("bulb")
    const lastAlone = { transition_decay: 0.1, similar_decay: 0.2 }
    const tuned = (type: "also_viewed" | "personalized") => ({ seeds, parameters: listParameters(lastAlone, type) })
    expect(found(models, tuned("also_viewed"))[0]).toBe("rug")
    // For a personalized model, they do not apply to a visit.
    expect(found(models, tuned("personalized"))[0]).toBe("bulb")
    expect(found(models, { ...tuned("personalized"), chain: ["personalized"] })[0]).toBe("rug")
    expect(found(models, { ...tuned("also_viewed"), chain: ["personalized"] })[0]).toBe("bulb")
  })
  it("is the same after a kill: from a snapshot and later records, or from the log alone", () => {
    const path = folder()
    const live = new LiveModels(GB)
    const take = taking(live)
    const views = Array.from({ length: 300 }, (_, i): View => [
      `v${i % 40}`,
      `p${(i * i * i + i) % 61}`,
      { user_id: `u${i % 7}` }
    ])
    for (let i = 0; i < 20; i++) take("org_a", views.slice(i * 10, i * 10 + 10))
    storeSnapshot(path, live)
    for (let i = 20; i < 30; i++) take("org_a", views.slice(i * 10, i * 10 + 10))
    const restored = new LiveModels(GB),
      fresh = new LiveModels(GB)
    expect(loadSnapshot(path, restored)).toEqual([{ partition: 0, next: 20, appendedAt: NOON }])
    const again = taking(restored),
      anew = taking(fresh)
    for (let i = 20; i < 30; i++) again("org_a", views.slice(i * 10, i * 10 + 10))
    for (let i = 0; i < 30; i++) anew("org_a", views.slice(i * 10, i * 10 + 10))
    for (const chain of [["also_viewed"], ["personalized"], ["popular"]] as const) {
      const ask = asked({ chain, seeds: ["p1", "p4"], visitor: "v3", person: "u3" })
      expect([chain, live.answer(ask).candidates.length > 3]).toEqual([chain, true])
      expect(restored.answer(ask)).toEqual(live.answer(ask))
      expect(fresh.answer(ask)).toEqual(live.answer(ask))
    }
  })
  it("starts empty if the snapshot is damaged", () => {
    const path = folder()
    const live = new LiveModels(GB)
    taking(live)("org_a", [
      ["v1", "lamp"],
      ["v1", "bulb"]
    ])
    storeSnapshot(path, live)
    writeFileSync(join(path, "state"), readFileSync(join(path, "state")).subarray(0, -9))
    const restored = new LiveModels(GB)
    expect(loadSnapshot(path, restored)).toEqual([])
    expect(found(restored)).toEqual([])
  })
  it("ignores events of an earlier collection of the same name", () => {
    const models = new LiveModels(GB)
    const take = taking(models)
    take(
      "org_a",
      [
        ["v1", "lamp"],
        ["v1", "bulb"]
      ],
      NOON
    )
    const since = NOON + 60_000
    expect(models.answer(asked({ since }))).toEqual({ candidates: [], isStale: true })
    // Events that are sent again are then skipped, and later ones count.
    take(
      "org_a",
      [
        ["v1", "lamp"],
        ["v1", "bulb"]
      ],
      NOON
    )
    take(
      "org_a",
      [
        ["v2", "lamp"],
        ["v2", "rug"]
      ],
      since + 1
    )
    expect(models.answer(asked({ since })).isStale).toBe(false)
    expect(found(models, { since })).toEqual(["rug"])
  })
  it("skips erased persons, in records with the user and in the user's visits", () => {
    const models = new LiveModels(GB)
    const own = narrowKey(key, "org_a")
    const tombstone: Tombstone = {
      organizationId: "org_a",
      jobId: "job_1",
      erasedAt: NOON,
      prints: [printOf(own, "user", "ann"), printOf(own, "session", "hers")],
      ends: { [`${topic}/0`]: 2 }
    }
    models.erasures = new Erasures([tombstone], key)
    const take = taking(models)
    take("org_a", [
      ["v1", "lamp", { user_id: "ann" }],
      ["v1", "bulb", { user_id: "ann" }],
      ["v2", "lamp"],
      ["v2", "rug"]
    ])
    take("org_a", [
      ["hers", "lamp"],
      ["hers", "sofa"]
    ])
    take("org_a", [
      ["v9", "lamp", { user_id: "ann" }],
      ["v9", "chair", { user_id: "ann" }]
    ])
    expect(found(models).sort()).toEqual(["chair", "rug"])
  })
  it("evicts the least recently used collection when there is no room", () => {
    const models = new LiveModels(40_000)
    const take = taking(models)
    for (let i = 0; i < 512; i++)
      take(`org_${i % 16}`, [
        ["v", "lamp"],
        ["v", "bulb"]
      ])
    const { bytes, collections, dropped } = models.figures()
    expect(bytes).toBeLessThanOrEqual(40_000)
    expect(collections).toBeLessThan(16)
    expect(dropped).toBeGreaterThan(0)
  })
})

/** The thread may have to wait for a processor; another test covers a search without an answer. */
const ANSWERED_MS = 10_000
const until = async (look: () => Promise<boolean>, within_ms = 60_000) => {
  const last = performance.now() + within_ms
  while (!(await look())) {
    if (performance.now() > last) throw new Error(`not within ${within_ms} ms`)
    await new Promise((settle) => setTimeout(settle, 10))
  }
}
/** One log, the processes over it, and how to stop them. */
const overOneLog = async (partitions: number) => {
  const scope = Effect.runSync(Scope.make())
  const built = await Effect.runPromise(Layer.buildWithScope(EventLog.layerMemory, scope))
  const log = Context.get(built, EventLog)
  let rebuilds: ReadonlyArray<{ readonly organizationId: string; readonly jobId: string }> = []
  const caughtUp = (models: RecommendModels["Service"]) =>
    until(async () => {
      const { isCaughtUp, records_behind } = await Effect.runPromise(models.state)
      return isCaughtUp && records_behind === 0
    })
  return {
    log,
    ask: (asking: typeof rebuilds) => {
      rebuilds = asking
    },
    start: async (path: string | undefined) => {
      const own = Effect.runSync(Scope.make())
      const layer = RecommendModels.layerOver({
        partitions,
        folder: path,
        key,
        tombstones: Effect.succeed([]),
        rebuilds: Effect.sync(() => rebuilds),
        tombstonesEvery_ms: 20
      })
      const services = Layer.provide(layer, Layer.succeed(EventLog, log))
      const models = Context.get(await Effect.runPromise(Layer.buildWithScope(services, own)), RecommendModels)
      await caughtUp(models)
      return { models, stop: () => Effect.runPromise(Scope.close(own, Exit.void)) }
    },
    caughtUp,
    end: () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}

describe("a process", () => {
  it("rebuilds an organization's models on request, and those of no other", async () => {
    const world = await overOneLog(2)
    const { append, rewrite } = world.log
    const [one, other] = [await world.start(undefined), await world.start(undefined)]
    try {
      const write = (partition: number, organization: string, views: ReadonlyArray<View>) =>
        Effect.runPromise(append([{ topic, partition, value: record(organization, views) }]))
      const visit = (session: string, document: string): ReadonlyArray<View> => [
        [session, "lamp"],
        [session, document]
      ]
      await write(0, "org_a", visit("v1", "bulb"))
      await write(1, "org_a", visit("v2", "rug"))
      await write(0, "org_b", visit("v1", "bulb"))
      const known = async ({ models }: typeof one, organizationId: string) => {
        const answer = await Effect.runPromise(models.ask(asked({ organizationId }), ANSWERED_MS))
        return answer?.candidates.map(({ id }) => id).sort()
      }
      for (const process of [one, other])
        await until(
          async () => (await known(process, "org_b"))?.length === 1 && (await known(process, "org_a"))?.length === 2
        )
      // The log's content has changed meanwhile.
      for (const [offset, organization] of ["org_a", "org_b"].entries())
        await Effect.runPromise(rewrite(topic, 0, [{ offset, value: record(organization, []) }]))
      const told: Array<number> = []
      const rebuild = { organizationId: "org_a", jobId: "job_1" }
      const taken = await Effect.runPromise(one.models.rebuild(rebuild, (progress) => told.push(progress)))
      expect([taken, told.at(-1)]).toEqual([2, 1])
      world.ask([rebuild])
      for (const process of [one, other]) {
        await until(async () => (await known(process, "org_a"))?.join() === "rug")
        expect(await known(process, "org_b")).toEqual(["bulb"])
      }
      // The same job is done once; the next one is different.
      await Effect.runPromise(rewrite(topic, 1, [{ offset: 0, value: record("org_a", []) }]))
      await new Promise((settle) => setTimeout(settle, 100))
      expect(await known(other, "org_a")).toEqual(["rug"])
      world.ask([{ ...rebuild, jobId: "job_2" }])
      await until(async () => (await known(other, "org_a"))?.length === 0)
    } finally {
      await Promise.all([one.stop(), other.stop()])
      await world.end()
    }
  })
  it("has the same state after random kills as without a stop, and as after reading the log again", async () => {
    const world = await overOneLog(3)
    const random = seeded(11)
    const below = (n: number) => Math.floor(random() * n)
    const written = Array.from({ length: 120 }, () => {
      const session = below(40)
      const organization = session % 2 === 0 ? "org_a" : "org_b"
      const views = Array.from({ length: 1 + below(4) }, (): View => [
        `v${session}`,
        `p${below(25)}`,
        { user_id: `u${session % 7}`, type: below(2) === 0 ? "purchase" : "view", timestamp: NOON + below(1_000) }
      ])
      // Each record has one person's events, because the order of events in one moment is undefined across partitions.
      return { topic, partition: (session % 7) % 3, value: record(organization, views) }
    })
    /** Sorted by id, because documents with equal scores are in the order in which they came. */
    const all = async ({ models }: { readonly models: RecommendModels["Service"] }) => {
      const answers: Array<unknown> = []
      for (const organizationId of ["org_a", "org_b"])
        for (const chain of [["also_viewed"], ["personalized"], ["popular"], ["frequently_bought_together"]] as const) {
          const ask = asked({ organizationId, chain, seeds: ["p1", "p4"], visitor: "v3", person: "u3", most: 100 })
          const { candidates } = (await Effect.runPromise(models.ask({ ...ask, now: NOON + 5_000 }, ANSWERED_MS)))!
          const told = candidates.map(({ id, score }) => `${id} ${score.toFixed(9)}`).sort()
          expect([organizationId, chain, told.length > 3]).toEqual([organizationId, chain, true])
          answers.push([organizationId, ...chain, ...told])
        }
      return answers
    }
    const live = await world.start(undefined)
    const path = folder()
    const killed: Array<string> = []
    let mortal = await world.start(path)
    try {
      for (let from = 0; from < written.length;) {
        const next = from + 1 + below(25)
        for (const one of written.slice(from, next)) await Effect.runPromise(world.log.append([one]))
        from = next
        // A stop stores the state; a later kill leaves what was stored here.
        await mortal.stop()
        const left = folder()
        cpSync(path, left, { recursive: true })
        killed.push(left)
        mortal = await world.start(path)
      }
      await world.caughtUp(live.models)
      // Lists of popular documents are at most a second old.
      await new Promise((settle) => setTimeout(settle, 1_100))
      const expected = await all(live)
      expect(await all(mortal)).toEqual(expected)
      for (const left of [undefined, ...killed.filter(() => below(2) === 0)]) {
        const back = await world.start(left)
        expect(await all(back)).toEqual(expected)
        await back.stop()
      }
    } finally {
      await Promise.all([live.stop(), mortal.stop()])
      await world.end()
    }
  })
})

describe("five processes over one log", () => {
  it("know a click within two seconds, forget erased persons, and resume where they stopped", async () => {
    const scope = Effect.runSync(Scope.make())
    const log = await Effect.runPromise(Layer.buildWithScope(EventLog.layerMemory, scope))
    const { append } = Context.get(log, EventLog)
    let tombstones: ReadonlyArray<Tombstone> = []
    const process = async (path: string, own: Scope.Closeable) => {
      const layer = RecommendModels.layerOver({
        partitions: 1,
        folder: path,
        key,
        tombstones: Effect.sync(() => tombstones),
        tombstonesEvery_ms: 50
      })
      const built = await Effect.runPromise(
        Layer.buildWithScope(Layer.provide(layer, Layer.succeed(EventLog, Context.get(log, EventLog))), own)
      )
      return Context.get(built, RecommendModels)
    }
    const send = (views: ReadonlyArray<View>) =>
      Effect.runPromise(append([{ topic, partition: 0, value: record("org_a", views) }]))
    const first = async (models: RecommendModels["Service"]) =>
      (await Effect.runPromise(models.ask(asked({ now: NOON }), ANSWERED_MS)))?.candidates[0]?.id
    const scopes = Array.from({ length: 5 }, () => Effect.runSync(Scope.make()))
    const paths = scopes.map(() => folder())
    const all = await Promise.all(scopes.map((own, i) => process(paths[i]!, own)))
    try {
      await until(async () =>
        (await Promise.all(all.map(({ state }) => Effect.runPromise(state)))).every(({ isCaughtUp }) => isCaughtUp)
      )
      await send([
        ["v1", "lamp"],
        ["v1", "bulb"]
      ])
      for (const models of all) await until(async () => (await first(models)) === "bulb")
      // The first one stops and returns, and has what came meanwhile.
      await Effect.runPromise(Scope.close(scopes[0]!, Exit.void))
      for (let i = 0; i < 3; i++)
        await send([
          [`w${i}`, "lamp"],
          [`w${i}`, "rug"]
        ])
      const own = Effect.runSync(Scope.make())
      scopes[0] = own
      const back = await process(paths[0]!, own)
      await until(async () => (await first(back)) === "rug")
      const prints = [printOf(narrowKey(key, "org_a"), "session", "v1")]
      tombstones = [
        { organizationId: "org_a", jobId: "job_1", erasedAt: NOON, prints, ends: { [`${topic}/0`]: 1_000 } }
      ]
      const knows = async (models: RecommendModels["Service"], id: string) =>
        (await Effect.runPromise(models.ask(asked({ now: NOON }), ANSWERED_MS)))?.candidates.some(
          (each) => each.id === id
        ) === true
      for (const models of [back, ...all.slice(1)]) {
        await until(async () => !(await knows(models, "bulb")) && (await knows(models, "rug")))
      }
    } finally {
      for (const own of scopes) await Effect.runPromise(Scope.close(own, Exit.void))
      await Effect.runPromise(Scope.close(scope, Exit.void))
    }
  })
})
