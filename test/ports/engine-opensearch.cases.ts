/** Beyond the engine suite: tenants and processes that share a cluster, refusals by name, nodes that end. */
import { describe, expect, it } from "vitest"
import type { SearchEngine } from "../../engine-sdk/src/engine.ts"
import { OpensearchEngine } from "../../engine-sdk/src/opensearch/mod.ts"
import type { OpensearchOptions } from "../../engine-sdk/src/opensearch/mod.ts"
import type { SearchAnswer, SearchPlan } from "../../engine-sdk/src/plan.ts"
import type { Filter } from "../../engine-sdk/src/filter.ts"
import type { Document } from "../../engine-sdk/src/schema.ts"
import { freePort } from "../../src/runtime/free-port.ts"
import { putOf, suiteField, suitePlan, suiteSchema, suiteText } from "../../engine-sdk/src/testing/engine-suite.ts"

/** An address on which nothing listens. */
const deadNode = async () => `http://127.0.0.1:${await freePort()}`
const schema = suiteSchema("products", [
  suiteField("name", "string", { optional: false, sort: true }),
  suiteField("brand", "string", { facet: true }),
  suiteField("stock", "int32")
])
const brandFacet = {
  field: "brand",
  ranges: [],
  order: { kind: "count" },
  topK: false,
  strategy: "exhaustive",
  returnParent: false
} as const

let installations = 0
const opened = async (options: OpensearchOptions): Promise<OpensearchEngine> => {
  const engine = await OpensearchEngine.open({ follow_ms: 100, ...options })
  if (!engine.ok) throw new Error(engine.error.message)
  return engine.value
}
const answer = async (engine: SearchEngine, namespace: string, plan: SearchPlan): Promise<SearchAnswer> => {
  const [result] = await engine.search(namespace, [plan])
  if (!result.ok) throw new Error(result.error.message)
  return result.value
}
const idsOf = ({ hits }: SearchAnswer): string[] => (hits ?? []).map(({ document }) => String(document.id))
const written = async (engine: SearchEngine, namespace: string, documents: ReadonlyArray<Document>): Promise<void> => {
  const result = await engine.write(
    namespace,
    "products",
    documents.map((document) => putOf(document))
  )
  expect(result.ok ? result.value.filter((verdict) => !verdict.result.ok) : result.error).toEqual([])
}
/** Checks a condition until it holds or the tries run out: the changes of another process arrive by themselves. */
const eventually = async (holds: () => boolean): Promise<boolean> => {
  for (let looks = 0; looks < 1_000 && !holds(); looks++) await new Promise((settle) => setTimeout(settle, 50))
  return holds()
}

