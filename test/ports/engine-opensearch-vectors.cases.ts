/** Vectors in the cluster, beyond what every engine must do with them: indices, moves, processes, limits. */
import { describe, expect, it } from "vitest"
import type { SearchEngine } from "../../engine-sdk/src/engine.ts"
import { OpensearchEngine, type OpensearchOptions } from "../../engine-sdk/src/opensearch/mod.ts"
import type { SearchAnswer, SearchPlan } from "../../engine-sdk/src/plan.ts"
import type { Document } from "../../engine-sdk/src/schema.ts"
import { putOf, suiteField, suitePlan, suiteSchema, suiteText } from "../../engine-sdk/src/testing/engine-suite.ts"
import { suiteVector } from "../../engine-sdk/src/testing/vector-suite.ts"

const direction = (num_dim: number, more = {}) => suiteField("direction", "float[]", { num_dim, sort: false, ...more })
const schema = suiteSchema("things", [suiteField("name", "string"), direction(2)])
/** The higher `i` is, the farther the vector is from the first; no two are equal. */
const turned = (i: number, of = 10_000) => [Math.cos((Math.PI * i) / of), Math.sin((Math.PI * i) / of)]
const things = (count: number, more = {}): Document[] =>
  Array.from({ length: count }, (_thing, i) => ({ id: `t${i}`, name: `thing ${i}`, direction: turned(i), ...more }))
const around = (vector: ReadonlyArray<number>, k: number, more: Partial<SearchPlan> = {}): SearchPlan =>
  suitePlan("things", {
    vector: suiteVector("direction", vector, { k }),
    sort: [{ kind: "vector_distance", order: "asc" }],
    ...more
  })
let installations = 0

