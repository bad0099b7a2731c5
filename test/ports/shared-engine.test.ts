/**
 * One engine for several processes: what each process knows and when, who may connect, and how long a silent process
 * may delay the others.
 */
import { createConnection, createServer, type Socket } from "node:net"
import { afterEach, describe, expect, it } from "vitest"
import { AnswerBudget } from "../../engine-sdk/src/budget/answer-budget.ts"
import { createEngine, type SearchEngine } from "../../engine-sdk/src/mod.ts"
import { connectEngine, shareEngine, type SharedEngine } from "../../engine-sdk/src/remote/mod.ts"
import { delegatingEngine } from "../../src/ports/engine/delegating-engine.ts"
import { putOf, suiteField, suitePlan, suiteSchema, suiteText } from "../../engine-sdk/src/testing/engine-suite.ts"

const TOKEN = "the installation's own"
const ends: Array<() => Promise<unknown>> = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})
const shared = async (engine: SearchEngine = createEngine(), port = 0): Promise<SharedEngine> => {
  const one = await shareEngine(engine, { host: "127.0.0.1", port, token: TOKEN, lease_ms: 400 })
  ends.push(one.close)
  return one
}
const connected = async (port: number, token = TOKEN) => {
  const engine = await connectEngine({ host: "127.0.0.1", port, token })
  ends.push(() => engine.close())
  return engine
}
const goods = (name = "goods") => suiteSchema(name, [suiteField("title", "string"), suiteField("n", "int64")])
const until = async (is: () => boolean, within_ms = 60_000): Promise<void> => {
  const last = performance.now() + within_ms
  while (!is()) {
    if (performance.now() > last) throw new Error(`not within ${within_ms} ms`)
    await new Promise((settle) => setTimeout(settle, 5))
  }
}
/** A proxy to the port that can be frozen in both directions. */
const tap = async (port: number) => {
  const sockets: Array<Socket> = []
  let isStill = false
  const server = createServer((near) => {
    const far = createConnection({ host: "127.0.0.1", port })
    sockets.push(near, far)
    for (const [from, to] of [
      [near, far],
      [far, near]
    ] as const) {
      from.on("data", (bytes: Uint8Array) => to.write(bytes))
      from.on("error", () => to.destroy())
      from.on("close", () => {
        if (!isStill) to.destroy()
      })
    }
  })
  await new Promise<void>((settle) => server.listen(0, "127.0.0.1", settle))
  ends.push(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return {
    port: (server.address() as { readonly port: number }).port,
    hold: () => {
      isStill = true
      for (const socket of sockets) socket.pause()
    }
  }
}

describe("an engine that several processes use", () => {
  it("is the same for each of them as soon as a change is answered, whichever made it, in two organizations", async () => {
    const owner = await shared()
    const [a, b] = [await connected(owner.port), await connected(owner.port)]
    const all = [owner.engine, a, b]
    for (const [i, by] of all.entries()) {
      for (const namespace of ["org_1", "org_2"]) {
        expect((await by.createCollection(namespace, goods(`goods${i}`), i)).ok).toBe(true)
        const documents = [1, 2, 3]
          .slice(namespace === "org_1" ? 0 : 1)
          .map((n) => putOf({ id: `${n}`, title: "cup", n }))
        await by.write(namespace, `goods${i}`, documents)
      }
      for (const seen of all) {
        expect(seen.describeCollection("org_1", `goods${i}`)?.num_documents).toBe(3)
        expect(seen.describeCollection("org_2", `goods${i}`)?.num_documents).toBe(2)
        const [found] = await seen.search("org_2", [suitePlan(`goods${i}`, { text: suiteText(["cup"], ["title"]) })])
        expect(found.ok && (found.value.hits ?? []).map(({ document }) => document.id)).toEqual(["3", "2"])
      }
    }
    const names = (engine: SearchEngine) => engine.listCollections("org_1").map(({ schema }) => schema.name)
    expect(all.map(names)).toEqual(all.map(() => ["goods2", "goods1", "goods0"]))
    const before = [a, b].map((each) => [each.removals("org_1"), each.removals("org_2")] as const)
    await b.write("org_1", "goods0", [{ kind: "delete", id: "1" }])
    await owner.engine.dropCollection("org_1", "goods1")
    expect([a, b].map((each) => [each.removals("org_1"), each.removals("org_2")])).toEqual(
      before.map(([one, two]) => [one + 2, two])
    )
    await a.alterCollection("org_1", "goods2", { drop: ["n"], add: [] })
    for (const seen of all) {
      expect(names(seen)).toEqual(["goods2", "goods0"])
      expect(seen.describeCollection("org_1", "goods0")?.num_documents).toBe(2)
      expect(seen.describeCollection("org_1", "goods2")?.schema.fields.map(({ name }) => name)).toEqual(["title"])
    }
    // A process that connects later knows all of it.
    expect(names(await connected(owner.port))).toEqual(["goods2", "goods0"])
  })
  it("takes documents unchanged: any name of a member, long numbers, lines that are not JSON", async () => {
    const owner = await shared()
    const engine = await connected(owner.port)
    await engine.createCollection("org_1", goods(), 1)
    const hostile = '{"id":"1","title":"cup","n":9007199254740993,"__proto__":{"isAdmin":true},"constructor":1}'
    const line = (document: string) => ({ kind: "put", action: "create", dirtyValues: undefined, document }) as const
    const written = await engine.write("org_1", "goods", [
      line(hostile),
      line("{"),
      putOf({ id: "2", title: "mug", n: 9_007_199_254_740_995n as never })
    ])
    const own = await owner.engine.write("org_1", "goods", [line("{")])
    if (!written.ok || !own.ok) throw new Error("not written")
    expect(written.value.map(({ result }) => result.ok)).toEqual([true, false, true])
    expect(written.value[1]).toEqual(own.value[0])
    const read = await engine.get("org_1", "goods", ["1", "2", "3"])
    const [one, two, three] = read.ok ? read.value : []
    expect(Object.keys(one!).sort()).toEqual(["__proto__", "constructor", "id", "n", "title"])
    expect([one!["n"], two!["n"], three]).toEqual([9_007_199_254_740_993n, 9_007_199_254_740_995n, undefined])
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined()
  })
  it("rejects connections with another token, and those that send nothing or too much", async () => {
    const owner = await shared()
    await expect(connected(owner.port, "another")).rejects.toThrow("The token is another one.")
    const raw = (bytes: Uint8Array) =>
      new Promise<void>((settle) => {
        const socket = createConnection({ host: "127.0.0.1", port: owner.port }, () => socket.write(bytes))
        socket.on("error", () => {})
        socket.on("close", () => settle())
        socket.resume()
      })
    // A length beyond that of a greeting, and bytes that are no message.
    await raw(Uint8Array.of(0, 1, 0, 0))
    await raw(Uint8Array.of(0, 0, 0, 2, 0xc1, 0xc1))
  })
  it("waits for a silent process at most for a lease, after which that process answers no request any more", async () => {
    const owner = await shared()
    const way = await tap(owner.port)
    const [near, far] = [await connected(owner.port), await connected(way.port)]
    await owner.engine.createCollection("org_1", goods(), 1)
    expect(far.describeCollection("org_1", "goods")).toBeDefined()
    way.hold()
    const began = performance.now()
    await near.createCollection("org_1", goods("later"), 2)
    // The silent process knows that its state is outdated, and says so.
    expect([far.describeCollection("org_1", "later"), typeof far.absence]).toEqual([undefined, "string"])
    expect(performance.now() - began).toBeLessThan(1_500)
    const again = performance.now()
    await near.write("org_1", "goods", [putOf({ id: "1", title: "cup", n: 1 })])
    expect(performance.now() - again).toBeLessThan(800)
    expect(far.health()).toMatchObject({ ok: false, error: { kind: "Unavailable" } })
  })
  it("is reported unavailable while it is away, and everything that changed is known when it is back", async () => {
    const engine = createEngine()
    const first = await shared(engine)
    const remote = await connected(first.port)
    await remote.createCollection("org_1", goods(), 1)
    const removals = remote.removals("org_1")
    await first.close()
    await until(() => remote.absence !== undefined)
    const [refused] = await remote.search("org_1", [suitePlan("goods")])
    expect(refused).toMatchObject({ ok: false, error: { kind: "Unavailable" } })
    expect(await remote.write("org_1", "goods", [])).toMatchObject({ ok: false, error: { kind: "Unavailable" } })
    await engine.createCollection("org_1", goods("meanwhile"), 2)
    await shared(engine, first.port)
    await until(() => remote.absence === undefined)
    expect(remote.listCollections("org_1").map(({ schema }) => schema.name)).toEqual(["meanwhile", "goods"])
    // Answers cached before are outdated, because removals in between were missed.
    expect(remote.removals("org_1")).toBeGreaterThan(removals)
    const [found] = await remote.search("org_1", [suitePlan("goods")])
    expect(found.ok && found.value.found).toBe(0)
  })
  it("is notified of cancelled requests, and keeps to the size and time that a request allows", async () => {
    const engine = createEngine()
    let heard: (() => boolean) | undefined
    const slow: SearchEngine = {
      ...delegatingEngine(() => engine),
      search: async (namespace, plans, budget) => {
        const isGivenUp = (heard = budget!.isGivenUp!)
        while (plans[0]!.limit === 1 && !isGivenUp()) await new Promise((settle) => setTimeout(settle, 5))
        return engine.search(namespace, plans, budget)
      }
    }
    const remote = await connected((await shared(slow)).port)
    await remote.createCollection("org_1", goods(), 1)
    const documents = Array.from({ length: 50 }, (_, n) => putOf({ id: `${n}`, title: "cup ".repeat(500), n }))
    await remote.write("org_1", "goods", documents)
    let isGivenUp = false
    const waiting = remote.search("org_1", [suitePlan("goods", { limit: 1 })], {
      limit_ms: 1_000,
      used_ms: 0,
      isGivenUp: () => isGivenUp
    })
    await until(() => heard !== undefined)
    expect(heard!()).toBe(false)
    isGivenUp = true
    expect((await waiting)[0]!.ok).toBe(true)
    const budget = { limit_ms: 1_000, used_ms: 0 }
    const small = suitePlan("goods", { limit: 50, budget: new AnswerBudget(4_000) })
    const [refused] = await remote.search("org_1", [small], budget)
    expect(refused).toMatchObject({ ok: false, error: { kind: "Invalid", parameter: "documents" } })
    const large = new AnswerBudget(1_000_000)
    const [found] = await remote.search("org_1", [suitePlan("goods", { limit: 50, budget: large })], budget)
    expect([found.ok && found.value.hits?.length, large.held > 100_000, budget.used_ms > 0]).toEqual([50, true, true])
  })
})
