/**
 * The engine over a server of the Typesense API, tested against two real processes of this program that share one
 * embedded engine: the suite of every engine, agreement with the engine in memory, tenants, the death of a node, and a
 * process that has no other engine (`--engine http`).
 */
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { SearchAnswer, SearchPlan } from "../../engine-sdk/src/plan.ts"
import { TypesenseEngine, type TypesenseOptions } from "../../engine-sdk/src/typesense/mod.ts"
import {
  engineSuite,
  type EngineUnderTest,
  putOf,
  suiteField,
  suitePlan,
  suiteSchema,
  suiteText
} from "../../engine-sdk/src/testing/engine-suite.ts"
import { vectorSuite } from "../../engine-sdk/src/testing/vector-suite.ts"
import { freePort } from "../../src/runtime/free-port.ts"
import { measureAgreement } from "../support/agreement.ts"
import { createLab } from "../support/engine-lab.ts"
import { inInstallation, type Process, run } from "../support/installation.ts"
import { kafkaMissing } from "../support/kafka.ts"
import { kindsOfValues } from "../support/kinds-of-values.ts"

interface Servers {
  readonly key: string
  readonly nodes: ReadonlyArray<string>
  readonly second: Process
  readonly third: Process
}
const started = (ready: (servers: Servers) => void, ended: Promise<void>) =>
  inInstallation(1, (place) =>
    Effect.gen(function* () {
      const [enginePort, ...ports] = yield* Effect.promise(() =>
        Promise.all([freePort(), freePort(), freePort(), freePort()])
      )
      const start = (name: string, port: number, args: ReadonlyArray<string>, variables = {}) =>
        run(place, name, ["start", "--mode", "distributed", "--port", String(port), ...args], variables)
      const first = yield* start("owner", ports[0]!, ["--engine-port", String(enginePort)])
      const operatorKey = readFileSync(join(place.folder, "owner", "operator.key"), "utf8").trim()
      const key = first.ready.full_key!
      const nodes = [first.ready.base_url!, `http://127.0.0.1:${ports[1]}/v1`]
      const sharing = ["--operator-key", operatorKey]
      const [second, third] = yield* Effect.all(
        [
          start("b", ports[1]!, ["--engine", "remote", "--engine-address", `127.0.0.1:${enginePort}`, ...sharing]),
          start("c", ports[2]!, ["--engine", "http", ...sharing], {
            TYPESENSE_NODES: nodes.join(","),
            TYPESENSE_API_KEY: key,
            TYPESENSE_KEY_HEADER: "X-SVC-API-KEY",
            TYPESENSE_PREFIX: "front"
          })
        ],
        { concurrency: 2 }
      )
      ready({ key, nodes, second, third })
      yield* Effect.promise(() => ended)
    })
  )

const idsOf = ({ hits }: SearchAnswer): ReadonlyArray<unknown> => (hits ?? []).map(({ document }) => document.id)
const timeless = (body: unknown): unknown =>
  JSON.parse(JSON.stringify(body, (key, value) => (/^(search_time_ms|created_at)$/.test(key) ? 0 : value)))

