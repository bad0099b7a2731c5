/** Faults of a server of the Typesense API: nodes that end, hang or lie, and names that must not collide. */
import type { ServerResponse } from "node:http"
import { afterEach, describe, expect, it } from "vitest"
import { AnswerBudget } from "../../engine-sdk/src/budget/answer-budget.ts"
import { TypesenseEngine, type TypesenseOptions } from "../../engine-sdk/src/typesense/mod.ts"
import { Gate } from "../../engine-sdk/src/typesense/gate.ts"
import { ServerNames } from "../../engine-sdk/src/typesense/names.ts"
import { Nodes } from "../../engine-sdk/src/typesense/nodes.ts"
import { putOf, suiteField, suitePlan, suiteSchema } from "../../engine-sdk/src/testing/engine-suite.ts"
import { typesenseOptionsOf } from "../../src/runtime/typesense.ts"
import { seeded } from "../support/engine-lab.ts"
import { type Answering, keepingToTheApi, startNode, type TestNode } from "../support/typesense-node.ts"

const ends: Array<() => Promise<unknown>> = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})
const node = async (answer: Answering): Promise<TestNode> => {
  const own = await startNode(answer)
  ends.push(own.stop)
  return own
}
const opened = async (nodes: ReadonlyArray<TestNode>, more: Partial<TypesenseOptions> = {}) => {
  const engine = await TypesenseEngine.open({
    nodes: nodes.map(({ address }) => address),
    apiKey: "k",
    follow_ms: 60_000,
    ...more
  })
  if (!engine.ok) throw new Error(engine.error.message)
  ends.push(() => engine.value.close())
  return engine.value
}
const goods = suiteSchema("goods", [suiteField("title", "string", { facet: true })])
const filled = async (engine: TypesenseEngine) => {
  const made = await engine.createCollection("a", goods, 1)
  expect(made.ok || made.error).toBe(true)
  await engine.write("a", "goods", [putOf({ id: "1", title: "cup" })])
}
const saying =
  (text: string, status = 200): Answering =>
  (_request, response) => {
    response.writeHead(status, { "content-type": "application/json" }).end(text)
  }

describe("names on the server", () => {
  const names = new ServerNames("dowser")
  const units = [
    "a",
    "A",
    "0",
    "_",
    "-",
    ".",
    "/",
    " ",
    "`",
    "$",
    "(",
    "é",
    "漢",
    "😀",
    "\ud83d",
    "\ude00",
    "_002d",
    "__",
    "%2d"
  ]
  const random = seeded(7)
  const text = (): string =>
    Array.from({ length: 1 + Math.floor(random() * 4) }, () => units[Math.floor(random() * units.length)]!).join("")

  it("are different for every pair of namespace and name, and can be read back", () => {
    const pairs = new Map<string, string>()
    for (let i = 0; i < 10_000; i++) {
      const [namespace, name] = [text(), text()]
      const served = names.of(namespace, name)
      const pair = JSON.stringify([namespace, name])
      expect(pairs.get(served) ?? pair).toBe(pair)
      pairs.set(served, pair)
      expect(names.read(served)).toEqual({ namespace, name })
      expect(served).toMatch(/^[A-Za-z0-9_-]+$/)
    }
  })
  it("of others are ignored: other prefixes, names that are never written here", () => {
    for (const name of [
      "dowser",
      "dowser-a",
      "dowser-a-b-c",
      "other-a-b",
      "dowser-x-a-b",
      "dowser-a-_00",
      "dowser-a-_0041"
    ])
      expect([name, names.read(name)]).toEqual([name, undefined])
    expect(names.read(new ServerNames("dowser-a").of("b", "c"))).toBeUndefined()
  })
  it("are shown as the tenant knows them, and others' are not replaced", () => {
    const mine = names.of("a-b", "my goods/é")
    expect(names.translate("a-b", `Collection \`${mine}\` has ${mine}.`)).toBe(
      "Collection `my goods/é` has my goods/é."
    )
    expect(names.translate("a", `\`${mine}\``)).toBe(`\`${mine}\``)
  })
})

