/** Filters over columns, compared with a plain evaluation document by document, after random writes and merges. */
import { describe, expect, it } from "vitest"
import { createEngine } from "../src/mod.ts"
import type { SearchPlan } from "../src/plan.ts"
import type { Filter } from "../src/filter.ts"
import { putOf, suiteField, suitePlan, suiteSchema, suiteText } from "../src/testing/engine-suite.ts"

interface Row {
  readonly id: string
  readonly colour?: string
  readonly tags?: ReadonlyArray<string>
  readonly n?: number
  readonly price?: number
  readonly ok?: boolean
}
const seeded = (seed: number) => (): number => {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296
}
const words = (text: string): string[] => text.split(" ")
const matches = (filter: Filter, row: Row): boolean => {
  switch (filter.kind) {
    case "and":
      return matches(filter.left, row) && matches(filter.right, row)
    case "or":
      return matches(filter.left, row) || matches(filter.right, row)
    case "not":
      return !matches(filter.filter, row)
    case "ids":
      return filter.ids.includes(row.id)
    case "bool":
      return row.ok !== undefined && filter.values.includes(row.ok)
    case "number": {
      const value = filter.field === "n" ? row.n : row.price
      return (
        value !== undefined &&
        filter.ranges.some(
          ({ min, max, minOpen, maxOpen }) =>
            (minOpen === true ? value > min : value >= min) && (maxOpen === true ? value < max : value <= max)
        )
      )
    }
    case "string": {
      const values = filter.field === "colour" ? (row.colour === undefined ? [] : [row.colour]) : (row.tags ?? [])
      return filter.values.some(({ tokens, match }) =>
        match === "equals"
          ? values.some((value) => value === tokens.join(" "))
          : tokens.every((token) => values.some((value) => words(value).includes(token)))
      )
    }
    default:
      throw new Error(`no such filter here: ${filter.kind}`)
  }
}

describe("filters", () => {
  it("agree with a naive evaluator on random documents", async () => {
    const random = seeded(11)
    const pick = <A>(list: ReadonlyArray<A>): A => list[Math.floor(random() * list.length)]
    const colours = ["red", "blue", "dark red", "dark blue green"]
    const rows = new Map<string, Row>()
    const engine = createEngine()
    await engine.createCollection(
      "t",
      suiteSchema("c", [
        suiteField("colour", "string"),
        suiteField("tags", "string[]"),
        suiteField("n", "int32"),
        suiteField("price", "float"),
        suiteField("ok", "bool")
      ]),
      1
    )
    for (let round = 0; round < 40; round++) {
      const batch: Row[] = []
      for (let i = 0; i < 20; i++) {
        const row: Row = {
          id: `d${Math.floor(random() * 300)}`,
          ...(random() < 0.8 ? { colour: pick(colours) } : {}),
          ...(random() < 0.7 ? { tags: [pick(colours), pick(colours)] } : {}),
          ...(random() < 0.8 ? { n: Math.floor(random() * 20) - 5 } : {}),
          ...(random() < 0.8 ? { price: Math.floor(random() * 8) / 4 } : {}),
          ...(random() < 0.8 ? { ok: random() < 0.5 } : {})
        }
        batch.push(row)
        rows.set(row.id, row)
      }
      await engine.write(
        "t",
        "c",
        batch.map((row) => putOf({ ...row }))
      )
      const gone = `d${Math.floor(random() * 300)}`
      rows.delete(gone)
      await engine.write("t", "c", [{ kind: "delete", id: gone }])
    }
    const leaf = (): Filter => {
      const kind = Math.floor(random() * 5)
      if (kind === 0)
        return {
          kind: "number",
          field: "n",
          type: "int32",
          ranges: [{ min: Math.floor(random() * 10) - 5, max: Math.floor(random() * 15), minOpen: random() < 0.5 }]
        }
      if (kind === 1)
        return {
          kind: "number",
          field: "price",
          type: "float",
          ranges: [{ min: Math.floor(random() * 8) / 4, max: Infinity }]
        }
      if (kind === 2) return { kind: "bool", field: "ok", values: [random() < 0.5] }
      if (kind === 3) return { kind: "ids", ids: Array.from({ length: 20 }, () => `d${Math.floor(random() * 300)}`) }
      return {
        kind: "string",
        field: pick(["colour", "tags"]),
        values: [{ tokens: words(pick(colours)), match: pick(["contains", "equals"] as const), prefix: false }],
        prefixCandidates: 4
      }
    }
    const tree = (depth: number): Filter =>
      depth === 0 || random() < 0.3
        ? leaf()
        : random() < 0.25
          ? { kind: "not", filter: tree(depth - 1) }
          : { kind: pick(["and", "or"] as const), left: tree(depth - 1), right: tree(depth - 1) }
    for (let n = 0; n < 250; n++) {
      const filter = tree(3)
      const [answer] = await engine.search("t", [suitePlan("c", { filter, limit: 300 })])
      const found = answer.ok ? (answer.value.hits ?? []).map(({ document }) => String(document.id)).sort() : []
      expect(found, JSON.stringify(filter)).toEqual(
        [...rows.values()]
          .filter((row) => matches(filter, row))
          .map(({ id }) => id)
          .sort()
      )
      expect(answer.ok ? answer.value.found : -1).toBe(found.length)
    }
    await engine.close()
  })
})

