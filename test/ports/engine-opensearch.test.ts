/**
 * The engine suite on a real node of OpenSearch, in both grades, and what only tenants that share an index can show.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { OpensearchEngine, type OpensearchOptions } from "../../engine-sdk/src/opensearch/mod.ts"
import { engineSuite, type EngineUnderTest } from "../../engine-sdk/src/testing/engine-suite.ts"
import { vectorSuite } from "../../engine-sdk/src/testing/vector-suite.ts"
import { measureAgreement, measureVectorAgreement } from "../support/agreement.ts"
import { createLab } from "../support/engine-lab.ts"
import { kindsOfValues } from "../support/kinds-of-values.ts"
import { opensearchMissing, startTestCluster } from "../support/opensearch.ts"
import { opensearchCases } from "./engine-opensearch.cases.ts"
import { opensearchFilterCases } from "./engine-opensearch-filters.cases.ts"
import { opensearchMoveCases } from "./engine-opensearch-moves.cases.ts"
import { opensearchRuleCases } from "./engine-opensearch-rules.cases.ts"
import { opensearchVectorCases } from "./engine-opensearch-vectors.cases.ts"

const missing = opensearchMissing()
let nodes: ReadonlyArray<string> = []
let installations = 0
const NESTED = { enable_nested_fields: true }

const make = async (more: Partial<OpensearchOptions> = {}): Promise<EngineUnderTest> => {
  const opened = await OpensearchEngine.open({ nodes, prefix: `t${installations++}`, follow_ms: 200, ...more })
  if (!opened.ok) throw new Error(opened.error.message)
  return { engine: opened.value, dispose: () => opened.value.close() }
}
const framework = {
  describe,
  it: (name: string, body: () => Promise<void>): void => {
    it(name, body)
  },
  expect
}

describe.skipIf(missing !== undefined)(`OpenSearch${missing === undefined ? "" : `: ${missing}`}`, () => {
  let stop = async () => {}
  beforeAll(async () => {
    const cluster = await startTestCluster()
    nodes = cluster.nodes
    stop = cluster.stop
  })
  afterAll(() => stop())

  engineSuite(framework, "exact", make)
  engineSuite(framework, "approximate", make, "approximate")
  vectorSuite(framework, "OpenSearch", make)
  opensearchCases(() => nodes)
  opensearchFilterCases(make, () => make({ vocabularyDocuments_max: 0 }))
  opensearchRuleCases(() => nodes)
  opensearchMoveCases(() => nodes)

  const agreeing = async (
    measure: typeof measureAgreement,
    options: Parameters<typeof measureAgreement>[1]
  ): Promise<void> => {
    const { engine, dispose } = await make()
    const labs = [createLab(), createLab(engine)] as const
    try {
      const { byGroup, differences, facets, found, ids, searches, status } = await measure(labs, options)
      const shares = {
        status: status / searches,
        found: found / searches,
        ids: ids / searches,
        facets: facets / searches
      }
      const said = `${JSON.stringify(shares)}\n${differences.join("\n")}`
      if (process.env.TOLD === "1") console.log(said)
      expect(searches).toBe(140)
      expect(shares.status, said).toBeGreaterThanOrEqual(0.99)
      expect(shares.found, said).toBeGreaterThanOrEqual(0.95)
      expect(shares.ids, said).toBeGreaterThanOrEqual(0.9)
      expect(shares.facets, said).toBeGreaterThanOrEqual(0.98)
      for (const [group, own] of byGroup) expect([group, own.ids >= 0.8 * own.searches], said).toEqual([group, true])
    } finally {
      await labs[0].close()
      await dispose()
    }
  }
  opensearchVectorCases(() => nodes)

  it("answers generated searches as the engine in memory does", async () => {
    await agreeing(measureAgreement, { products: 1_500, searches: 140, seed: 11 })
  })
  it("answers generated searches of vectors as the engine in memory does", async () => {
    await agreeing(measureVectorAgreement, { products: 1_000, searches: 140, seed: 12 })
  })

  it("answers searches and changes of every kind of value word for word as the engine in memory", async () => {
    const { engine, dispose } = await make()
    const labs = [createLab(), createLab(engine)] as const
    const timeless = (body: unknown) =>
      JSON.parse(JSON.stringify(body, (key, value) => (/^(search_time_ms|created_at)$/.test(key) ? 0 : value)))
    try {
      for (const lab of labs) await lab.collection("things", kindsOfValues.fields, kindsOfValues.documents, NESTED)
      const searches = kindsOfValues.searches.map((search) => {
        const parameters = Object.entries({ query_by: "title", ...search }).map(([key, value]) => [key, String(value)])
        return ["GET", `/collections/things/documents/search?${new URLSearchParams(parameters)}`] as const
      })
      let answered = 0
      for (const [method, path, body] of [...searches, ...kindsOfValues.operations]) {
        const [wanted, found] = await Promise.all(labs.map((lab) => lab.call(method, path, body)))
        expect(timeless(found), `${method} ${path}`).toEqual(timeless(wanted))
        if (wanted.status < 300) answered++
      }
      // Both refuse four of them.
      expect([answered, searches.length + kindsOfValues.operations.length]).toEqual([78, 82])
    } finally {
      await labs[0].close()
      await dispose()
    }
  })
})