const missing = kafkaMissing()
describe.skipIf(missing !== undefined)(
  `a server of the Typesense API${missing === undefined ? "" : `: ${missing}`}`,
  () => {
    let servers: Servers
    let end = (): void => {}
    let over: Promise<unknown> = Promise.resolve()
    let installations = 0
    const opened = async (more: Partial<TypesenseOptions> = {}): Promise<TypesenseEngine> => {
      const { key, nodes } = servers
      const engine = await TypesenseEngine.open({
        nodes,
        apiKey: key,
        keyHeader: "x-svc-api-key",
        prefix: `t${installations++}`,
        follow_ms: 200,
        ...more
      })
      if (!engine.ok) throw new Error(engine.error.message)
      return engine.value
    }
    const make = async (): Promise<EngineUnderTest> => {
      const engine = await opened()
      return { engine, dispose: () => engine.close() }
    }
    const answer = async (engine: TypesenseEngine, namespace: string, plan: SearchPlan): Promise<SearchAnswer> => {
      const [result] = await engine.search(namespace, [plan])
      if (!result!.ok) throw new Error(result!.error.message)
      return result!.value
    }
    beforeAll(async () => {
      await new Promise<void>((settle, reject) => {
        const ended = new Promise<void>((finish) => {
          end = finish
        })
        const ready = (all: Servers): void => {
          servers = all
          settle()
        }
        over = Effect.runPromise(started(ready, ended)).catch(reject)
      })
    })
    afterAll(async () => {
      end()
      await over
    })

    const suite = {
      describe,
      it: (name: string, body: () => Promise<void>): void => void it(name, body),
      expect
    }
    engineSuite(suite, "exact", make)
    vectorSuite(suite, "server", make)

    it("answers generated searches as the engine in memory does", async () => {
      const { engine, dispose } = await make()
      const labs = [createLab(), createLab(engine)] as const
      try {
        const { byGroup, differences, ...total } = await measureAgreement(labs, {
          products: 1_500,
          searches: 280,
          seed: 11
        })
        const rows = [["all", total] as const, ...byGroup]
        console.info(
          rows
            .map(([name, { facets, found, ids, searches, status }]) =>
              [name, searches, status, found, ids, facets].join("\t")
            )
            .join("\n")
        )
        expect(total.searches).toBe(280)
        for (const part of ["status", "found", "ids", "facets"] as const)
          expect([part, total[part] / total.searches >= 0.99], differences.join("\n")).toEqual([part, true])
      } finally {
        await labs[0].close()
        await dispose()
      }
    })

    it("answers searches and changes of every kind of value word for word as the engine in memory", async () => {
      const { engine, dispose } = await make()
      const labs = [createLab(), createLab(engine)] as const
      try {
        for (const lab of labs)
          await lab.collection("things", kindsOfValues.fields, kindsOfValues.documents, { enable_nested_fields: true })
        const searches = kindsOfValues.searches.map((search) => {
          const parameters = Object.entries({ query_by: "title", ...search }).map(([key, value]) => [
            key,
            String(value)
          ])
          return ["GET", `/collections/things/documents/search?${new URLSearchParams(parameters)}`] as const
        })
        const refused: Array<string> = []
        for (const [method, path, body] of [...searches, ...kindsOfValues.operations]) {
          const [wanted, found] = await Promise.all(labs.map((lab) => lab.call(method, path, body)))
          if (/has no /.test(found!.body.message ?? "")) refused.push(path)
          else expect(timeless(found), `${method} ${path}`).toEqual(timeless(wanted))
        }
        expect(refused).toEqual(["/collections/things/documents/search?q=pot&query_by=title&synonym_sets=s"])
      } finally {
        await labs[0].close()
        await dispose()
      }
    })

    it("separates tenants: same names and ids, names that look like another's, joins, another installation", async () => {
      const prefix = `iso${installations}`
      const [engine, other] = [await opened({ prefix }), await opened({ prefix: `${prefix}-a` })]
      try {
        const named = (name: string) =>
          suiteSchema(name, [
            suiteField("title", "string", { facet: true }),
            suiteField("friend", "string", { reference: "friends.id" })
          ])
        const places = [
          ["a", "goods"],
          ["b", "goods"],
          ["a-b", "goods"],
          ["a", "b-goods"],
          ["a_002d", "b"],
          ["Ä", "a/goods?x=1"]
        ] as const
        for (const namespace of new Set(places.map((place) => place[0]))) {
          await engine.createCollection(namespace, suiteSchema("friends", [suiteField("name", "string")]), 0)
          await engine.write(namespace, "friends", [putOf({ id: "1", name: `of ${namespace}` })])
        }
        for (const [i, [namespace, name]] of places.entries()) {
          const made = await engine.createCollection(namespace, named(name), i)
          expect(made.ok || made.error).toBe(true)
          const put = [
            putOf({ id: "1", title: `cup of ${namespace} ${name}` }),
            putOf({ id: "2", title: "cup", friend: "1" })
          ]
          const written = await engine.write(namespace, name, put)
          expect(written.ok && written.value.every(({ result }) => result.ok)).toBe(true)
        }
        for (const [namespace, name] of places) {
          const found = await answer(engine, namespace, suitePlan(name, { text: suiteText(["cup"], ["title"]) }))
          expect([found.found, found.out_of, found.hits!.map(({ document }) => document.title)]).toEqual([
            2,
            2,
            ["cup", `cup of ${namespace} ${name}`]
          ])
          const own = places.filter((place) => place[0] === namespace).map((place) => place[1])
          expect(engine.listCollections(namespace).map(({ schema }) => schema.name)).toEqual([
            ...own.toReversed(),
            "friends"
          ])
          expect(other.listCollections(namespace)).toEqual([])
        }
        // Joined documents are the tenant's own, under the names that it knows.
        const join = { kind: "join", collection: "friends", filter: { kind: "ids", ids: ["1"] } } as const
        const shown = [{ collection: "friends", fields: ["name"], strategy: "nest", joins: [] }] as const
        const selection = { include: [], exclude: [], joins: shown }
        const joined = await answer(engine, "b", suitePlan("goods", { filter: join, selection }))
        expect(joined.hits!.map(({ document }) => document.friends)).toEqual([{ name: "of b" }])
        const [unknown] = await engine.search("b", [suitePlan("goods", { filter: { ...join, collection: "b-goods" } })])
        expect(unknown).toMatchObject({ ok: false, error: { kind: "CapabilityMissing" } })
        const scanned = await engine.scan("b", { collection: "goods", filter: undefined, limit: 10 })
        expect(scanned.ok && scanned.value.documents.map(({ title }) => title)).toEqual(["cup of b goods", "cup"])
        await engine.dropCollection("b", "goods")
        expect((await engine.search("b", [suitePlan("goods")]))[0]).toMatchObject({ error: { kind: "NotFound" } })
        expect((await answer(engine, "a", suitePlan("goods"))).found).toBe(2)
      } finally {
        await engine.close()
        await other.close()
      }
    })

    it("scans a collection from which documents are deleted meanwhile without missing one", async () => {
      const engine = await opened()
      try {
        await engine.createCollection("a", suiteSchema("goods", [suiteField("n", "int32")]), 1)
        await engine.write(
          "a",
          "goods",
          Array.from({ length: 2_500 }, (_, n) => putOf({ id: `${n}`, n }))
        )
        const seen: Array<string> = []
        for (let after: number | undefined, isOver = false; !isOver;) {
          const page = await engine.scan("a", { collection: "goods", filter: undefined, limit: 400, after })
          if (!page.ok) throw new Error(page.error.message)
          seen.push(...page.value.ids)
          const [first, last] = [page.value.ids[0]!, page.value.ids.at(-1)!]
          await engine.write(
            "a",
            "goods",
            [first, last].map((id) => ({ kind: "delete", id }) as const)
          )
          after = page.value.next
          isOver = after === undefined
        }
        expect(seen).toEqual(Array.from({ length: 2_500 }, (_, n) => `${n}`))
        expect(engine.describeCollection("a", "goods")?.num_documents).toBe(2_500 - 14)
        // A position that is no longer open, or belongs to another tenant, is invalid.
        const lost = await engine.scan("a", { collection: "goods", filter: undefined, limit: 1, after: 1 })
        expect(lost).toMatchObject({ ok: false, error: { kind: "Unavailable" } })
      } finally {
        await engine.close()
      }
    })

    it("is the engine of a process without one, whose searches run on the server", async () => {
      const { key, third } = servers
      const call = async (method: string, path: string, body?: string) => {
        const response = await fetch(`${third.ready.base_url}${path}`, {
          method,
          headers: { "X-SVC-API-KEY": key },
          ...(body === undefined ? {} : { body })
        })
        const text = await response.text()
        return { status: response.status, text, body: text.includes("\n") ? undefined : (JSON.parse(text) as any) }
      }
      const fields = [
        { name: "title", type: "string" },
        { name: "brand", type: "string", facet: true }
      ]
      const made = await call("POST", "/collections", JSON.stringify({ name: "shoes", fields }))
      expect([made.status, made.body.name]).toEqual([201, "shoes"])
      const lines = Array.from({ length: 1_200 }, (_, i) =>
        JSON.stringify({ id: `${i}`, title: `shoe ${i}`, brand: `b${i % 3}` })
      )
      const imported = await call("POST", "/collections/shoes/documents/import", lines.join("\n"))
      expect(imported.text.split("\n").filter((line) => line === '{"success":true}')).toHaveLength(1_200)
      const found = await call(
        "GET",
        "/collections/shoes/documents/search?q=shoe&query_by=title&facet_by=brand&filter_by=brand:=b1"
      )
      expect([found.status, found.body.found, found.body.request_params.collection_name]).toEqual([200, 400, "shoes"])
      expect(found.body.facet_counts[0].counts.map(({ count, value }: any) => [value, count])).toEqual([["b1", 400]])
      const deleted = await call("DELETE", "/collections/shoes/documents?filter_by=brand:=b2")
      expect(deleted.body).toEqual({ num_deleted: 400 })
      const rules = {
        pins: [{ query: "shoe", match: "exact", doc_id: "7", position: 2 }],
        boosts: [{ filter_by: "brand:=b0", weight: 2 }]
      }
      expect((await call("PUT", "/collections/shoes/search_rules", JSON.stringify(rules))).status).toBe(200)
      const ruled = await call("GET", "/collections/shoes/documents/search?q=shoe&query_by=title&per_page=3")
      expect([ruled.status, ruled.body.found]).toEqual([200, 800])
      const [best, pinned, next] = ruled.body.hits
      expect([best.document.brand, pinned.document.id, pinned.pinned, next.document.brand]).toEqual([
        "b0",
        "7",
        true,
        "b0"
      ])
      const refused = await call("GET", "/collections/shoes/documents/search?q=shoe&query_by=title&ranking=relevance")
      expect([refused.status, refused.body.message]).toEqual([400, expect.stringContaining("ranking `relevance`")])
    })

    it("fails no search and loses no answered write when one of two nodes is killed", async () => {
      const engine = await opened()
      const { second } = servers
      try {
        await engine.createCollection("a", suiteSchema("goods", [suiteField("title", "string")]), 1)
        await engine.write(
          "a",
          "goods",
          Array.from({ length: 500 }, (_, n) => putOf({ id: `o${n}`, title: "old cup" }))
        )
        let isOver = false
        const failed: Array<unknown> = []
        const answered: Array<string> = []
        let searches = 0
        const search = async (): Promise<void> => {
          while (!isOver) {
            const [found] = await engine.search("a", [suitePlan("goods", { text: suiteText(["old"], ["title"]) })])
            searches++
            if (!found!.ok || found!.value.found !== 500) failed.push(found)
          }
        }
        const write = async (by: number): Promise<void> => {
          for (let n = 0; !isOver; n++) {
            const puts = Array.from({ length: 5 }, (_, i) => putOf({ id: `w${by}-${n}-${i}`, title: "new" }))
            const written = await engine.write("a", "goods", puts)
            if (!written.ok) continue
            for (const { id, result } of written.value) if (result.ok) answered.push(id!)
          }
        }
        const work = Promise.all([search(), search(), search(), write(0), write(1)])
        const enough = async (count: () => number, more: number): Promise<void> => {
          for (const from = count(); count() < from + more;) await new Promise((settle) => setTimeout(settle, 10))
        }
        await enough(() => searches, 60)
        process.kill(second.child.pid!, "SIGKILL")
        await second.exited
        await enough(() => searches, 200)
        await enough(() => answered.length, 100)
        isOver = true
        await work
        expect(failed).toEqual([])
        const kept = await engine.get("a", "goods", answered)
        expect(kept.ok && kept.value.filter((document) => document === undefined)).toEqual([])
        await expect(engine.health()).resolves.toEqual({ ok: true, value: { ok: true } })
        expect(idsOf(await answer(engine, "a", suitePlan("goods", { filter: { kind: "ids", ids: ["o1"] } })))).toEqual([
          "o1"
        ])
      } finally {
        await engine.close()
      }
    })
  }
)