describe("nodes", () => {
  it("are used in turn, those that failed last, and are tried again after some seconds", () => {
    let now_ms = 0
    const nodes = new Nodes(["http://a/", "http://b", "http://c", "http://c"], () => now_ms)
    expect(Array.from({ length: 4 }, () => nodes.order()[0])).toEqual(["http://a", "http://b", "http://c", "http://a"])
    nodes.failed("http://b")
    for (let i = 0; i < 6; i++) expect(nodes.order().at(-1)).toBe("http://b")
    now_ms = 5_001
    nodes.failed("http://a")
    expect(nodes.order()).toEqual(["http://c", "http://b", "http://a"])
    nodes.answered("http://b")
    now_ms = 20_000
    // A node that failed and has not answered since comes after those that have.
    for (let i = 0; i < 3; i++) expect(nodes.order().at(-1)).toBe("http://a")
  })
  it("that end between requests are skipped, for searches and for writes, which are not repeated", async () => {
    const answer = keepingToTheApi()
    const [one, two] = [await node(answer), await node(answer)]
    const engine = await opened([one, two])
    await filled(engine)
    // Closes the connection as soon as it has received a whole request.
    one.answer = (request) => void request.socket.destroy()
    for (let i = 0; i < 6; i++) expect((await engine.search("a", [suitePlan("goods")]))[0]).toMatchObject({ ok: true })
    const before = one.asked.length
    for (let i = 0; i < 6; i++) expect((await engine.search("a", [suitePlan("goods")]))[0]).toMatchObject({ ok: true })
    // The failed node gets no requests.
    expect(one.asked.length).toBe(before)
    two.answer = (request) => void request.socket.destroy()
    const asked = () => [...one.asked, ...two.asked].filter((each) => each.includes("import")).length
    const imports = asked()
    const create = { ...putOf({ id: "2", title: "mug" }), action: "create" } as const
    const lost = await engine.write("a", "goods", [create])
    expect(lost).toMatchObject({ ok: true, value: [{ result: { ok: false, error: { kind: "Unavailable" } } }] })
    expect(asked() - imports).toBe(1)
    await engine.write("a", "goods", [putOf({ id: "2", title: "mug" })])
    // Some runtimes repeat safe requests more often than they should.
    expect(asked() - imports).toBeGreaterThanOrEqual(3)
    const puts = asked()
    await engine.write("a", "goods", [putOf({ title: "without an id" })])
    expect(asked() - puts).toBe(1)
  })
  it("that hang or are not ready cause no failed search while another one answers", async () => {
    const answer = keepingToTheApi()
    const [one, two] = [await node(answer), await node(answer)]
    const engine = await opened([one, two])
    await filled(engine)
    one.answer = () => {}
    for (let i = 0; i < 2; i++)
      expect((await engine.search("a", [suitePlan("goods", { cutoff_ms: 200 })]))[0]).toMatchObject({ ok: true })
    one.answer = saying('{"message":"Not Ready or Lagging"}', 503)
    const again = await opened([one, two])
    const create = { ...putOf({ id: "3", title: "mug" }), action: "create" } as const
    const written = await again.write("a", "goods", [create])
    expect(written).toMatchObject({ ok: true, value: [{ result: { ok: true } }] })
  })
})

