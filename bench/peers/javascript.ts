/**
 * Peers that run in the same program: MiniSearch, Orama and SQLite's FTS5. Each does as much of the workload as it
 * can (`cannot` lists what is missing) over the same documents: all words must match, the last may be a prefix, the
 * filter, ten hits, the exact total, and facet counts over all matches. Slow peers get only the first queries.
 */
import { create, insertMultiple, search as searchOrama } from "@orama/orama"
import MiniSearch from "minisearch"
import type { Inputs } from "../inputs/inputs.ts"
import { percentiles, round } from "../harness/harness.ts"

interface JavascriptPeer {
  readonly name: string
  readonly cannot: string
  readonly run: (inputs: Inputs) => Promise<{
    readonly import_docs_per_s: number
    readonly queries: number
    readonly qps: number
    readonly p50_ms: number
    readonly p99_ms: number
    readonly none_found: number
  }>
}
interface Field {
  readonly name: string
  readonly type: string
  readonly facet?: boolean
}
type Row = Record<string, unknown>

const fieldsOf = (inputs: Inputs) => inputs.schema.fields as ReadonlyArray<Field>
const textOf = (value: unknown): string => (Array.isArray(value) ? value.join(" ") : String(value ?? ""))
const wordsOf = (text: string): ReadonlyArray<string> => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []

