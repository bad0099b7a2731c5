/** Graphs of documents as pure functions: what an entity is, what belongs together, and that order does not matter. */
import { describe, expect, it } from "vitest"
import { generateCatalog } from "../../../fixtures/catalog/generate.ts"
import { type Built, type BuildOptions, buildGraph, changedShare } from "../../../src/graph/building/build.ts"
import { carriedIds } from "../../../src/graph/building/carried-ids.ts"
import { communitiesOf } from "../../../src/graph/building/communities.ts"
import { EntityCounts } from "../../../src/graph/building/entity-counts.ts"
import { type Edge, npmiOf } from "../../../src/graph/building/edges.ts"
import { foldedWords, keyOf } from "../../../src/graph/building/keys.ts"
import { textsAt } from "../../../src/texts/texts-at.ts"
import { capitalisedRuns, type DocumentRead } from "../../../src/graph/building/mentions.ts"
import { logLikelihoodRatio } from "../../../src/graph/building/phrases.ts"
import { sameWords } from "../../../src/graph/entity-fields.ts"

const fields = { facets: ["brand", "tags", "voltage"], texts: ["text"] }
const noBehaviour = { revenue: new Map<string, number>(), days: 30, queries: [] }
const made = (
  documents: ReadonlyArray<DocumentRead>,
  more: Partial<BuildOptions> & { readonly sameAs?: ReadonlyMap<string, string>; readonly of?: typeof fields } = {}
): Built => {
  const { of = fields, sameAs = new Map<string, string>(), ...options } = more
  const counts = new EntityCounts({ fields: of, sameAs })
  for (const document of documents) counts.add(document)
  return buildGraph(counts, {
    collection: "c",
    entitiesMax: 10_000,
    communities: true,
    known: undefined,
    behaviour: noBehaviour,
    synonyms: new Map(),
    ...options
  })
}
const named = ({ entities }: Built) => entities.map(({ name }) => name).sort()

describe("keys", () => {
  it("are equal for names of the same thing", () => {
    expect(["Café Lamps", "cafe lamp", "CAFÉ-LAMP", " Cafe  lamps! "].map(keyOf)).toEqual(Array(4).fill("cafe lamp"))
    expect(["Batteries", "glasses", "boxes", "bus", "glass", "Alm & Acker"].map(keyOf)).toEqual([
      "battery",
      "glass",
      "box",
      "bus",
      "glass",
      "alm acker"
    ])
  })
  it("are refused for numbers with units, for meaningless words, and for sentences", () => {
    for (const text of [
      "12V",
      "0 - 40",
      "1.5 kg",
      '17"',
      "5 to 10 min",
      "230 V / 50 Hz",
      "yes",
      "N/A",
      "",
      "…",
      "x".repeat(101),
      "a b c d e f g h i",
      "\u0000a"
    ])
      expect([text, keyOf(text)]).toEqual([text, undefined])
    for (const text of ["RTX 4090", "Windows 11", "USB 2.0"]) expect(keyOf(text)).toBeDefined()
  })
})
describe("what a document names", () => {
  it("is at a path, through lists, and never an inherited property", () => {
    const document = { a: [{ b: "x" }, { b: ["y", 1, ""] }], "c.d": "z" }
    expect(textsAt(document, "a.b")).toEqual(["x", "y"])
    expect(textsAt(document, "c.d")).toEqual(["z"])
    expect(textsAt(document, "constructor.name")).toEqual([])
    expect(textsAt({ a: Array.from({ length: 500 }, (_, i) => `v${i}`) }, "a")).toHaveLength(50)
  })
  it("is, in a long text, whatever is capitalised inside a sentence", () => {
    expect(
      capitalisedRuns("We like the Harbour Pine table. Made by Alm here, and the Norvik Sofa Bed Set Deluxe.")
    ).toEqual(["Harbour Pine", "Alm", "Norvik Sofa Bed Set", "Deluxe"])
    expect(capitalisedRuns("EVERY WORD OF THIS IS SHOUTED AT YOU")).toEqual([])
  })
  it("finds pairs by their likelihood", () => {
    expect(logLikelihoodRatio(20, 20, 20, 10_000)).toBeGreaterThan(200)
    expect(logLikelihoodRatio(1, 100, 100, 10_000)).toBeCloseTo(0, 5)
    expect(npmiOf(10, 10, 10, 100)).toBeCloseTo(1)
    expect(npmiOf(1, 10, 10, 100)).toBeCloseTo(0)
  })
})

