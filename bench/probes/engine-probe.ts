/**
 * How fast the embedded engine is: import rate, index size, and latency of a mixed workload (typos, prefixes,
 * filters, two facets over all matches) on generated products. Run: `deno run -A bench/probes/engine-probe.ts
 * [documents] [searches] [--cold]`. The figures come from one thread and one run: read ratios, not absolute values.
 */
import { createEngine } from "../../engine-sdk/src/mod.ts"
import type { FacetRequest, SearchPlan, WriteOperation } from "../../engine-sdk/src/plan.ts"
import type { Filter } from "../../engine-sdk/src/filter.ts"
import { suiteField, suitePlan, suiteSchema, suiteText } from "../../engine-sdk/src/testing/engine-suite.ts"

const [documents = 100_000, searches = 1_000] = process.argv
  .slice(2)
  .filter((argument) => !argument.startsWith("--"))
  .map(Number)
/** A small seeded generator (mulberry32) that gives the same documents and queries every time. */
let state = 20_240_917
const random = (): number => {
  state = (state + 0x6d2b79f5) | 0
  let t = Math.imul(state ^ (state >>> 15), 1 | state)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296
}
const pick = <A>(list: ReadonlyArray<A>): A => list[Math.floor(random() * list.length)]
/** Few words are common and many are rare, as in real catalogues. */
const zipf = (n: number): number => Math.floor(n ** random()) - 1
const syllables = [
  "ba",
  "ko",
  "ri",
  "ten",
  "sol",
  "mar",
  "vin",
  "da",
  "lo",
  "pex",
  "gru",
  "ni",
  "sha",
  "tor",
  "el",
  "qua",
  "fer",
  "mi",
  "zan",
  "hu"
]
const word = (): string => Array.from({ length: 2 + Math.floor(random() * 3) }, () => pick(syllables)).join("")
const words = [...new Set(Array.from({ length: 30_000 }, word))]
const brands = Array.from({ length: 400 }, () => `${word()} ${pick(["works", "labs", "home", "pro"])}`)
const categories = Array.from({ length: 60 }, word)
const text = (n: number): string => Array.from({ length: n }, () => words[Math.max(0, zipf(words.length))]).join(" ")

const schema = suiteSchema(
  "products",
  [
    suiteField("name", "string", { optional: false }),
    suiteField("description", "string"),
    suiteField("brand", "string", { facet: true }),
    suiteField("categories", "string[]", { facet: true }),
    suiteField("price", "float"),
    suiteField("popularity", "int32"),
    suiteField("in_stock", "bool", { facet: true })
  ],
  { default_sorting_field: "popularity" }
)
const engine = createEngine()
await engine.createCollection("bench", schema, 1)
const lines: string[] = []
for (let i = 0; i < documents; i++) {
  lines.push(
    JSON.stringify({
      id: `p${i}`,
      name: text(4 + Math.floor(random() * 4)),
      description: text(18),
      brand: pick(brands),
      categories: [pick(categories), pick(categories)],
      price: Math.floor(random() * 50_000) / 100,
      popularity: Math.floor(random() * 1_000_000),
      in_stock: random() < 0.8
    })
  )
}
const started = performance.now()
for (let at = 0; at < lines.length; at += 10_000) {
  const operations = lines
    .slice(at, at + 10_000)
    .map((document): WriteOperation => ({ kind: "put", action: "create", dirtyValues: undefined, document }))
  const written = await engine.write("bench", "products", operations)
  if (!written.ok || written.value.some(({ result }) => !result.ok)) throw new Error("import failed")
}
const import_ms = performance.now() - started
await new Promise((resolve) => setTimeout(resolve, 3_000))
const usage = engine.usage("bench", "products")!
console.log(
  `import ${documents} documents: ${Math.round((documents / import_ms) * 1000)} documents/s; segments ${usage.segments}; index ${Math.round(usage.index_bytes / documents)} bytes/document beside ${Math.round(usage.document_bytes / documents)} of JSON`
)