describe("a server that answers invalid text", () => {
  const hit = '{"document":{"id":"1"},"highlight":{}}'
  const searches: ReadonlyArray<readonly [string, string]> = [
    ["no JSON", "<html>"],
    ["nothing", ""],
    ["a list", "[]"],
    ["null", "null"],
    ["results that are none", '{"results":{"length":1}}'],
    ["another number of them", '{"results":[]}'],
    ["a result that is none", '{"results":[7]}'],
    ["no count", `{"results":[{"hits":[${hit}],"out_of":1}]}`],
    ["a count below zero", '{"results":[{"found":-1,"hits":[],"out_of":1}]}'],
    ["hits that are none", '{"results":[{"found":1,"hits":{"0":1},"out_of":1}]}'],
    ["a hit without a document", '{"results":[{"found":1,"hits":[{"highlight":{}}],"out_of":1}]}'],
    ["a score that is a text", '{"results":[{"found":1,"hits":[{"document":{},"text_match":"x"}],"out_of":1}]}'],
    ["a facet without counts", '{"results":[{"found":1,"hits":[],"facet_counts":[{"field_name":"x"}],"out_of":1}]}'],
    ["an error without a code", '{"results":[{"error":"x"}]}'],
    ["depth", `{"results":${"[".repeat(100_000)}${"]".repeat(100_000)}}`]
  ]
  it("is unavailable, whatever it answers to a search", async () => {
    const server = await node(keepingToTheApi())
    const engine = await opened([server])
    await filled(engine)
    for (const [what, text] of searches) {
      server.answer = saying(text)
      const [found] = await engine.search("a", [suitePlan("goods")])
      expect([what, !found!.ok && found!.error.kind]).toEqual([what, "Unavailable"])
    }
    server.answer = saying(
      '{"results":[{"found":1,"out_of":1,"hits":[{"document":{"__proto__":{"isAdmin":true},"id":"1"}}]}]}'
    )
    const [found] = await engine.search("a", [suitePlan("goods")])
    expect(Object.keys(found!.ok ? found!.value.hits![0]!.document : {})).toEqual(["__proto__", "id"])
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined()
  })
  it("fails other requests for the same reason, and nothing else", async () => {
    const server = await node(keepingToTheApi())
    const engine = await opened([server])
    await filled(engine)
    server.answer = saying("what?")
    const failed = [
      await engine.scan("a", { collection: "goods", filter: undefined, limit: 5 }),
      await engine.get("a", "goods", ["1"]),
      await engine.get("a", "goods", ["`"]),
      await engine.createCollection("a", { ...goods, name: "more" }, 1),
      await engine.alterCollection("a", "goods", { drop: [], add: [suiteField("n", "int32")] }),
      await engine.dropCollection("a", "goods"),
      await engine.health()
    ]
    expect(failed.map((each) => !each.ok && each.error.kind)).toEqual(failed.map(() => "Unavailable"))
    const written = await engine.write("a", "goods", [putOf({ id: "1", title: "x" }), { kind: "delete", id: "1" }])
    expect(written.ok && written.value.map(({ result }) => !result.ok && result.error.kind)).toEqual([
      "Unavailable",
      "Unavailable"
    ])
    // The known list is kept.
    expect(engine.listCollections("a").map(({ schema }) => schema.name)).toEqual(["goods"])
    server.answer = saying('{"message":"Forbidden - a valid `x-typesense-api-key` header must be sent."}', 401)
    expect(await engine.health()).toMatchObject({
      error: { message: "The search engine's server refuses the key that it was given." }
    })
  })
  it("that has collections of others, or broken ones of ours, does not mislead", async () => {
    const server = await node(keepingToTheApi())
    const engine = await opened([server])
    await filled(engine)
    const own = (metadata: unknown) => ({ name: "dowser-a-x", num_documents: 1, fields: [], metadata })
    const list = [
      { name: "theirs", fields: [], num_documents: 1 },
      own(undefined),
      own({ dowser: 1 }),
      own({ dowser: { created_at: 1, schema: "{" } }),
      own({ dowser: { created_at: 1, schema: '{"name":"y","fields":[]}' } }),
      own({ dowser: { created_at: 1, schema: '{"name":"x","fields":[{"name":"n","type":"nonsense"}]}' } })
    ]
    server.answer = saying(JSON.stringify(list))
    const other = await opened([server])
    expect(other.namespaces()).toEqual([])
    server.answer = saying(JSON.stringify([...list, 7]))
    const refused = await TypesenseEngine.open({ nodes: [server.address], apiKey: "k" })
    expect(refused).toMatchObject({ ok: false, error: { kind: "Unavailable" } })
  })
})

describe("collections that are kept in memory", () => {
  it("are as this process changed them, though a listing that began earlier returns later", async () => {
    const answer = keepingToTheApi()
    const server = await node(answer)
    const engine = await opened([server], { follow_ms: 10 })
    await filled(engine)
    let release = (): void => {}
    const held = new Promise<void>((settle) => {
      release = settle
    })
    let isHeld = false
    // The list is read before the change, and returned after it.
    server.answer = async (request, response, body) => {
      if (isHeld || !request.url!.startsWith("/collections?")) return answer(request, response, body)
      isHeld = true
      const wire = { text: "", status: 200 }
      const kept = {
        writeHead: (status: number) => ({ end: (text: string) => void Object.assign(wire, { status, text }) })
      }
      await answer(request, kept as unknown as ServerResponse, body)
      await held
      response.writeHead(wire.status).end(wire.text)
    }
    const until = async (holds: () => boolean): Promise<void> => {
      while (!holds()) await new Promise((settle) => setTimeout(settle, 5))
    }
    await until(() => isHeld)
    await engine.alterCollection("a", "goods", { drop: [], add: [suiteField("n", "int32")] })
    await engine.createCollection("a", { ...goods, name: "more" }, 2)
    const looks = () => server.asked.filter((each) => each.startsWith("GET /collections?")).length
    const before = looks()
    const seen: Array<string> = []
    release()
    await until(() => {
      seen.push(
        engine
          .listCollections("a")
          .map(({ schema }) => `${schema.name} ${schema.fields.length}`)
          .join()
      )
      return looks() > before
    })
    expect([...new Set(seen)]).toEqual(["more 1,goods 2"])
  })
  it("of another process are known after a listing, and gone after one", async () => {
    const server = await node(keepingToTheApi())
    const [one, two] = [await opened([server], { follow_ms: 10 }), await opened([server])]
    await filled(two)
    const known = () => one.describeCollection("a", "goods")?.num_documents
    for (let i = 0; i < 12_000 && known() !== 1; i++) await new Promise((settle) => setTimeout(settle, 5))
    expect(known()).toBe(1)
    await two.dropCollection("a", "goods")
    for (let i = 0; i < 12_000 && known() !== undefined; i++) await new Promise((settle) => setTimeout(settle, 5))
    expect([known(), one.namespaces()]).toEqual([undefined, []])
  })
})