it("keeps its cached result of a filter, whatever a search removes from its own copy", async () => {
  const engine = createEngine()
  await engine.createCollection(
    "t",
    suiteSchema("c", [suiteField("title", "string"), suiteField("brand", "string", { facet: true })]),
    1
  )
  await engine.write(
    "t",
    "c",
    Array.from({ length: 600 }, (_document, i) =>
      putOf({ id: `d${i}`, title: i % 2 === 0 ? "red lamp" : "lamp", brand: i % 3 === 0 ? "acme" : "berg" })
    )
  )
  const acme: Filter = {
    kind: "string",
    field: "brand",
    values: [{ tokens: ["acme"], match: "equals", prefix: false }],
    prefixCandidates: 4
  }
  const found = async (more: Partial<SearchPlan>): Promise<number> => {
    const [answer] = await engine.search("t", [suitePlan("c", { filter: acme, ...more })])
    return answer.ok ? answer.value.found : -1
  }
  const all = await found({})
  expect(all).toBe(200)
  const text = suiteText(["lamp"], ["title"])
  await found({ hidden: ["d0", "d3", "d6"] })
  await found({ text: { ...text, excluded: [["red"]] } })
  await found({ text: { ...text, phrases: [["red", "lamp"]] } })
  await found({
    text,
    injected: [
      { kind: "sponsored", target: { filter: acme, filter_by: "brand:=acme" }, position: 1, mustPassFilter: true },
      { kind: "sponsored", target: { filter: acme, filter_by: "brand:=acme" }, position: 2, mustPassFilter: false }
    ],
    hidden: ["d9"]
  })
  expect(await found({})).toBe(all)
  expect(await found({ filter: { kind: "and", left: acme, right: acme } })).toBe(all)
  expect(await found({ filter: { kind: "or", left: acme, right: acme } })).toBe(all)
  await engine.close()
})

it("ranges over an evenly split column match a check of every document, whatever the bounds", async () => {
  const random = seeded(31),
    size = 12_000
  // Many documents with few values, many values, and some documents without any.
  const rows = Array.from({ length: size }, (_row, i) => ({
    id: String(i),
    ...(random() < 0.1
      ? {}
      : { price: random() < 0.3 ? Math.floor(random() * 4) * 100 : Math.fround(random() * 1_000) })
  }))
  const engine = createEngine()
  await engine.createCollection("t", suiteSchema("c", [suiteField("price", "float")]), 1)
  await engine.write(
    "t",
    "c",
    rows.map((row) => putOf(row))
  )
  await expect.poll(() => engine.usage("t", "c")?.segments, { timeout: 60_000 }).toBe(1)
  const end = (): number => {
    const kind = random()
    return kind < 0.1
      ? -Infinity
      : kind < 0.2
        ? Infinity
        : kind < 0.4
          ? Math.floor(random() * 5) * 100
          : kind < 0.7
            ? (rows[Math.floor(random() * size)].price ?? 0)
            : random() * 1_000
  }
  for (let n = 0; n < 300; n++) {
    const [min, max] = [end(), end()].sort((a, b) => a - b),
      minOpen = random() < 0.5,
      maxOpen = random() < 0.5
    const near = random() < 0.3 ? Math.fround(min + random() * 5) : max
    const filter: Filter = {
      kind: "number",
      field: "price",
      type: "float",
      ranges: [{ min, max: near, minOpen, maxOpen }]
    }
    const low = Math.fround(min),
      high = Math.fround(near)
    const [answer] = await engine.search("t", [suitePlan("c", { filter })])
    if (!answer.ok) throw new Error(answer.error.message)
    expect(answer.value.found, JSON.stringify([String(min), String(near), minOpen, maxOpen])).toBe(
      rows.filter(
        ({ price }) =>
          price !== undefined && (minOpen ? price > low : price >= low) && (maxOpen ? price < high : price <= high)
      ).length
    )
  }
  await engine.close()
})