const facet = (field: string): FacetRequest => ({
  field,
  ranges: [],
  order: { kind: "count" },
  topK: false,
  strategy: "exhaustive",
  returnParent: false
})
const typo = (token: string): string => {
  const at = 1 + Math.floor(random() * (token.length - 2))
  return token.slice(0, at) + pick(["x", "q", ""]) + token.slice(at + 1)
}
const makePlan = (): { kind: string; plan: SearchPlan } => {
  const common = words[zipf(2_000)],
    rarer = words[Math.max(0, zipf(words.length))]
  const roll = random()
  const kind = roll < 0.3 ? "words" : roll < 0.55 ? "prefix" : roll < 0.75 ? "typo" : roll < 0.9 ? "filter" : "all"
  const tokens =
    kind === "words"
      ? [common, rarer]
      : kind === "prefix"
        ? [common.slice(0, 3 + Math.floor(random() * 3))]
        : kind === "typo"
          ? [typo(rarer.length > 5 ? rarer : `${rarer}solmar`)]
          : [common]
  const filter: Filter | undefined =
    kind === "filter" || (kind === "all" && random() < 0.5)
      ? {
          kind: "and",
          left: {
            kind: "number",
            field: "price",
            type: "float",
            ranges: [{ min: Math.floor(random() * 200), max: 300 + Math.floor(random() * 200) }]
          },
          right: { kind: "bool", field: "in_stock", values: [true] }
        }
      : undefined
  return {
    kind,
    plan: suitePlan("products", {
      ...(kind === "all"
        ? { sort: [{ kind: "field", field: "popularity", type: "int32", missing: "normal", order: "desc" }] }
        : {
            text: suiteText(tokens, ["name", "brand", "description"]),
            sort: [
              { kind: "text_match", order: "desc" },
              { kind: "field", field: "popularity", type: "int32", missing: "normal", order: "desc" }
            ]
          }),
      filter,
      facets: [facet("brand"), facet("categories")]
    })
  }
}
const plans = Array.from({ length: searches }, makePlan)
const measure = (): void => {
  const byKind = new Map<string, number[]>()
  let found = 0
  const start = performance.now()
  for (const { kind, plan } of plans) {
    const at = performance.now()
    const [answer] = engine.search("bench", [plan]) as ReadonlyArray<{ ok: boolean; value?: { found: number } }>
    const took = performance.now() - at
    found += answer.value?.found ?? 0
    for (const name of [kind, "together"]) {
      const list = byKind.get(name)
      if (list === undefined) byKind.set(name, [took])
      else list.push(took)
    }
  }
  const total = performance.now() - start
  for (const [kind, list] of [...byKind].sort()) {
    list.sort((a, b) => a - b)
    console.log(
      `${kind.padStart(9)} n ${String(list.length).padStart(5)}  p50 ${list[list.length >> 1].toFixed(3)} ms  p90 ${list[Math.floor(list.length * 0.9)].toFixed(3)}  p99 ${list[Math.floor(list.length * 0.99)].toFixed(3)}  max ${list[list.length - 1].toFixed(2)}`
    )
  }
  console.log(
    `${Math.round((searches / total) * 1000)} searches/s, ${Math.round(found / searches)} documents found on average`
  )
}
console.log("first pass")
measure()
console.log("second pass")
measure()
for (let i = 0; i < 3; i++) {
  const took: number[] = []
  for (let n = 0; n < 50; n++) {
    const at = performance.now()
    await engine.write("bench", "products", [
      { kind: "put", action: "upsert", dirtyValues: undefined, document: { ...JSON.parse(lines[n]), name: text(5) } }
    ])
    took.push(performance.now() - at)
  }
  took.sort((a, b) => a - b)
  console.log(`single upsert: p50 ${took[25].toFixed(3)} ms, p90 ${took[45].toFixed(3)} ms`)
}
console.log("after upserts")
measure()
await engine.close()