describe("bounds", () => {
  it("apply to an answer, both the server's and the request's", async () => {
    const server = await node(keepingToTheApi())
    const engine = await opened([server], { answerBytes_max: 4_000 })
    await engine.createCollection("a", goods, 1)
    await engine.write(
      "a",
      "goods",
      Array.from({ length: 3 }, (_, i) => putOf({ id: `${i}`, title: "cup ".repeat(500) }))
    )
    const [large] = await engine.search("a", [suitePlan("goods")])
    expect(large).toMatchObject({ ok: false, error: { kind: "Invalid" } })
    const budget = new AnswerBudget(500)
    const [held] = await engine.search("a", [suitePlan("goods", { limit: 1, budget })])
    expect(held).toMatchObject({ ok: false, error: { kind: "Invalid" } })
    expect(budget.held).toBeGreaterThan(2_000)
  })
  it("leave each tenant its places, and refuse requests that wait too long", async () => {
    const gate = new Gate(3, 2)
    let release = (): void => {}
    const held = new Promise<void>((settle) => {
      release = settle
    })
    const entered: Array<string> = []
    const through = (namespace: string, wait_ms = 10_000) =>
      gate.through(namespace, wait_ms, async () => {
        entered.push(namespace)
        await held
        return { ok: true, value: namespace } as const
      })
    const running = [through("a"), through("a"), through("a"), through("b")]
    const late = await through("a", 1)
    expect(late).toMatchObject({ ok: false, error: { kind: "Overloaded" } })
    expect(entered).toEqual(["a", "a", "b"])
    release()
    expect((await Promise.all(running)).every(({ ok }) => ok)).toBe(true)
    expect(entered).toEqual(["a", "a", "b", "a"])
  })
})

describe("TYPESENSE_* variables", () => {
  const given = { TYPESENSE_NODES: "http://a:8108, https://b/v1", TYPESENSE_API_KEY: "k" }
  it("name the server and the key", () => {
    expect(typesenseOptionsOf(given)).toEqual({ nodes: ["http://a:8108", "https://b/v1"], apiKey: "k" })
    expect(typesenseOptionsOf({ ...given, TYPESENSE_PREFIX: "p", TYPESENSE_KEY_HEADER: "X-SVC-API-KEY" })).toEqual({
      nodes: ["http://a:8108", "https://b/v1"],
      apiKey: "k",
      prefix: "p",
      keyHeader: "X-SVC-API-KEY"
    })
  })
  it("that are missing or invalid are all refused by name", () => {
    const named = (environment: Readonly<Record<string, string>>) =>
      [...String(typesenseOptionsOf(environment)).matchAll(/(?:^|\. |\) ?\.? )(TYPESENSE_\w+)/g)].map(
        ([, name]) => name
      )
    expect(named({})).toEqual(["TYPESENSE_NODES", "TYPESENSE_API_KEY"])
    expect(
      named({
        TYPESENSE_NODES: "a:8108",
        TYPESENSE_API_KEY: "k",
        TYPESENSE_PREFIX: "a b",
        TYPESENSE_KEY_HEADER: "x: y"
      })
    ).toEqual(["TYPESENSE_NODES", "TYPESENSE_PREFIX", "TYPESENSE_KEY_HEADER"])
    expect(named({ ...given, TYPESENSE_NODES: "https://u:p@b" })).toEqual(["TYPESENSE_NODES"])
  })
})
