/**
 * Question: how fast are completions over many popular queries, and how soon is the wanted query among the first?
 * Workload: (1) In process, an index of generated queries: prefixes of one letter and longer, a third with an error.
 * (2) The same queries, each searched by three visitors over `POST /events`, then `GET …/suggestions` from a load
 * process over a collection with facets: one connection, then a fixed rate. (3) `--queries-file` with `{query,
 * popularity}` per line: each query is wanted in proportion to its popularity and typed letter by letter, once
 * unchanged and once with one seeded error. Reports success@10 and the reciprocal rank by letters typed, next to
 * plain popularity: queries with that prefix, without correction. The file's own popularity both ranks and weights
 * the queries, so clean prefixes show the price of corrections, not the gain.
 */
import { generateCatalog, productSchema } from "../../fixtures/catalog/generate.ts"
import { makeRandom } from "../../fixtures/random.ts"
import { Typeahead, type Completable, foldText } from "../../src/suggestions/typeahead/typeahead.ts"
import { checksum, machine, percentiles, readLines, report, round, rssMb } from "../harness/harness.ts"
import { requestBytes, runLoad, startServer } from "../harness/program.ts"
import { withTypo } from "../inputs/query-errors.ts"

export interface SuggestionsOptions {
  readonly queryCount: number
  readonly products: number
  readonly seconds: number
  readonly rate: number
  readonly queriesFile: string | undefined
  readonly seed: number
  readonly out: string | undefined
}

const EVENTS_PER_BATCH = 999
const LETTERS = [1, 2, 3, 4, 5, 6, 8, 10] as const
const DRAWS = 2_000
const pause = (ms: number) => new Promise((settle) => setTimeout(settle, ms))

/** Distinct texts of one to four words of products, the most popular first by Zipf's law. */
const makeQueries = ({ products, queryCount, seed }: SuggestionsOptions): ReadonlyArray<string> => {
  const random = makeRandom(seed)
  const titles = [...generateCatalog({ seed, products })].map(({ title }) =>
    foldText(title)
      .split(" ")
      .filter((word) => word.length > 1)
  )
  const queries = new Set<string>()
  for (let turn = 0; queries.size < queryCount; turn++) {
    const words = titles[random.below(titles.length)]!,
      other = titles[random.below(titles.length)]!
    const from = random.below(words.length)
    const text = [
      ...words.slice(from, from + 1 + random.below(3)),
      ...(random.below(2) === 0 ? [] : [other[random.below(other.length)]!])
    ].join(" ")
    queries.add(turn < 20 * queryCount ? text : `${text} ${turn}`)
  }
  return [...queries]
}

const typedOf = (queries: ReadonlyArray<string>, seed: number, count: number): ReadonlyArray<string> => {
  const random = makeRandom(`typed ${seed}`)
  return Array.from({ length: count }, (_, i) => {
    const query = queries[Math.floor(queries.length * random.next() ** 3)]!
    return (i % 3 === 0 ? withTypo(query, seed + i) : query).slice(0, 1 + random.below(12))
  })
}

const inProcess = (queries: ReadonlyArray<string>, seed: number) => {
  const began = performance.now()
  const steps = Typeahead.build<Completable>(
    queries.map((label, i) => ({ label, score: queries.length / (i + 1), count: 1 }))
  )
  let longest_ms = 0
  let index: Typeahead<Completable> | undefined
  while (index === undefined) {
    const stepBegan = performance.now()
    const step = steps.next()
    longest_ms = Math.max(longest_ms, performance.now() - stepBegan)
    if (step.done === true) index = step.value
  }
  const build_ms = performance.now() - began
  const typed = typedOf(queries, seed, 20_000)
  for (const text of typed.slice(0, 2_000)) index.complete(text, 10)
  const latencies: Array<number> = []
  const answers: Array<string> = []
  for (const text of typed) {
    const started = performance.now()
    const found = index.complete(text, 10)
    latencies.push(performance.now() - started)
    answers.push(found.map(({ item }) => item.label).join("|"))
  }
  return {
    queries: index.size,
    bytes_per_query: Math.round(index.bytes / index.size),
    build_ms: Math.round(build_ms),
    longest_build_step_ms: round(longest_ms),
    ...percentiles(latencies),
    checksum: checksum(answers)
  }
}

