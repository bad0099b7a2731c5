/** The filter grammar (`docs/contract/filters.md`): a table of texts and trees, refusals, and printing back. */
import { describe, expect, it } from "vitest"
import { analyzerOf } from "../../engine-sdk/src/analysis/mod.ts"
import type { Filter } from "../../engine-sdk/src/filter.ts"
import { parseFilter, printFilter, type FieldContext } from "../../engine-sdk/src/query/mod.ts"
import { schemaOf, seeded } from "../support/engine-lab.ts"
import { promised } from "../support/patience.ts"

const schema = schemaOf(
  [
    { name: "title", type: "string" },
    { name: "tags", type: "string[]", optional: true },
    { name: "qty", type: "int32" },
    { name: "views", type: "int64" },
    { name: "price", type: "float" },
    { name: "active", type: "bool" },
    { name: "loc", type: "geopoint" },
    { name: "area", type: "geopolygon" },
    { name: "items", type: "object[]", optional: true },
    { name: "items.s", type: "string[]", optional: true },
    { name: "items.n", type: "int32[]", optional: true },
    { name: "notes", type: "string", index: false, optional: true },
    { name: "vec", type: "float[]", num_dim: 2, optional: true },
    { name: "owner", type: "string", reference: "people.pid", optional: true }
  ],
  { enable_nested_fields: true }
)
const people = {
  ...schemaOf([
    { name: "pid", type: "string" },
    { name: "age", type: "int32" }
  ]),
  name: "people"
}
const context: FieldContext = {
  schema,
  collectionOf: (name) => (name === "people" ? { schema: people, num_documents: 0, created_at: 0 } : undefined),
  analyzer: (owner, field) => analyzerOf(owner, field),
  validateFieldNames: true,
  filterOperationsMax: 100,
  prefixCandidates: 4
}
const tree = (text: string): Filter | undefined => {
  const parsed = parseFilter(text, context)
  if (!parsed.ok) throw new Error(parsed.error.message)
  return parsed.value
}
const refusal = (text: string): string => {
  const parsed = parseFilter(text, context)
  return parsed.ok ? "accepted" : parsed.error.message
}
const string = (field: string, match: "contains" | "equals" | "phrase", ...values: string[]): Filter => ({
  kind: "string",
  field,
  prefixCandidates: 4,
  values: values.map((value) => ({ tokens: value.replace("*", "").split(" "), match, prefix: value.endsWith("*") }))
})