it("caches results by field and value, in a large segment and beside equal values of another field", async () => {
  const size = 1_500,
    engine = createEngine()
  // Two fields of every kind with the same values, but in different documents.
  const rows = Array.from({ length: size }, (_row, i) => ({
    id: `d${i}`,
    inside: `c${i % 3}`,
    outside: `c${i % 5}`,
    low: i % 7,
    high: i % 11,
    on: i % 2 === 0,
    off: i % 3 === 0,
    left: (i % 4) / 2,
    right: (i % 6) / 2
  }))
  await engine.createCollection(
    "t",
    suiteSchema("c", [
      suiteField("inside", "string"),
      suiteField("outside", "string"),
      suiteField("low", "int32"),
      suiteField("high", "int32"),
      suiteField("on", "bool"),
      suiteField("off", "bool"),
      suiteField("left", "float"),
      suiteField("right", "float")
    ]),
    1
  )
  await engine.write(
    "t",
    "c",
    rows.map((row) => putOf({ ...row }))
  )
  await expect.poll(() => engine.usage("t", "c")?.segments, { timeout: 60_000 }).toBe(1)
  const number = (field: "low" | "high", min: number, max: number, more: object = {}): Filter => ({
    kind: "number",
    field,
    type: "int32",
    ranges: [{ min, max, ...more }]
  })
  const half = (field: "left" | "right"): Filter => ({
    kind: "number",
    field,
    type: "float",
    ranges: [{ min: 0.5, max: 1 }]
  })
  const text = (field: "inside" | "outside", values: ReadonlyArray<string>): Filter => ({
    kind: "string",
    field,
    values: values.map((value) => ({ tokens: [value], match: "equals" as const, prefix: false })),
    prefixCandidates: 4
  })
  // Lists whose first forty values are equal.
  const long = Array.from({ length: 40 }, (_value, i) => `absent${i}`)
  const asked: ReadonlyArray<readonly [Filter, (row: (typeof rows)[number]) => boolean]> = [
    [text("inside", ["c1"]), ({ inside }) => inside === "c1"],
    [text("outside", ["c1"]), ({ outside }) => outside === "c1"],
    [text("outside", ["c2"]), ({ outside }) => outside === "c2"],
    [text("inside", [...long, "c0"]), ({ inside }) => inside === "c0"],
    [text("inside", [...long, "c2"]), ({ inside }) => inside === "c2"],
    [text("outside", [...long, "c0"]), ({ outside }) => outside === "c0"],
    [number("low", 2, 5), ({ low }) => low >= 2 && low <= 5],
    [number("high", 2, 5), ({ high }) => high >= 2 && high <= 5],
    [number("low", 2, 5, { minOpen: true }), ({ low }) => low > 2 && low <= 5],
    [number("low", 2, 5, { maxOpen: true }), ({ low }) => low >= 2 && low < 5],
    [{ kind: "bool", field: "on", values: [true] }, ({ on }) => on],
    [{ kind: "bool", field: "off", values: [true] }, ({ off }) => off],
    [{ kind: "bool", field: "on", values: [false] }, ({ on }) => !on],
    [half("left"), ({ left }) => left >= 0.5 && left <= 1],
    [half("right"), ({ right }) => right >= 0.5 && right <= 1]
  ]
  const gone = new Set<string>()
  // Computed at first, kept the second time, cached the third; and then again after deletions.
  for (let round = 0; round < 5; round++) {
    for (const [filter, holds] of asked) {
      const expected = rows
        .filter((row) => holds(row) && !gone.has(row.id))
        .map(({ id }) => id)
        .sort()
      const [plain, both] = await engine.search("t", [
        suitePlan("c", { filter, limit: size }),
        suitePlan("c", { filter: { kind: "and", left: { kind: "not", filter }, right: filter }, limit: 1 })
      ])
      expect(
        plain.ok ? (plain.value.hits ?? []).map(({ document }) => String(document.id)).sort() : plain.error,
        `${round} ${JSON.stringify(filter)}`
      ).toEqual(expected)
      expect(both.ok ? both.value.found : both.error).toBe(0)
    }
    if (round < 3) continue
    for (const id of ["d1", "d30", `d${size - 1}`]) gone.add(id)
    await engine.write(
      "t",
      "c",
      [...gone].map((id) => ({ kind: "delete" as const, id }))
    )
  }
  await engine.close()
})