const overHttp = async (queries: ReadonlyArray<string>, { products, rate, seconds, seed }: SuggestionsOptions) => {
  const server = await startServer()
  try {
    const send = async (method: string, path: string, body?: string) => {
      const response = await fetch(`${server.base}${path}`, {
        method,
        headers: { "x-svc-api-key": server.full_key },
        ...(body === undefined ? {} : { body })
      })
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
      return await response.text()
    }
    await send("POST", "/collections", JSON.stringify(productSchema("products")))
    await send(
      "POST",
      "/collections/products/documents/import",
      [...generateCatalog({ seed, products })].map((product) => JSON.stringify(product)).join("\n")
    )
    const began = performance.now()
    const timestamp = Date.now() - 60_000
    for (let at = 0; at < queries.length; at += EVENTS_PER_BATCH / 3) {
      const events = queries.slice(at, at + EVENTS_PER_BATCH / 3).flatMap((q, i) =>
        ["a", "b", "c"].map((visitor) => ({
          type: "search",
          collection: "products",
          q,
          user_id: `${visitor}${at + i}`,
          results_found: 5,
          timestamp
        }))
      )
      // Backpressure is a valid response too.
      for (;;) {
        const response = await fetch(`${server.base}/events`, {
          method: "POST",
          headers: { "x-svc-api-key": server.full_key },
          body: JSON.stringify({ events })
        })
        await response.arrayBuffer()
        if (response.ok) break
        if (response.status !== 429) throw new Error(`POST /events: ${response.status}`)
        await pause(1_000 * Number(response.headers.get("retry-after") ?? 1))
      }
    }
    const last = queries[queries.length - 1]!
    const isThere = async () =>
      (
        JSON.parse(await send("GET", `/collections/products/suggestions?q=${encodeURIComponent(last)}`)) as {
          readonly data: ReadonlyArray<{ readonly q: string }>
        }
      ).data.some(({ q }) => q === last)
    while (!(await isThere())) await pause(50)
    const visible_s = round((performance.now() - began) / 1_000, 1)
    const requests = typedOf(queries, seed, 5_000).map((typed) =>
      requestBytes(
        "GET",
        `/v1/collections/products/suggestions?q=${encodeURIComponent(typed)}`,
        server.search_key,
        undefined
      )
    )
    const common = { host: "127.0.0.1", port: server.port, requests, unique: false }
    await runLoad({ ...common, connections: 1, seconds: 1, rate: 0 })
    const one = await runLoad({ ...common, connections: 1, seconds, rate: 0 })
    const fixed = await runLoad({ ...common, connections: 16, seconds, rate })
    const searches = typedOf(queries, seed, 1_000).map((typed) =>
      requestBytes(
        "GET",
        `/v1/collections/products/documents/search?query_by=title&per_page=1&q=${encodeURIComponent(typed)}`,
        server.search_key,
        undefined
      )
    )
    const off = searches.map((text) =>
      Buffer.from(
        Buffer.from(text, "base64").toString().replace("per_page=1&", "per_page=1&refinements=off&")
      ).toString("base64")
    )
    const withRefinements = await runLoad({ ...common, requests: searches, connections: 1, seconds, rate: 0 })
    const without = await runLoad({ ...common, requests: off, connections: 1, seconds, rate: 0 })
    return {
      rss_mb: rssMb(server.pid),
      searches_told: 3 * queries.length,
      visible_after_s: visible_s,
      one_connection: percentiles(one.latencies_ms as Array<number>),
      fixed_rate_per_s: rate,
      fixed: percentiles(fixed.latencies_ms as Array<number>),
      statuses: fixed.statuses,
      search_with_refinements: percentiles(withRefinements.latencies_ms as Array<number>),
      search_without: percentiles(without.latencies_ms as Array<number>)
    }
  } finally {
    await server.stop()
  }
}

