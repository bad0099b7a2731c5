/** Rules of words and facets that a cluster does not provide itself, each compared with the engine in memory. */
import { describe, expect, it } from "vitest"
import { OpensearchEngine } from "../../engine-sdk/src/opensearch/mod.ts"
import type { OpensearchOptions } from "../../engine-sdk/src/opensearch/mod.ts"
import { createLab, type Lab } from "../support/engine-lab.ts"

type Asked = Record<string, string | number | boolean>
const FIELDS = [
  { name: "title", type: "string" },
  { name: "kind", type: "string", facet: true, optional: true },
  { name: "price", type: "int32", facet: true, optional: true },
  { name: "score", type: "float", facet: true, optional: true }
]
let installations = 0

export const opensearchRuleCases = (nodes: () => ReadonlyArray<string>): void => {
  const opened = async (prefix: string, more: Partial<OpensearchOptions> = {}): Promise<OpensearchEngine> => {
    const engine = await OpensearchEngine.open({ nodes: nodes(), prefix, replicas: 0, follow_ms: 200, ...more })
    if (!engine.ok) throw new Error(engine.error.message)
    return engine.value
  }
  /** Stores the same documents in the cluster and in memory. */
  const beside = async (
    documents: ReadonlyArray<object>,
    body: (cluster: Lab, memory: Lab, prefix: string) => Promise<void>,
    more: Partial<OpensearchOptions> = {}
  ): Promise<void> => {
    const prefix = `r${installations++}`
    const labs = [createLab(await opened(prefix, more)), createLab()] as const
    try {
      for (const lab of labs) await lab.collection("things", FIELDS, documents)
      await body(labs[0], labs[1], prefix)
    } finally {
      for (const lab of labs) await lab.close()
    }
  }
  const shown = ({ body }: Awaited<ReturnType<Lab["search"]>>) => ({
    found: body.found,
    ids: body.hits.map(({ document }: { document: { id: string } }) => document.id),
    facets: (body.facet_counts ?? []).map(({ counts, stats }: any) => [
      counts.map(({ count, value }: any) => [value, count]),
      stats.total_values
    ])
  })
  const alike = async (cluster: Lab, memory: Lab, asked: Asked) => {
    const parameters = { query_by: "title", ...asked }
    const [own, wanted] = await Promise.all([cluster, memory].map((lab) => lab.search("things", parameters)))
    expect(shown(own!), JSON.stringify(asked)).toEqual(shown(wanted!))
    return shown(own!)
  }

  describe("words", () => {
    it("stand for the most frequent words that continue or nearly match them, and for no more", async () => {
      // The word kettle00 is in one document, kettle13 in fourteen; each document also has a word of its own and
      // `copper` or `tin`.
      const documents = Array.from({ length: 14 }, (_word, n) =>
        Array.from({ length: n + 1 }, (_document, i) => ({
          id: `${n}-${i}`,
          title: `kettle${String(n).padStart(2, "0")} ${i % 2 === 0 ? "copper" : "tin"} w${n}x${i}`,
          price: n
        }))
      ).flat()
      await beside(documents, async (cluster, memory) => {
        const continued = await alike(cluster, memory, { q: "kettle" })
        // 14 + 13 + … + 5: the four rarest are left out.
        expect(continued.found).toBe(95)
        const mistyped = await alike(cluster, memory, { q: "ketle13", num_typos: 2, prefix: false })
        expect(mistyped.found).toBe(14)
        // With a filter, only words in matching documents count; after another word, those that occur together with it.
        expect((await alike(cluster, memory, { q: "kettle", filter_by: "price:<4" })).found).toBe(10)
        await alike(cluster, memory, { q: "tin kettle" })
        await alike(cluster, memory, { q: "copper kettle", filter_by: "price:>2" })
        await alike(cluster, memory, { q: "kettle", max_candidates: 2 })
        // No more typos are allowed than needed, and no word is dropped if all words together find something.
        expect((await alike(cluster, memory, { q: "kettle07 copper" })).found).toBe(4)
        await alike(cluster, memory, { q: "kettle07 coper" })
        await alike(cluster, memory, { q: "kettle07 silver w7x1", drop_tokens_threshold: 20 })
        await alike(cluster, memory, { q: "kettle 07 tin" })
      })
    })
    it("are the current ones, whoever wrote, replaced or deleted documents", async () => {
      const documents = [{ id: "1", title: "brass bell" }]
      await beside(documents, async (cluster, memory, prefix) => {
        const other = createLab(await opened(prefix))
        try {
          expect((await alike(cluster, memory, { q: "bel" })).found).toBe(1)
          const change = async (method: string, path: string, body?: object) => {
            for (const lab of [other, memory]) expect((await lab.call(method, path, body)).status).toBeLessThan(300)
          }
          const path = "/collections/things/documents"
          await change("POST", path, { id: "2", title: "bellows" })
          expect((await alike(cluster, memory, { q: "bel" })).found).toBe(2)
          await change("PATCH", `${path}/1`, { title: "brass horn" })
          expect((await alike(cluster, memory, { q: "bel" })).ids).toEqual(["2"])
          // As similar as `horn`, which is deleted: a word without documents takes no place.
          await change("DELETE", `${path}/1`)
          await change("POST", path, { id: "3", title: "hoxn" })
          expect((await alike(cluster, memory, { q: "hopn" })).ids).toEqual(["3"])
        } finally {
          await other.close()
        }
      })
    })
    it("of a collection that is too large to list are those that the cluster considers similar", async () => {
      const documents = ["kettle", "kettles", "mug"].map((title, id) => ({ id: String(id), title }))
      const bounded = { vocabularyDocuments_max: 2 }
      await beside(
        documents,
        async (cluster, memory) => {
          for (const q of ["ket", "ketle", "mug kettle"]) await alike(cluster, memory, { q })
        },
        bounded
      )
    })
  })

  describe("facets", () => {
    it("show the object around a value, from the first document that was found", async () => {
      const documents = Array.from({ length: 40 }, (_document, i) => ({
        id: String(i),
        title: i % 2 === 0 ? "oak chair" : "oak table",
        parts: [
          { kind: `kind ${i % 7}`, size: i },
          { kind: `kind ${(i + 3) % 7}`, size: -i }
        ]
      }))
      const prefix = `r${installations++}`
      const labs = [createLab(await opened(prefix)), createLab()] as const
      const fields = [
        ...FIELDS,
        { name: "parts", type: "object[]" },
        { name: "parts.kind", type: "string[]", facet: true }
      ]
      try {
        for (const lab of labs) await lab.collection("things", fields, documents, { enable_nested_fields: true })
        const asks: ReadonlyArray<Asked> = [
          { q: "*" },
          { q: "table", max_facet_values: 3 },
          { q: "oak", filter_by: "parts.kind:=kind 5" }
        ]
        for (const asked of asks) {
          const parameters: Asked = {
            query_by: "title",
            facet_by: "parts.kind",
            facet_return_parent: "parts.kind",
            ...asked
          }
          const [own, wanted] = await Promise.all(labs.map((lab) => lab.search("things", parameters)))
          expect(own!.body.facet_counts).toEqual(wanted!.body.facet_counts)
          expect(own!.body.facet_counts[0].counts[0].parent).toBeDefined()
        }
      } finally {
        for (const lab of labs) await lab.close()
      }
    })
    it("show the values that the contract shows, also where equals are cut off", async () => {
      const documents = Array.from({ length: 1_300 }, (_document, i) => ({
        id: String(i),
        title: i % 3 === 0 ? "oak chair" : "oak table",
        // Many equal counts: 60 kinds of about 21 documents each, first written in an order other than the alphabet's.
        kind: `kind ${(i * 37) % 60}`,
        price: ((i * 7) % 90) - 20,
        score: ((i * 11) % 50) / 4
      }))
      await beside(documents, async (cluster, memory) => {
        const facets = { facet_by: "kind,price,score", max_facet_values: 7, per_page: 1 }
        // Filters that match all documents, most, or few; facet values counted over the whole collection, over the
        // hits, and as requested.
        await alike(cluster, memory, { q: "*", ...facets })
        await alike(cluster, memory, { q: "oak", ...facets })
        await alike(cluster, memory, { q: "chair", ...facets })
        for (const facet_strategy of ["exhaustive", "top_values"])
          await alike(cluster, memory, { q: "table", ...facets, facet_strategy })
        // Ranges over the values that are counted, which are not all values.
        const ranges = "price(below:[-100, 0], low:[0, 30], high:[30, 100])"
        const few = await alike(cluster, memory, { q: "*", facet_by: ranges, max_facet_values: 7, per_page: 1 })
        expect(few.facets[0][0].reduce((sum: number, [, count]: [string, number]) => sum + count, 0)).toBeLessThan(
          1_300
        )
        await alike(cluster, memory, { q: "chair", facet_by: ranges, per_page: 1 })
        await alike(cluster, memory, { q: "oak", facet_by: "kind(sort_by: _alpha:desc)", max_facet_values: 5 })
      })
    })
  })
}