/** Two unrelated groups of documents, and one value that occurs in both. */
const worlds = Array.from({ length: 60 }, (_, i) => ({
  id: `d${i}`,
  brand: i % 2 === 0 ? ["Acme", "ACME", "acme"][(i / 2) % 3]! : "Bolt & Sons",
  tags: i % 2 === 0 ? ["Kettle", "Steel", "Shared"] : ["Drill", "Bits", "Shared"],
  voltage: "230 V",
  price: 10 + i,
  text: ""
}))
describe("a graph", () => {
  it("has entities with their spellings, without quantities and values that occur everywhere", () => {
    const graph = made(worlds)
    expect(named(graph)).toEqual([])
    const more = made(
      worlds.concat(
        Array.from({ length: 140 }, (_, i) => ({
          ...worlds[0]!,
          id: `e${i}`,
          brand: `None ${i}`,
          tags: [] as Array<string>
        }))
      )
    )
    expect(named(more)).toEqual(["ACME", "Bits", "Bolt & Sons", "Drill", "Kettle", "Shared", "Steel"])
    const acme = more.entities.find(({ key }) => key === "acme")!
    expect(acme).toMatchObject({
      type: "brand",
      name: "ACME",
      aliases: ["Acme", "acme"],
      documents: 30,
      description: "brand, 30 documents, 10 - 68"
    })
    expect(acme.id).toMatch(/^ent_[0-9a-f]{26}$/)
    expect(acme.source_doc_ids).toHaveLength(20)
    expect(acme.source_doc_ids).toEqual([...acme.source_doc_ids].sort())
  })
  it("merges the collection's synonyms, only those without a root", () => {
    const { sameAs, synonyms } = sameWords([
      {
        name: "s",
        items: [
          { id: "1", root: "", synonyms: ["kettle", "water boilers"] },
          { id: "2", root: "tool", synonyms: ["drill"] }
        ]
      }
    ])
    const documents = Array.from({ length: 40 }, (_, i) => ({
      id: `d${i}`,
      tags: [["Kettle", "Water Boiler", "Drill", "Tool"][i % 4]!]
    }))
    const graph = made(documents, { sameAs, synonyms })
    expect(named(graph)).toEqual(["Drill", "Kettle", "Tool"])
    expect(graph.entities.find(({ key }) => key === "kettle")).toMatchObject({
      documents: 20,
      aliases: ["Water Boiler", "kettle", "water boilers"]
    })
  })
  const products = [
    ...generateCatalog({ seed: 3, products: 3_000, prose: true })
  ] as unknown as ReadonlyArray<DocumentRead>
  const of = {
    facets: ["brand", "category", "department", "color", "attributes"],
    texts: ["description"]
  } as unknown as typeof fields
  const first = made(products, { of })
  it("is the same for the same documents in any order, and its ids are stable", () => {
    const bytes = JSON.stringify(first)
    expect(JSON.stringify(made([...products].reverse(), { of }))).toBe(bytes)
    const known = { communities: first.communities!, edges: first.edges }
    const again = made(products, { of, known })
    expect({ ...again, edgesChanged: 1 }).toEqual({ ...first, edgesChanged: 1 })
    expect(again.edgesChanged).toBe(0)
  })
  it("keeps communities while little changes, and rebuilds them when much does", () => {
    const known = { communities: first.communities!, edges: first.edges }
    const little = made(products.slice(0, 2_990), { of, known, communities: false })
    expect([little.communities, little.edgesChanged < 0.1]).toEqual([undefined, true])
    expect(little.entities.filter(({ community_id }) => community_id !== "").length).toBeGreaterThan(50)
    const much = made(products.slice(0, 1_500), { of, known, communities: false })
    expect(much.edgesChanged).toBeGreaterThan(0.1)
    const carried = much.communities!.filter(({ id }) => first.communities!.some((community) => community.id === id))
    expect(carried.length).toBeGreaterThan(much.communities!.length / 2)
    expect(made(products, { of, communities: false }).communities).toBeUndefined()
  })
  it("has communities of at most fifty, parts of their parents, and none of a single entity", () => {
    const { communities = [], entities } = first
    expect(communities.length).toBeGreaterThan(4)
    const parents = new Set(communities.map(({ parent_id }) => parent_id))
    for (const { id, members, parent_id } of communities) {
      expect(members.length).toBeGreaterThan(1)
      if (!parents.has(id)) expect(members.length).toBeLessThanOrEqual(50)
      const parent = communities.find((community) => community.id === parent_id)
      if (parent !== undefined) expect(parent.members).toEqual(expect.arrayContaining([...members]))
    }
    // The smallest community that contains the entity.
    for (const { community_id, id } of entities)
      if (community_id !== "")
        expect(communities.findLast(({ members }) => members.includes(id))!.id).toBe(community_id)
  })
  it("makes no statement without documents that support it", () => {
    const byId = new Map(products.map((product) => [product.id as string, product]))
    const names = (id: string, text: string) =>
      ` ${foldedWords(JSON.stringify(byId.get(id))).join(" ")} `.includes(` ${keyOf(text)} `)
    for (const { report } of first.communities!) {
      expect(report.documents.length).toBeGreaterThan(0)
      for (const { document_ids } of report.facts) expect(document_ids.length).toBeGreaterThan(0)
      for (const { a, b, document_ids, support } of report.links) {
        expect(support).toBeGreaterThanOrEqual(3)
        expect(document_ids).toHaveLength(3)
        for (const id of document_ids) expect([a, names(id, a), b, names(id, b)]).toEqual([a, true, b, true])
      }
    }
  })
  it("includes revenue and queries if they are known", () => {
    const [community] = first.communities!
    const [document] = community!.report.documents
    const member = first.entities.find(({ id }) => community!.members.includes(id))!
    const behaviour = {
      days: 30,
      revenue: new Map([
        [document!, 75],
        ["p_gone", 25]
      ]),
      queries: [{ key: member.key, q: "asked", count: 12 }]
    }
    const { facts } = made(products, { of, behaviour }).communities![0]!.report
    expect(facts.map(({ text }) => text)).toEqual(
      expect.arrayContaining(["100 % of the revenue of 30 days", "Searched for: asked, 12 times"])
    )
    expect(facts.find(({ text }) => text.startsWith("Searched"))!.document_ids[0]).toBe(member.source_doc_ids[0])
  })
  it("has a bounded number of entities, those of most documents", () => {
    const few = made(products, { of, entitiesMax: 10 })
    expect(few.entities).toHaveLength(10)
    expect(few.entities.map(({ id }) => id)).toEqual(first.entities.slice(0, 10).map(({ id }) => id))
    expect(made([]).entities).toEqual([])
  })
})
describe("communities", () => {
  const clique = (from: number, n: number): ReadonlyArray<Edge> =>
    Array.from({ length: n }, (_, i) =>
      Array.from({ length: n - i - 1 }, (__, j) => ({
        a: from + i,
        b: from + i + j + 1,
        support: 3,
        npmi: 1,
        weight: 1
      }))
    ).flat()
  it("are connected groups", () => {
    const groups = communitiesOf([
      ...clique(0, 5),
      ...clique(10, 4),
      { a: 4, b: 10, support: 3, npmi: 0.3, weight: 0.1 }
    ])
    expect(groups.map(({ members, parent }) => [members, parent])).toEqual([
      [[0, 1, 2, 3, 4], undefined],
      [[10, 11, 12, 13], undefined]
    ])
    expect(communitiesOf([])).toEqual([])
  })
  it("keep their ids by greatest overlap, each once", () => {
    const known = [
      { id: "com_a", members: ["1", "2", "3"] },
      { id: "com_b", members: ["4", "5", "6"] }
    ]
    const ids = carriedIds(
      "c",
      [
        ["4", "5", "6", "7"],
        ["1", "2"],
        ["3", "8", "9", "10"],
        ["4", "11", "12", "13"]
      ],
      known
    )
    expect(ids.slice(0, 2)).toEqual(["com_b", "com_a"])
    expect(new Set(ids).size).toBe(4)
    expect(changedShare(Uint32Array.of(1, 2, 3, 4), Uint32Array.of(2, 3, 4, 5))).toBe(0.5)
  })
})