export const opensearchVectorCases = (nodes: () => ReadonlyArray<string>): void => {
  const opened = async (prefix: string, more: Partial<OpensearchOptions> = {}): Promise<OpensearchEngine> => {
    const engine = await OpensearchEngine.open({ nodes: nodes(), prefix, replicas: 0, follow_ms: 100, ...more })
    if (!engine.ok) throw new Error(engine.error.message)
    return engine.value
  }
  const using = (count: number, body: (engines: OpensearchEngine[], prefix: string) => Promise<void>) => async () => {
    const prefix = `v${installations++}`
    const engines: OpensearchEngine[] = []
    try {
      for (let i = 0; i < count; i++) engines.push(await opened(prefix))
      await body(engines, prefix)
    } finally {
      for (const engine of engines) await engine.close()
    }
  }
  const get = async (path: string): Promise<any> => (await fetch(`${nodes()[0]}${path}`)).json()
  const write = async (engine: SearchEngine, namespace: string, documents: ReadonlyArray<Document>) => {
    const written = await engine.write(
      namespace,
      "things",
      documents.map((document) => putOf(document))
    )
    expect(written.ok ? written.value.filter(({ result }) => !result.ok) : written.error).toEqual([])
  }
  const answer = async (engine: SearchEngine, plan: SearchPlan, namespace = "a"): Promise<SearchAnswer> => {
    const [result] = await engine.search(namespace, [plan])
    if (!result!.ok) throw new Error(result!.error.message)
    return result!.value
  }
  const idsOf = ({ hits }: SearchAnswer): string[] => (hits ?? []).map(({ document }) => String(document.id))

  describe("vectors in the cluster", () => {
    it(
      "are in an index of their own, and are found at once by every process and only by their tenant",
      using(2, async ([first, second], prefix) => {
        for (const namespace of ["a", "b"]) await first!.createCollection(namespace, schema, 1)
        await write(first!, "a", things(3))
        await write(second!, "b", things(2, { name: "of another" }))
        for (const engine of [first!, second!]) {
          expect(idsOf(await answer(engine, around(turned(0), 10)))).toEqual(["t0", "t1", "t2"])
          const other = await answer(engine, around(turned(0), 10), "b")
          expect((other.hits ?? []).map(({ document }) => document.name)).toEqual(["of another", "of another"])
        }
        // Vectors are stored apart from the searched text, and shown in their original place.
        const whole = { direction: [0.25, -1], id: "whole", name: "whole copper", size: 3 }
        await write(first!, "a", [whole])
        const named = { text: suiteText(["copper"], ["name"]) }
        const shown = async (more: Partial<SearchPlan>) =>
          JSON.stringify((await answer(second!, suitePlan("things", { ...named, ...more }))).hits?.[0]?.document)
        expect(await shown({})).toBe(JSON.stringify(whole))
        const exclude = { include: [], exclude: ["direction"], joins: [] }
        expect(await shown({ selection: exclude })).toBe('{"id":"whole","name":"whole copper","size":3}')
        const page = await second!.scan("a", { collection: "things", filter: undefined, limit: 10 })
        expect(page.ok && JSON.stringify(page.value.documents.at(-1))).toBe(JSON.stringify(whole))
        await first!.write("a", "things", [putOf({ id: "whole", size: 4 }, "update")])
        expect(await shown({})).toBe(JSON.stringify({ ...whole, size: 4 }))
        await first!.write("a", "things", [{ kind: "delete", id: "whole" }])
        const indices = Object.entries<any>(await get(`/${prefix}-documents-*`))
        const own = indices.filter(([name]) => !name.endsWith("-pool"))
        expect(own.map(([, { mappings }]) => mappings.properties.v00.dimension)).toEqual([2, 2])
        expect(indices.find(([name]) => name.endsWith("-pool"))?.[1].mappings.properties.v00).toBeUndefined()
        // The same id, but in the other tenant's document.
        await second!.write("b", "things", [{ kind: "delete", id: "t0" }])
        expect(idsOf(await answer(first!, around(turned(0), 10)))).toEqual(["t0", "t1", "t2"])
        expect(idsOf(await answer(first!, around(turned(0), 10), "b"))).toEqual(["t1"])
        await first!.dropCollection("a", "things")
        expect(Object.keys(await get(`/${prefix}-documents-*`)).length).toBe(2)
      })
    )
    it(
      "are added to a collection that has documents, and change their length, during writes",
      using(2, async ([engine, other], prefix) => {
        await engine!.createCollection("a", suiteSchema("things", [suiteField("name", "string")]), 1)
        await write(engine!, "a", things(20))
        expect(Object.keys(await get(`/${prefix}-documents-*`))).toEqual([`${prefix}-documents-pool`])
        let isOver = false
        const late: string[] = []
        const writing = (async () => {
          for (let i = 20; !isOver; i++) {
            await write(other!, "a", [{ id: `t${i}`, name: "late", direction: turned(i) }])
            late.push(`t${i}`)
          }
        })()
        const added = await engine!.alterCollection("a", "things", { drop: [], add: [direction(2)] })
        isOver = true
        await writing
        expect(added.ok ? undefined : added.error).toBeUndefined()
        const all = [...things(20).map(({ id }) => String(id)), ...late]
        for (const one of [engine!, other!])
          expect(idsOf(await answer(one, around(turned(0), 10_000, { limit: 250 })))).toEqual(all)
        const longer = { drop: ["direction"], add: [direction(3, { vec_dist: "ip" })] }
        const refused = await engine!.alterCollection("a", "things", longer)
        expect(refused.ok ? "changed" : refused.error.kind).toBe("Invalid")
        expect((await answer(engine!, around(turned(0), 5))).found).toBe(5)
        await write(
          engine!,
          "a",
          all.map((id) => ({ id, name: "again" }))
        )
        await write(engine!, "a", [{ id: "t0", name: "again" }])
        expect((await engine!.alterCollection("a", "things", longer)).ok).toBe(true)
        await write(engine!, "a", [{ id: "t0", direction: [1, 2, 3] }])
        expect(idsOf(await answer(engine!, around([1, 0, 0], 10)))).toEqual(["t0"])
        const page = await engine!.scan("a", { collection: "things", filter: undefined, limit: 1 })
        expect(page.ok && page.value.documents).toEqual([{ id: "t0", direction: [1, 2, 3] }])
      })
    )
    it(
      "are shown as deep as the nearest neighbours go, which are at most ten thousand",
      using(1, async ([engine]) => {
        await engine!.createCollection("a", schema, 1)
        await write(engine!, "a", things(1_200))
        const deep = { offset: 1_050, limit: 3 }
        const plain = await answer(engine!, around(turned(0), 1_100, deep))
        expect([plain.found, idsOf(plain)]).toEqual([1_100, ["t1050", "t1051", "t1052"]])
        const pinned = await answer(
          engine!,
          around(turned(0), 1_100, { ...deep, pinned: [{ id: "t1199", position: 1 }] })
        )
        expect([pinned.found, idsOf(pinned)]).toEqual([1_101, ["t1049", "t1050", "t1051"]])
        // Of some hundred neighbours, only those of the page are fetched; with other sorts, all of them.
        for (const more of [{}, { sort: [{ kind: "vector_distance", order: "desc" }] } as const]) {
          const first = more.sort === undefined ? 280 : 19
          const page = await answer(engine!, around(turned(0), 300, { offset: 280, limit: 2, ...more }))
          const next = more.sort === undefined ? first + 1 : first - 1
          expect([page.found, idsOf(page)]).toEqual([300, [`t${first}`, `t${next}`]])
        }
        const [many] = await engine!.search("a", [around(turned(0), 10_001)])
        expect(many!.ok ? "found" : [many!.error.kind, many!.error.message]).toEqual([
          "Invalid",
          "The search engine finds at most the 10000 nearest."
        ])
      })
    )
    it(
      "may have any length: a zero vector has no direction, and very long ones are found",
      using(1, async ([engine]) => {
        await engine!.createCollection("a", schema, 1)
        await write(engine!, "a", [
          { id: "zero", name: "zero", direction: [0, 0] },
          { id: "long", name: "long", direction: [1e30, 1e30] },
          { id: "short", name: "short", direction: [1e-30, 0] },
          { id: "plain", name: "plain", direction: [0, 1] }
        ])
        expect(idsOf(await answer(engine!, around([1, 0.1], 10)))).toEqual(["short", "long", "plain"])
        expect(idsOf(await answer(engine!, around([1e-25, 1e-26], 10)))).toEqual(["short", "long", "plain"])
        // Nothing is nearer than anything else.
        const everywhere = await answer(engine!, around([0, 0], 2))
        expect([everywhere.found, everywhere.hits?.map(({ vector_distance }) => vector_distance)]).toEqual([2, [1, 1]])
        const got = await engine!.get("a", "things", ["zero"])
        expect(got.ok && got.value[0]?.direction).toEqual([0, 0])
        const large = await engine!.createCollection("a", suiteSchema("large", [direction(16_001)]), 1)
        expect(!large.ok && large.error.kind === "CapabilityMissing" && large.error.parameter).toBe(
          "fields.direction.num_dim"
        )
      })
    )
    it("are refused by name where a node lacks the plugin", async () => {
      const real = globalThis.fetch
      globalThis.fetch = async (input, init) => {
        const response = await real(input, init)
        if (!String(input).endsWith("/_nodes/plugins")) return response
        const told = (await response.json()) as { nodes: Record<string, unknown> }
        return Response.json({ nodes: { ...told.nodes, other: { plugins: [] } } })
      }
      const engine = await opened(`v${installations++}`).finally(() => (globalThis.fetch = real))
      try {
        const { hybrid, radial_vector, vector_index } = engine.capabilities().grades
        expect([hybrid, radial_vector, vector_index]).toEqual(["none", "none", "none"])
        const made = await engine.createCollection("a", schema, 1)
        const plain = suiteSchema("things", [suiteField("name", "string")])
        expect((await engine.createCollection("a", plain, 1)).ok).toBe(true)
        const altered = await engine.alterCollection("a", "things", { drop: [], add: [direction(2)] })
        const [found] = await engine.search("a", [around([1, 0], 10)])
        const refusals = [made, altered, found!].map((result) =>
          result.ok || result.error.kind !== "CapabilityMissing"
            ? result
            : [result.error.capability, result.error.parameter]
        )
        expect(refusals).toEqual([
          ["vector_index", "fields.direction"],
          ["vector_index", "fields.direction"],
          ["vector_index", "vector_query"]
        ])
      } finally {
        await engine.close()
      }
    })
  })
}