const quality = async (file: string, seed: number) => {
  const items = (await readLines(file))
    .map((line) => JSON.parse(line) as { readonly query: string; readonly popularity: number })
    .map(({ popularity, query }): Completable => ({ label: query, score: popularity + 0.5, count: popularity }))
  const index = Typeahead.of(items)
  const byScore = [...items].sort((a, b) => b.score - a.score)
  const plain = (typed: string) =>
    byScore
      .filter(({ label }) => label.startsWith(typed))
      .slice(0, 10)
      .map(({ label }) => label)
  const ours = (typed: string) => index.complete(typed, 10).map(({ item }) => item.label)
  const total = items.reduce((sum, { score }) => sum + score, 0)
  const random = makeRandom(`wanted ${seed}`)
  const wanted = Array.from({ length: DRAWS }, () => {
    let left = random.next() * total
    return byScore.find(({ score }) => (left -= score) <= 0)?.label ?? byScore[0]!.label
  })
  const rows = LETTERS.map((letters) => {
    const measure = (
      typedOfWanted: (query: string, i: number) => string | undefined,
      find: (typed: string) => ReadonlyArray<string>
    ) => {
      let found = 0,
        reciprocal = 0,
        count = 0
      for (const [i, query] of wanted.entries()) {
        const typed = typedOfWanted(query, i)
        if (typed === undefined) continue
        count++
        const place = find(typed).indexOf(query)
        if (place < 0) continue
        found++
        reciprocal += 1 / (place + 1)
      }
      return count === 0 ? undefined : { count, success: round(found / count), mrr: round(reciprocal / count) }
    }
    const clean = (query: string) => (query.length < letters ? undefined : query.slice(0, letters))
    // The error is among the typed letters, and the typed text still differs from the correct one.
    const wrong = (query: string, i: number) => {
      const right = clean(query)
      const typed = right === undefined || letters < 4 ? undefined : withTypo(right, seed + i)
      return typed === right ? undefined : typed
    }
    return {
      letters,
      clean: { ours: measure(clean, ours), plain: measure(clean, plain) },
      error: { ours: measure(wrong, ours), plain: measure(wrong, plain) }
    }
  })
  const cell = (value: { readonly success: number; readonly mrr: number } | undefined) =>
    (value === undefined ? "-" : `${value.success.toFixed(3)} / ${value.mrr.toFixed(3)}`).padEnd(16)
  process.stdout.write(
    `\nsuccess@10 / MRR of the wanted query\n  letters  ours             plain            ours, error      plain, error\n`
  )
  for (const { clean, error, letters } of rows)
    process.stdout.write(
      `  ${String(letters).padEnd(9)}${cell(clean.ours)} ${cell(clean.plain)} ${cell(error.ours)} ${cell(error.plain)}\n`
    )
  const at = (letters: number) => rows.find((row) => row.letters === letters)!
  return {
    quality: {
      success_3: at(3).clean.ours?.success,
      mrr_3: at(3).clean.ours?.mrr,
      error_success_6: at(6).error.ours?.success,
      plain_error_success_6: at(6).error.plain?.success
    },
    quality_rows: rows
  }
}

export const benchSuggestions = async (options: SuggestionsOptions): Promise<void> => {
  const queries = makeQueries(options)
  const figures = {
    machine: machine(),
    in_process: inProcess(queries, options.seed),
    http: await overHttp(queries, options)
  }
  report(
    "suggestions",
    { ...figures, ...(options.queriesFile === undefined ? {} : await quality(options.queriesFile, options.seed)) },
    options.out
  )
}