describe("strings", () => {
  it.each<[string, Filter]>([
    ["title:Oak", string("title", "contains", "oak")],
    ["title := Oak Table!", string("title", "equals", "oak table")],
    ["title:!=oak", { kind: "not", filter: string("title", "equals", "oak") }],
    ["title:!oak", { kind: "not", filter: string("title", "contains", "oak") }],
    ["tags:=[a b, c]", string("tags", "equals", "a b", "c")],
    ["title:Oak T*", string("title", "contains", "oak t*")],
    ['title:"two words"', string("title", "phrase", "two words")],
    ["title:=`Rock & Roll, Ltd. (UK)`", string("title", "equals", "rock roll ltd uk")],
    ["title:=https://shop.test/a", string("title", "equals", "httpsshoptesta")],
    ["tags:!=[]", { kind: "all" }],
    ["tags:=[]", { kind: "none" }]
  ])("%s", (text, expected) => {
    expect(tree(text)).toEqual(expected)
  })
})
describe("numbers, booleans, ids", () => {
  it.each<[string, Filter]>([
    ["qty:>5", { kind: "number", field: "qty", type: "int32", ranges: [{ min: 5, max: 2147483647, minOpen: true }] }],
    ["qty:[-5..-1]", { kind: "number", field: "qty", type: "int32", ranges: [{ min: -5, max: -1 }] }],
    ["qty:-5", { kind: "number", field: "qty", type: "int32", ranges: [{ min: -5, max: -5 }] }],
    ["qty:5..10", { kind: "number", field: "qty", type: "int32", ranges: [{ min: 5, max: 10 }] }],
    [
      "price:![1.5..2]",
      { kind: "not", filter: { kind: "number", field: "price", type: "float", ranges: [{ min: 1.5, max: 2 }] } }
    ],
    [
      "views:9007199254740993",
      { kind: "number", field: "views", type: "int64", ranges: [{ min: 9007199254740993n, max: 9007199254740993n }] }
    ],
    ["active:[true, false]", { kind: "bool", field: "active", values: [true, false] }],
    ["id:[a, `b,c`]", { kind: "ids", ids: ["a", "b,c"] }],
    ["id:*", { kind: "all" }],
    ["id:!=*", { kind: "none" }]
  ])("%s", (text, expected) => {
    expect(tree(text)).toEqual(expected)
  })
})
describe("structure", () => {
  it("gives && and || the same precedence, left to right", () => {
    const [a, b, c] = ["qty:1", "qty:2", "qty:3"].map((text) => tree(text) as Filter)
    expect(tree("qty:1 || qty:2 && qty:3")).toEqual({ kind: "and", left: { kind: "or", left: a, right: b }, right: c })
    expect(tree("qty:1 || (qty:2 && qty:3)")).toEqual({
      kind: "or",
      left: a,
      right: { kind: "and", left: b, right: c }
    })
  })
  it("reads conditions on one element, and joins", () => {
    expect(tree("items.{s:=M && n:>0}")).toMatchObject({
      kind: "element",
      path: "items",
      filter: { kind: "and", left: { field: "items.s" }, right: { field: "items.n" } }
    })
    expect(tree("!$people(age:>30)")).toMatchObject({ kind: "not", filter: { kind: "join", collection: "people" } })
  })
  it("merges two joins of one collection into conditions on one related document", () => {
    expect(tree("$people(age:>30) && qty:1 && $people(pid:=x)")).toMatchObject({
      kind: "and",
      left: { kind: "join", filter: { kind: "and" } },
      right: { field: "qty" }
    })
  })
  it("reads an empty text as no filter", () => {
    expect(tree("  ")).toBeUndefined()
  })
})
describe("refusals", () => {
  it.each([
    ["title", "Could not parse the filter query."],
    ["&& title:a", "Could not parse the filter query: unbalanced `&&` operands."],
    ["title:a || ", "Could not parse the filter query: unbalanced `||` operands."],
    ["title:a)", "Could not parse the filter query: unbalanced parentheses."],
    ["(())", "Filter query cannot be empty."],
    ["title:", "Error with filter field `title`: Filter value cannot be empty."],
    ["title:``", "Error with filter field `title`: Filter value cannot be empty."],
    ["tags:[a, ]", "Error with filter field `tags`: Filter value cannot be empty."],
    ["nosuch:1", "Could not find a filter field named `nosuch` in the schema."],
    ["notes:a", "Cannot filter on non-indexed field `notes`."],
    ["vec:1", "Cannot filter on vector field `vec`."],
    ["qty:abc", "Error with filter field `qty`: Numerical field has an invalid comparator."],
    ["qty:[a..b]", "Error with filter field `qty`: Not an int32."],
    ["qty:99999999999", "Error with filter field `qty`: `99999999999` exceeds the range of an int32."],
    [
      `views:${"9".repeat(40)}`,
      `Error with filter field \`views\`: \`${"9".repeat(40)}\` exceeds the range of an int64.`
    ],
    ["active:yes", "Value of filter field `active` must be `true` or `false`."],
    ["loc:(1, 2, 3 m)", "Unit must be either `km` or `mi`."],
    ["items.{s:a && x.{n:1}}", "Nested object filters are not supported."],
    ["items.{s:a", "Could not parse the object filter: unbalanced curly braces."],
    ["$nosuch(a:1)", "Referenced collection `nosuch` not found."],
    [
      "$people(nosuch:1)",
      "Failed to join on `people` collection: Could not find a filter field named `nosuch` in the schema."
    ],
    ["items:1", "Unidentified field data type, see docs for supported data types."],
    ["area:(1)", "Value of geopolygon filter field must be in the format `(-44.50, 170.29)`"],
    [
      Array.from({ length: 51 }, (_, i) => `qty:${i}`).join(" || "),
      "`filter_by` has too many operations. Maximum allowed: 100. Use `--filter-by-max-ops` command line argument to customize this value."
    ]
  ])("%s", (text, message) => {
    expect(refusal(text)).toBe(message)
  })
})
describe("printing", () => {
  it("round-trips random trees", () => {
    const random = seeded(20)
    const pick = <A>(list: ReadonlyArray<A>): A => list[Math.floor(random() * list.length)]
    const words = ["oak", "table", "m", "x1"]
    const leaf = (): Filter => {
      const inner = pick<() => Filter>([
        () =>
          string(
            "title",
            pick(["contains", "equals"]),
            ...Array.from(
              { length: 1 + Math.floor(random() * 2) },
              () => `${pick(words)} ${pick(words)}${pick(["", "*"])}`
            )
          ),
        () => string("tags", "phrase", `${pick(words)} ${pick(words)}`),
        () => ({
          kind: "number",
          field: "qty",
          type: "int32",
          ranges: [
            pick<{ min: number; max: number; minOpen?: boolean; maxOpen?: boolean }>([
              { min: 3, max: 3 },
              { min: -2, max: 9 },
              { min: 4, max: 2147483647, minOpen: true },
              { min: -2147483648, max: 7, maxOpen: true },
              { min: -2147483648, max: 7 }
            ])
          ]
        }),
        () => ({
          kind: "number",
          field: "views",
          type: "int64",
          ranges: [{ min: 9007199254740993n, max: 9223372036854775807n }]
        }),
        () => ({ kind: "bool", field: "active", values: [random() < 0.5] }),
        () => ({ kind: "ids", ids: ["a", "b(c)"] })
      ])()
      return random() < 0.3 ? { kind: "not", filter: inner } : inner
    }
    const grow = (depth: number): Filter =>
      depth === 0 || random() < 0.3
        ? pick<() => Filter>([
            leaf,
            () => ({
              kind: "join",
              collection: "people",
              filter: { kind: "number", field: "age", type: "int32", ranges: [{ min: 1, max: 2 }] }
            }),
            () => ({ kind: "element", path: "items", filter: string("items.s", "equals", "m") })
          ])()
        : { kind: random() < 0.5 ? "and" : "or", left: grow(depth - 1), right: leaf() }
    for (let i = 0; i < 500; i++) {
      const filter = grow(4)
      expect(tree(printFilter(filter))).toEqual(filter)
    }
  })
})
describe("bounds", () => {
  it("reads long hostile texts in linear time", () => {
    const started = performance.now()
    for (const text of [
      "(".repeat(50_000),
      `title:${"`".repeat(99_999)}`,
      `title:=[${"a,".repeat(50_000)}b]`,
      `${"$people(".repeat(2_000)}`,
      `${"items.{".repeat(5_000)}`,
      "title:(".repeat(30_000),
      "title:[".repeat(30_000),
      "title:a(".repeat(30_000),
      "$a(".repeat(30_000),
      `id:${"[".repeat(100_000)}`
    ])
      refusal(text)
    expect(performance.now() - started).toBeLessThan(promised(2_000))
  })
})