interface Clause {
  readonly field: string
  readonly test: (value: unknown) => boolean
  readonly sql: string
}
/** Parses the filters that our generator writes: equality, lists, comparisons and ranges, all AND-ed. */
const clausesOf = (filter: unknown): ReadonlyArray<Clause> =>
  String(filter ?? "")
    .split("&&")
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .map((part): Clause => {
      const [, field, operator = "", raw] = /^([a-z_]+):(=|>=|<=|>|<)?(.*)$/.exec(part) as unknown as [
        string,
        string,
        string | undefined,
        string
      ]
      const value = raw.trim()
      const texts = [...value.matchAll(/`([^`]*)`/g)].map((match) => match[1])
      if (texts.length > 0)
        return {
          field,
          test: (own) => texts.includes(String(own)),
          sql: `${field} IN (${texts.map((text) => `'${text.replaceAll("'", "''")}'`).join(",")})`
        }
      if (value === "true" || value === "false")
        return { field, test: (own) => own === (value === "true"), sql: `${field} = ${value === "true" ? 1 : 0}` }
      const range = /^\[(-?[\d.]+)\.\.(-?[\d.]+)\]$/.exec(value)
      if (range !== null)
        return {
          field,
          test: (own) => Number(own) >= Number(range[1]) && Number(own) <= Number(range[2]),
          sql: `${field} BETWEEN ${range[1]} AND ${range[2]}`
        }
      const bound = Number(value)
      const tests: Record<string, (own: number) => boolean> = {
        ">": (own) => own > bound,
        ">=": (own) => own >= bound,
        "<": (own) => own < bound,
        "<=": (own) => own <= bound,
        "=": (own) => own === bound,
        "": (own) => own === bound
      }
      return {
        field,
        test: (own) => tests[operator](Number(own)),
        sql: `${field} ${operator === "" ? "=" : operator} ${bound}`
      }
    })

const measure = async (
  inputs: Inputs,
  queriesMax: number,
  importSeconds: number,
  one: (query: Row) => Promise<number> | number
) => {
  const queries = inputs.queries.slice(0, queriesMax)
  for (const query of inputs.warm.slice(0, Math.min(20, queriesMax))) await one(query)
  const times = new Float64Array(queries.length)
  let none = 0
  const started = performance.now()
  for (let i = 0; i < queries.length; i++) {
    const at = performance.now()
    if ((await one(queries[i])) === 0) none++
    times[i] = performance.now() - at
  }
  const { p50_ms, p99_ms } = percentiles(times)
  return {
    import_docs_per_s: Math.round(inputs.documents.length / importSeconds),
    queries: queries.length,
    qps: round(queries.length / ((performance.now() - started) / 1000), 1),
    p50_ms,
    p99_ms,
    none_found: none
  }
}
const countFacets = (rows: Iterable<Row>, fields: ReadonlyArray<string>): void => {
  for (const field of fields) {
    const counts = new Map<string, number>()
    for (const row of rows) counts.set(String(row[field]), (counts.get(String(row[field])) ?? 0) + 1)
    ;[...counts].sort((a, b) => b[1] - a[1]).slice(0, 10)
  }
}

const minisearch: JavascriptPeer = {
  name: "MiniSearch 7.2.0",
  cannot: "nothing of it",
  run: (inputs) => {
    const fields = fieldsOf(inputs)
    const searchable = String(inputs.queries[0].query_by).split(",")
    const index = new MiniSearch<Row>({
      fields: searchable,
      storeFields: fields
        .filter((field) => field.facet === true || !field.type.startsWith("string"))
        .map(({ name }) => name),
      extractField: (row, name) =>
        name === "id" ? row.id : Array.isArray(row[name]) ? textOf(row[name]) : (row[name] as string)
    })
    const started = performance.now()
    index.addAll([...inputs.documents].map((text) => JSON.parse(text) as Row))
    return measure(inputs, 100, (performance.now() - started) / 1000, (query) => {
      const clauses = clausesOf(query.filter_by)
      const hits = index.search(String(query.q), {
        combineWith: "AND",
        prefix: (_, i, terms) => i === terms.length - 1,
        fuzzy: (term) => (term.length < 4 ? false : term.length < 7 ? 1 : 2),
        filter: (hit) => clauses.every(({ field, test }) => test((hit as Row)[field]))
      })
      countFacets(
        hits as unknown as ReadonlyArray<Row>,
        String(query.facet_by ?? "")
          .split(",")
          .filter((name) => name !== "")
      )
      return hits.length
    })
  }
}

const orama: JavascriptPeer = {
  name: "Orama 3.1.18",
  cannot: "words are OR-ed unless all match (threshold 0)",
  run: async (inputs) => {
    const fields = fieldsOf(inputs)
    const type = (field: Field) =>
      field.type === "string[]"
        ? "string[]"
        : field.type === "string"
          ? "string"
          : field.type === "bool"
            ? "boolean"
            : "number"
    const database = create({
      schema: Object.fromEntries(fields.map((field) => [field.name, type(field)])) as Record<string, "string">
    })
    const started = performance.now()
    await insertMultiple(database, [...inputs.documents].map((text) => JSON.parse(text) as Row) as never, 1000)
    return measure(inputs, 20, (performance.now() - started) / 1000, async (query) => {
      const where: Record<string, unknown> = {}
      for (const { field, sql } of clausesOf(query.filter_by)) {
        const list = /IN \((.*)\)$/.exec(sql)
        const between = /BETWEEN (\S+) AND (\S+)$/.exec(sql)
        const compared = / (>=|<=|>|<|=) (\S+)$/.exec(sql)
        where[field] =
          list !== null
            ? list[1].slice(1, -1).split("','")
            : between !== null
              ? { between: [Number(between[1]), Number(between[2])] }
              : compared !== null && compared[1] !== "="
                ? { [{ ">": "gt", ">=": "gte", "<": "lt", "<=": "lte" }[compared[1]] as string]: Number(compared[2]) }
                : compared?.[2] === "1"
      }
      const facets = Object.fromEntries(
        String(query.facet_by ?? "")
          .split(",")
          .filter((name) => name !== "")
          .map((name) => [name, { limit: 10 }])
      )
      const answer = await searchOrama(database, {
        term: String(query.q),
        properties: String(query.query_by).split(","),
        tolerance: 1,
        threshold: 0,
        where,
        facets,
        limit: 10
      } as never)
      return answer.count
    })
  }
}

const sqlite: JavascriptPeer = {
  name: "SQLite FTS5",
  cannot: "typos",
  run: async (inputs) => {
    const { DatabaseSync } = await import("node:sqlite")
    const fields = fieldsOf(inputs)
    const searchable = String(inputs.queries[0].query_by).split(",")
    const columns = fields
      .filter((field) => field.facet === true || !field.type.startsWith("string"))
      .map(({ name }) => name)
    const database = new DatabaseSync(":memory:")
    database.exec(
      `CREATE VIRTUAL TABLE words USING fts5(${searchable.map((name) => `${name}_text`).join(",")}, tokenize='unicode61', prefix='2 3'); CREATE TABLE goods (rowid INTEGER PRIMARY KEY, source TEXT, ${columns.join(",")})`
    )
    const started = performance.now()
    const words = database.prepare(
      `INSERT INTO words (rowid, ${searchable.map((name) => `${name}_text`).join(",")}) VALUES (?, ${searchable.map(() => "?").join(",")})`
    )
    const goods = database.prepare(
      `INSERT INTO goods (rowid, source, ${columns.join(",")}) VALUES (?, ?, ${columns.map(() => "?").join(",")})`
    )
    database.exec("BEGIN")
    let i = 0
    for (const text of inputs.documents) {
      const row = JSON.parse(text) as Row
      words.run(i + 1, ...searchable.map((name) => textOf(row[name])))
      goods.run(
        ++i,
        text,
        ...columns.map((name) => {
          const value = row[name]
          return typeof value === "boolean" ? Number(value) : typeof value === "number" ? value : textOf(value)
        })
      )
    }
    database.exec("COMMIT")
    return measure(inputs, 300, (performance.now() - started) / 1000, (query) => {
      const terms = wordsOf(String(query.q))
      const match = terms
        .map((word, i) => (i === terms.length - 1 ? `"${word}"*` : `"${word}"`))
        .join(" AND ")
        .replaceAll("'", "''")
      const where = clausesOf(query.filter_by)
        .map(({ sql }) => `AND goods.${sql}`)
        .join(" ")
      const from = `FROM words JOIN goods ON goods.rowid = words.rowid WHERE words MATCH '${match}' ${where}`
      database.prepare(`SELECT source ${from} ORDER BY bm25(words) LIMIT 10`).all()
      for (const name of String(query.facet_by ?? "").split(","))
        if (name !== "")
          database.prepare(`SELECT ${name}, count(*) AS n ${from} GROUP BY 1 ORDER BY 2 DESC LIMIT 10`).all()
      return Number((database.prepare(`SELECT count(*) AS n ${from}`).get() as { n: number }).n)
    })
  }
}

export const javascriptPeers: Readonly<Record<"minisearch" | "orama" | "sqlite", JavascriptPeer>> = {
  minisearch,
  orama,
  sqlite
}