export const opensearchCases = (nodes: () => ReadonlyArray<string>): void => {
  const using =
    (body: (engine: OpensearchEngine, prefix: string) => Promise<void>, more: Partial<OpensearchOptions> = {}) =>
    async () => {
      const prefix = `c${installations++}`
      const engine = await opened({ nodes: nodes(), prefix, ...more })
      try {
        await body(engine, prefix)
      } finally {
        await engine.close()
      }
    }
  const indicesOf = async (prefix: string): Promise<string[]> => {
    const response = await fetch(`${nodes()[0]}/_cat/indices/${prefix}-*?format=json`)
    return ((await response.json()) as ReadonlyArray<{ readonly index: string }>).map(({ index }) => index).sort()
  }

  describe("tenants of one index", () => {
    it(
      "see nothing of each other: same names, same ids, the other's words and values",
      using(
        async (engine, prefix) => {
          // On one shard, only the prefixes of words and ids, and the filter, separate the tenants.
          for (const namespace of ["a", "b"]) await engine.createCollection(namespace, schema, 1)
          await written(engine, "a", [
            { id: "1", name: "Gazettea", brand: "Alpha", stock: 1 },
            { id: "2", name: "Gazettez", brand: "Alpha", stock: 2 }
          ])
          // As similar to the mistyped word as the words of the first tenant, and more than are considered.
          await written(
            engine,
            "b",
            Array.from({ length: 60 }, (_product, i) => ({
              id: String(i + 1),
              name: `Gazette${String.fromCharCode(97 + (i % 26))}`,
              brand: "Beta",
              stock: 7
            }))
          )
          const typo = suitePlan("products", { text: suiteText(["gazettem"], ["name"]), facets: [brandFacet] })
          const own = await answer(engine, "a", typo)
          expect([own.found, idsOf(own)]).toEqual([2, ["2", "1"]])
          expect(own.facet_counts[0].counts.map(({ value, count }) => [value, count])).toEqual([["Alpha", 2]])
          const all = await answer(engine, "a", suitePlan("products", { facets: [brandFacet] }))
          expect([all.found, all.out_of, idsOf(all)]).toEqual([2, 2, ["2", "1"]])
          expect(all.facet_counts[0].counts.map(({ value }) => value)).toEqual(["Alpha"])
          const never: Filter = { kind: "not", filter: { kind: "ids", ids: ["1"] } }
          expect(idsOf(await answer(engine, "a", suitePlan("products", { filter: never })))).toEqual(["2"])
          const beginning = suitePlan("products", { text: suiteText(["gaz"], ["name"]) })
          expect((await answer(engine, "a", beginning)).found).toBe(2)
          const scanned = await engine.scan("a", { collection: "products", filter: undefined, limit: 100 })
          expect(scanned.ok && scanned.value.ids).toEqual(["1", "2"])
          const got = await engine.get("a", "products", ["1", "3"])
          expect(got.ok && got.value.map((document) => document?.brand)).toEqual(["Alpha", undefined])
          // Both collections are in the index that small collections share.
          expect(await indicesOf(prefix)).toEqual([
            `${prefix}-collections`,
            `${prefix}-counters`,
            `${prefix}-documents-pool`
          ])
          await engine.write("a", "products", [{ kind: "delete", id: "1" }])
          await engine.dropCollection("a", "products")
          expect((await answer(engine, "b", suitePlan("products"))).found).toBe(60)
          await engine.createCollection("a", schema, 2)
          expect((await answer(engine, "a", suitePlan("products"))).found).toBe(0)
        },
        { poolShards: 1 }
      )
    )
    it(
      "get an index of their own when the shared one has no room for their fields",
      using(async (engine, prefix) => {
        const fields = Array.from({ length: 33 }, (_field, i) => suiteField(`text_${i}`, "string"))
        await engine.createCollection("a", suiteSchema("wide", fields), 1)
        await engine.write("a", "wide", [putOf({ id: "1", text_32: "copper" })])
        const plan = suitePlan("wide", { text: suiteText(["copper"], ["text_32"]) })
        expect(idsOf(await answer(engine, "a", plan))).toEqual(["1"])
        expect((await indicesOf(prefix)).length).toBe(4)
        await engine.dropCollection("a", "wide")
        expect((await indicesOf(prefix)).length).toBe(3)
      })
    )
  })

  describe("several processes over one cluster", () => {
    it(
      "find at once what another wrote, and keep one insertion order",
      using(async (first, prefix) => {
        const second = await opened({ nodes: nodes(), prefix })
        try {
          await first.createCollection("a", schema, 1)
          for (let i = 0; i < 6; i++)
            await written(i % 2 === 0 ? first : second, "a", [{ id: `p${i}`, name: `Kettle ${i}`, stock: i }])
          for (const engine of [first, second]) {
            const plan = suitePlan("products", { text: suiteText(["kettle"], ["name"]) })
            expect((await answer(engine, "a", plan)).found).toBe(6)
            const page = await engine.scan("a", { collection: "products", filter: undefined, limit: 10 })
            expect(page.ok && page.value.ids).toEqual(["p0", "p1", "p2", "p3", "p4", "p5"])
          }
          expect(second.listCollections("a").map((info) => info.schema.name)).toEqual(["products"])
          await second.dropCollection("a", "products")
          expect(await eventually(() => first.describeCollection("a", "products") === undefined)).toBe(true)
        } finally {
          await second.close()
        }
      })
    )
    it(
      "lose no change to a document that both change",
      using(async (first, prefix) => {
        const second = await opened({ nodes: nodes(), prefix })
        try {
          await first.createCollection("a", schema, 1)
          await written(first, "a", [{ id: "1", name: "Kettle", stock: 0 }])
          const raised = await Promise.all(
            [first, second, first, second].map((engine, i) =>
              engine.write("a", "products", [putOf({ id: "1", [`note_${i}`]: i }, "update")])
            )
          )
          expect(raised.map((result) => result.ok && result.value[0].result.ok)).toEqual([true, true, true, true])
          const created = await Promise.all(
            [first, second].map((engine) => engine.write("a", "products", [putOf({ id: "2", name: "Mug" }, "create")]))
          )
          const kinds = created.map((result) =>
            !result.ok ? result.error.kind : result.value[0].result.ok ? "ok" : result.value[0].result.error.kind
          )
          expect(kinds.sort()).toEqual(["Conflict", "ok"])
          const got = await first.get("a", "products", ["1"])
          expect(got.ok && got.value[0]).toEqual({
            id: "1",
            name: "Kettle",
            stock: 0,
            note_0: 0,
            note_1: 1,
            note_2: 2,
            note_3: 3
          })
        } finally {
          await second.close()
        }
      })
    )
    it(
      "write by the current schema, though they have not received it yet, and not into a dropped collection",
      using(async (first, prefix) => {
        await first.createCollection("a", schema, 1)
        const late = await opened({ nodes: nodes(), prefix, follow_ms: 3_600_000 })
        try {
          const altered = await first.alterCollection("a", "products", {
            drop: [],
            add: [suiteField("colour", "string")]
          })
          expect(altered.ok).toBe(true)
          await written(late, "a", [{ id: "1", name: "Kettle", colour: "red" }])
          const plan = suitePlan("products", { text: suiteText(["red"], ["colour"]) })
          expect(idsOf(await answer(first, "a", plan))).toEqual(["1"])
          await first.dropCollection("a", "products")
          const into = await late.write("a", "products", [putOf({ id: "2", name: "Mug" })])
          expect(into.ok ? "written" : into.error.kind).toBe("NotFound")
        } finally {
          await late.close()
        }
      })
    )
    it(
      "agree on fields that documents add",
      using(async (first, prefix) => {
        const second = await opened({ nodes: nodes(), prefix })
        const red: Filter = {
          kind: "string",
          field: "colour",
          values: [{ tokens: ["red"], match: "equals", prefix: false }],
          prefixCandidates: 4
        }
        const heavy: Filter = { kind: "number", field: "weight", type: "int64", ranges: [{ min: 5, max: 5 }] }
        try {
          // One process may learn of the other's field in the middle of a batch; this happens in one of four runs.
          for (let round = 0; round < 12; round++) {
            const name = `products${round}`
            const put = async (engine: OpensearchEngine, document: Document) => {
              const result = await engine.write("a", name, [putOf(document)])
              expect(result.ok ? result.value.filter((verdict) => !verdict.result.ok) : result.error).toEqual([])
            }
            const found = async (engine: OpensearchEngine, filter: Filter) =>
              idsOf(await answer(engine, "a", suitePlan(name, { filter })))
            await first.createCollection("a", suiteSchema(name, [suiteField(".*", "auto", { facet: true })]), round)
            await Promise.all([put(first, { id: "1", colour: "red" }), put(second, { id: "2", weight: 5 })])
            for (const engine of [first, second]) {
              await put(engine, { id: "3", colour: "red", weight: 5 })
              expect([round, await found(engine, red), await found(engine, heavy)]).toEqual([
                round,
                ["3", "1"],
                ["3", "2"]
              ])
            }
          }
        } finally {
          await second.close()
        }
      })
    )
  })

  describe("a search", () => {
    it(
      "calls the cluster once if words are found as typed, and at most four times when it knows the words",
      using(async (engine) => {
        await engine.createCollection("a", schema, 1)
        await written(engine, "a", [{ id: "1", name: "Copper kettle" }])
        const real = globalThis.fetch
        let trips = 0
        globalThis.fetch = (input, init) => {
          if (String(input).endsWith("/_msearch")) trips++
          return real(input, init)
        }
        const tripsOf = async (tokens: ReadonlyArray<string>): Promise<readonly [number, number]> => {
          trips = 0
          const { found } = await answer(engine, "a", suitePlan("products", { text: suiteText(tokens, ["name"]) }))
          return [found, trips]
        }
        try {
          // The first search counts the documents and lists their words.
          expect(await tripsOf(["copper", "kett"])).toEqual([1, 3])
          expect(await tripsOf(["copper", "kett"])).toEqual([1, 1])
          // It is known that no document has the word, and also which words are similar.
          expect(await tripsOf(["coper"])).toEqual([1, 1])
          expect(await tripsOf(["coppxr", "nothing", "whatever"])).toEqual([1, 1])
          expect(await tripsOf(["nothing", "like", "it", "whatever"])).toEqual([0, 1])
          // A foreign write is noticed during the search and its words are read; otherwise the new word would be
          // unknown.
          await written(engine, "a", [{ id: "2", name: "Kettle drum" }])
          expect(await tripsOf(["drum"])).toEqual([1, 4])
          // Both words exist, but in no common document, so the results for each alone are requested as well.
          expect(await tripsOf(["copper", "drum"])).toEqual([1, 3])
        } finally {
          globalThis.fetch = real
        }
      })
    )
  })

  describe("what cannot be done", () => {
    it(
      "is refused by name, and never silently omitted",
      using(async (engine) => {
        const named = (result: Awaited<ReturnType<SearchEngine["createCollection"]>>) =>
          result.ok || result.error.kind !== "CapabilityMissing"
            ? result
            : [result.error.capability, result.error.parameter]
        const joined = await engine.createCollection(
          "a",
          suiteSchema("j", [suiteField("owner", "string", { reference: "people.id" })]),
          1
        )
        expect(named(joined)).toEqual(["joins", "fields.owner.reference"])
        await engine.createCollection(
          "a",
          suiteSchema("products", [suiteField("tags", "string[]", { facet: true })]),
          1
        )
        const none: Filter = { kind: "none" }
        const plans: ReadonlyArray<readonly [Partial<SearchPlan>, string, string]> = [
          [{ group: { fields: ["tags"], limit: 1, missingValues: true } }, "array_grouping", "group_by"],
          [{ filter: { kind: "join", collection: "people", filter: none } }, "joins", "filter_by"],
          [{ filter: { kind: "element", path: "parts", filter: none } }, "per_element_filters", "filter_by"],
          [{ sort: [{ kind: "group_found", order: "desc" }] }, "group_totals", "sort_by"]
        ]
        for (const [more, capability, parameter] of plans) {
          const [result] = await engine.search("a", [suitePlan("products", more)])
          const error = result.ok ? undefined : result.error
          expect(error?.kind === "CapabilityMissing" && [error.capability, error.parameter]).toEqual([
            capability,
            parameter
          ])
        }
        const deep = await engine.search("a", [suitePlan("products", { offset: 99_999, limit: 2 })])
        expect(deep.map((result) => !result.ok && result.error.kind)).toEqual(["Invalid"])
      })
    )
    it(
      "keeps what a plan includes, also within one batch",
      using(async (engine) => {
        const keeps = { plan: "free", collections: 1, documents: 2 }
        await engine.createCollection("a", schema, 1, keeps)
        const second = await engine.createCollection("a", { ...schema, name: "more" }, 1, keeps)
        expect(second.ok ? "made" : second.error.kind).toBe("CapReached")
        await engine.createCollection("b", schema, 1, keeps)
        const result = await engine.write(
          "a",
          "products",
          ["1", "2", "3"].map((id) => putOf({ id, name: id })),
          { keeps }
        )
        expect(result.ok && result.value.map((one) => (one.result.ok ? "ok" : one.result.error.kind))).toEqual([
          "ok",
          "ok",
          "CapReached"
        ])
        expect((await engine.write("b", "products", [putOf({ id: "1", name: "1" })], { keeps })).ok).toBe(true)
      })
    )
  })

  describe("a cluster that takes no new indices", () => {
    const blocked = async (isBlocked: boolean): Promise<void> => {
      const response = await fetch(`${nodes()[0]}/_cluster/settings`, {
        method: "PUT",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ persistent: { "cluster.blocks.create_index": isBlocked ? true : null } })
      })
      expect(response.status).toBe(200)
    }
    const wide = suiteSchema(
      "wide",
      Array.from({ length: 33 }, (_field, i) => suiteField(`text_${i}`, "string"))
    )
    const said = (result: Awaited<ReturnType<SearchEngine["createCollection"]>>) =>
      result.ok ? "made" : [result.error.kind, result.error.message.includes("takes no new indices: ")]
    it(
      "is opened anyway: existing collections are searched and written, the rest is refused until the block is gone",
      using(async (first, prefix) => {
        await first.createCollection("a", schema, 1)
        await written(first, "a", [{ id: "1", name: "Copper kettle" }])
        const engines: OpensearchEngine[] = []
        try {
          await blocked(true)
          const known = await opened({ nodes: nodes(), prefix })
          const empty = await opened({ nodes: nodes(), prefix: `${prefix}-empty` })
          engines.push(known, empty)
          const plan = suitePlan("products", { text: suiteText(["kettle"], ["name"]) })
          expect(idsOf(await answer(known, "a", plan))).toEqual(["1"])
          await written(known, "a", [{ id: "2", name: "Steel kettle" }])
          expect(idsOf(await answer(known, "a", plan))).toEqual(["2", "1"])
          expect(said(await known.createCollection("a", { ...schema, name: "more" }, 1))).toBe("made")
          expect(said(await known.createCollection("a", wide, 1))).toEqual(["Overloaded", true])
          expect(said(await empty.createCollection("a", schema, 1))).toEqual(["Overloaded", true])
          expect(said(await known.promoteCollection("a", "products"))).toEqual(["Overloaded", true])
          const [missing] = await empty.search("a", [plan])
          expect([missing.ok, !missing.ok && missing.error.kind, empty.listCollections("a")]).toEqual([
            false,
            "NotFound",
            []
          ])
          await blocked(false)
          // The indices are created without a request for a new one.
          let indices: ReadonlyArray<string> = []
          for (let looks = 0; looks < 1_000 && indices.length < 3; looks++) {
            await new Promise((settle) => setTimeout(settle, 50))
            indices = await indicesOf(`${prefix}-empty`)
          }
          expect(indices.length).toBe(3)
          expect(said(await known.createCollection("a", wide, 1))).toBe("made")
          expect(said(await empty.createCollection("a", schema, 1))).toBe("made")
          await written(empty, "a", [{ id: "1", name: "Copper kettle" }])
          expect(idsOf(await answer(empty, "a", plan))).toEqual(["1"])
        } finally {
          await blocked(false)
          for (const engine of engines) await engine.close()
        }
      })
    )
    it(
      "nor writes, as on a full disk, is opened and searched; both return when the block is gone",
      using(async (first, prefix) => {
        const full = async (isFull: boolean): Promise<void> => {
          const response = await fetch(`${nodes()[0]}/${prefix}-documents-*/_settings`, {
            method: "PUT",
            headers: { "content-type": "application/json" },
            body: JSON.stringify({ "index.blocks.read_only_allow_delete": isFull ? true : null })
          })
          expect(response.status).toBe(200)
        }
        await first.createCollection("a", schema, 1)
        await written(first, "a", [{ id: "1", name: "Copper kettle" }])
        await full(true)
        const engine = await opened({ nodes: nodes(), prefix })
        try {
          const plan = suitePlan("products", { text: suiteText(["kettle"], ["name"]) })
          expect(idsOf(await answer(engine, "a", plan))).toEqual(["1"])
          const result = await engine.write("a", "products", [putOf({ id: "2", name: "Steel kettle" })])
          const [verdict] = result.ok ? result.value : []
          const error = !result.ok ? result.error : verdict!.result.ok ? undefined : verdict!.result.error
          expect(error?.kind).toBe("Overloaded")
          expect((await engine.createCollection("a", { ...schema, name: "more" }, 1)).ok).toBe(false)
          await full(false)
          expect(said(await engine.createCollection("a", { ...schema, name: "more" }, 1))).toBe("made")
          await written(engine, "a", [{ id: "2", name: "Steel kettle" }])
          expect(idsOf(await answer(engine, "a", plan))).toEqual(["2", "1"])
        } finally {
          await full(false)
          await engine.close()
        }
      })
    )
  })

  describe("nodes", () => {
    it("that are gone are skipped", async () => {
      const prefix = `c${installations++}`
      const whole = await opened({ nodes: nodes(), prefix })
      await whole.createCollection("a", schema, 1)
      const engine = await opened({ nodes: [await deadNode(), ...nodes()], prefix })
      try {
        for (let i = 0; i < 4; i++) {
          // A write is sent once; a node that refuses the connection did not receive it.
          await written(engine, "a", [{ id: String(i), name: "Kettle" }])
          expect((await answer(engine, "a", suitePlan("products"))).found).toBe(i + 1)
        }
      } finally {
        await engine.close()
        await whole.close()
      }
    })
    it("of which none answers are one failure that says so", async () => {
      const engine = await OpensearchEngine.open({ nodes: [await deadNode()], prefix: "none" })
      expect(engine.ok ? "open" : engine.error.kind).toBe("Unavailable")
    })
    it(
      "get no more requests when the engine is closed",
      using(async (engine) => {
        await engine.createCollection("a", schema, 1)
        await engine.close()
        const [result] = await engine.search("a", [suitePlan("products")])
        expect(result.ok ? "found" : result.error).toEqual({ kind: "Unavailable", message: "The engine is closed." })
      })
    )
  })
}
