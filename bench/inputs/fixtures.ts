/**
 * Writes generated fixtures as files of any size: documents, schema, queries, judgments and visitor events, for
 * benches elsewhere.
 */
import { createWriteStream, mkdirSync, writeFileSync } from "node:fs"
import { once } from "node:events"
import { join } from "node:path"
import { generateCatalog, type Product, productSchema } from "../../fixtures/catalog/generate.ts"
import { generateVisitors } from "../../fixtures/events/generate.ts"
import { generateQueries, gradeOf } from "../../fixtures/queries/generate.ts"

export interface FixtureOptions {
  readonly folder: string
  readonly products: number
  readonly queries: number
  readonly sessions: number
  readonly seed: number
}

/** The products that queries and visitors are drawn from: enough for variety, few enough for memory. */
const sampleMax = 50_000

const write = async (file: string, lines: Iterable<string>): Promise<number> => {
  const sink = createWriteStream(file)
  let count = 0
  for (const line of lines) {
    count++
    if (!sink.write(`${line}\n`)) await once(sink, "drain")
  }
  sink.end()
  await once(sink, "finish")
  return count
}

export const writeFixtures = async ({ folder, products, queries, seed, sessions }: FixtureOptions): Promise<void> => {
  mkdirSync(folder, { recursive: true })
  const sample: Array<Product> = []
  const documents = function* () {
    for (const product of generateCatalog({ seed, products })) {
      if (sample.length < sampleMax) sample.push(product)
      yield JSON.stringify(product)
    }
  }
  const written = {
    documents: await write(join(folder, "docs.jsonl"), documents()),
    queries: 0,
    judgments: 0,
    events: 0
  }
  writeFileSync(join(folder, "schema.json"), JSON.stringify(productSchema("products"), null, 1))
  const made = [...generateQueries(sample, { seed, queries })]
  written.queries = await write(
    join(folder, "queries.jsonl"),
    made.map((query) =>
      JSON.stringify({
        q: query.q,
        query_by: "title,brand,category,attributes",
        facet_by: "brand,category",
        per_page: 10,
        ...(query.filter_by === undefined ? {} : { filter_by: query.filter_by })
      })
    )
  )
  await write(
    join(folder, "topics.jsonl"),
    made.map((query, i) => JSON.stringify({ id: `q${i + 1}`, text: query.q }))
  )
  const judgments = function* () {
    // Only the sample is judged: a relevant product outside it is unknown, not irrelevant.
    for (const [i, query] of made.slice(0, 200).entries()) {
      for (const product of sample.slice(0, 5_000)) {
        const grade = gradeOf(query, product)
        if (grade > 0) yield `q${i + 1}\t${product.id}\t${grade}`
      }
    }
  }
  written.judgments = await write(join(folder, "qrels.tsv"), judgments())
  const to = 1_767_225_600_000
  const events = function* () {
    for (const event of generateVisitors(sample, {
      seed,
      sessions,
      collection: "products",
      from: to - 86_400_000,
      to,
      run: `f${seed}`
    }))
      yield JSON.stringify(event)
  }
  written.events = await write(join(folder, "events.jsonl"), events())
  process.stdout.write(
    `${folder}: ${Object.entries(written)
      .map(([name, count]) => `${count.toLocaleString("en")} ${name}`)
      .join(", ")}\n`
  )
}
