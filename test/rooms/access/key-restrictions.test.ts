/**
 * Row and field restrictions of a key, compared with an oracle over the raw documents: every value of every document
 * carries a mark of its collection, field and document, so that anything in an answer can be traced back, wherever it
 * is in the body. Random catalogues, hostile filters, joins, presets, curations, rules, pages, groups and unions.
 */
import { afterAll, describe, expect, it } from "vitest"
import type { EngineError } from "../../../engine-sdk/src/mod.ts"
import { createEngine } from "../../../engine-sdk/src/memory/create-engine.ts"
import {
  importDocuments,
  memoryResources,
  multiSearch,
  search,
  type OperationContext
} from "../../../engine-sdk/src/operations/mod.ts"
import { fieldContextOf } from "../../../engine-sdk/src/query/query-context.ts"
import { parseFilter } from "../../../engine-sdk/src/query/filter-parser.ts"
import { compileRules, emptyRuleSet } from "../../../engine-sdk/src/rules/mod.ts"
import type { Caller } from "../../../src/identity/caller.ts"
import { reachesCollection } from "../../../src/identity/reach.ts"
import type { KeyRecord } from "../../../src/identity/key-record.ts"
import { declaredOf } from "../../../src/engine-plane/engine-plane.ts"
import { restrictionsOf } from "../../../src/identity/restrictions.ts"
import { statusOf } from "../../../src/http/render.ts"
import { seeded } from "../../support/attribution-oracle.ts"
import { routerOver } from "../../support/operation-router.ts"
import { type Ruled, ruledSearch, ruledSearches } from "../../support/search-steps.ts"

const DOCUMENTS = 24
type Document = Record<string, any>
/** Texts contain `zq`, collection, field and document; numbers contain field and document in their digits. */
const mark = (collection: string, field: string, i: number) => `zq${collection}q${field}q${i}z`
const fieldCodes: Record<string, number> = { price: 881, cost: 882, stock: 883 }
const numeric = (field: string, i: number) => fieldCodes[field] * 1_000_000 + i * 7_919
const byCode = new Map(Object.entries(fieldCodes).map(([field, code]) => [code, field]))

const goods = (i: number): Document => ({
  id: mark("g", "id", i),
  title: `oak ${mark("g", "title", i)}`,
  shop: ["a", "b", "c"][i % 3],
  brand: mark("g", "brand", i),
  secret: `oak ${mark("g", "secret", i)}`,
  price: numeric("price", i),
  cost: numeric("cost", i),
  extra: { deep: mark("g", "extrawdeep", i) },
  note: mark("g", "note", i),
  mixed: [{ open: mark("g", "mixedwopen", i), shut: mark("g", "mixedwshut", i) }, mark("g", "mixed", i)],
  meta: { level: mark("g", "metawlevel", i), inner: mark("g", "metawinner", i) },
  parts: [{ sku: mark("g", "partswsku", i), cost: mark("g", "partswcost", i) }],
  owner: mark("p", "pid", i % 6),
  vec: [Math.cos(i), Math.sin(i)]
})
const people = (i: number): Document => ({
  id: mark("p", "id", i),
  pid: mark("p", "pid", i),
  name: mark("p", "name", i),
  secret: mark("p", "secret", i),
  stock: numeric("stock", i)
})
const vault = (i: number): Document => ({
  id: mark("v", "id", i),
  good: mark("g", "id", i),
  secret: mark("v", "secret", i)
})
const text = { type: "string", facet: true, sort: true, infix: true }
const schemas = [
  {
    name: "people",
    fields: [
      { name: "pid", ...text },
      { name: "name", ...text },
      { name: "secret", ...text },
      { name: "stock", type: "int64", facet: true }
    ]
  },
  {
    name: "goods",
    enable_nested_fields: true,
    default_sorting_field: "cost",
    curation_sets: ["curated"],
    fields: [
      { name: "title", ...text },
      { name: "shop", ...text },
      { name: "brand", ...text },
      { name: "secret", ...text },
      { name: "price", type: "int64", facet: true },
      { name: "cost", type: "int64", facet: true },
      { name: "meta", type: "object" },
      { name: "meta.level", type: "string", facet: true },
      { name: "meta.inner", type: "string", facet: true },
      { name: "parts", type: "object[]", facet: true },
      { name: "parts.sku", type: "string[]", facet: true },
      { name: "parts.cost", type: "string[]", facet: true },
      { name: "owner", ...text, reference: "people.pid", async_reference: true },
      { name: "vec", type: "float[]", num_dim: 2 }
    ]
  },
  {
    name: "vault",
    fields: [
      { name: "good", ...text, reference: "goods.id", async_reference: true },
      { name: "secret", ...text }
    ]
  }
]
const fieldNames = [
  "id",
  "title",
  "shop",
  "brand",
  "secret",
  "price",
  "cost",
  "meta",
  "meta.level",
  "meta.inner",
  "parts",
  "parts.sku",
  "parts.cost",
  "owner",
  "extra",
  "note",
  "mixed.open",
  "vec",
  "name",
  "pid",
  "stock"
]

const context: OperationContext = { engine: createEngine(), resources: memoryResources(), namespace: "n", now_s: 1 }
const ready = (async () => {
  const call = routerOver(context)
  for (const schema of schemas) {
    if (schema.name === "goods") {
      await call(
        "PUT",
        "/curation_sets/curated",
        JSON.stringify({
          items: [
            {
              id: "i",
              rule: { query: "oak", match: "contains" },
              includes: [1, 2, 5, 9].map((i, at) => ({ id: mark("g", "id", i), position: at + 1 })),
              metadata: { a: 1 }
            },
            {
              id: "f",
              rule: { query: "pine", match: "contains" },
              filter_by: `cost:>${numeric("cost", 3)}`,
              sort_by: "secret:desc",
              replace_query: "oak"
            }
          ]
        })
      )
    }
    const made = await call("POST", "/collections", JSON.stringify(schema))
    if (made.status !== 201) throw new Error(made.text)
  }
  const fill = async (name: string, documents: ReadonlyArray<Document>) => {
    const started = importDocuments(
      context,
      name,
      (async function* () {
        yield new TextEncoder().encode(documents.map((document) => JSON.stringify(document)).join("\n"))
      })(),
      {}
    )
    if (!started.ok) throw new Error(started.error.message)
    for await (const line of started.value.lines) if (line.includes('"success":false')) throw new Error(line)
  }
  await fill(
    "people",
    Array.from({ length: 6 }, (_, i) => people(i))
  )
  await fill(
    "goods",
    Array.from({ length: DOCUMENTS }, (_, i) => goods(i))
  )
  await fill(
    "vault",
    Array.from({ length: 4 }, (_, i) => vault(i))
  )
  const presets = {
    hostile: {
      filter_by: `secret:=${mark("g", "secret", 1)}`,
      facet_by: "secret",
      include_fields: "secret,$people(*)"
    },
    wide: { include_fields: "*", facet_by: "*", query_by: "*", highlight_fields: "*" },
    sorted: { sort_by: "cost:desc" }
  }
  for (const [name, value] of Object.entries(presets)) await call("PUT", `/presets/${name}`, JSON.stringify({ value }))
  await call("PUT", "/aliases/friends", JSON.stringify({ collection_name: "people" }))
  await call("PUT", "/aliases/wares", JSON.stringify({ collection_name: "goods" }))
  await call("PUT", "/aliases/safe", JSON.stringify({ collection_name: "vault" }))
  return call
})()
afterAll(() => context.engine.close())

const caller = (more: Partial<KeyRecord>, embedded?: Record<string, unknown>): Caller => ({
  organizationId: "n",
  scope: "search",
  sessionId: undefined,
  rate: undefined,
  embedded,
  key: {
    id: "key_1",
    organization_id: "n",
    scope: "search",
    description: "",
    actions: [],
    collections: ["goods", "wares", "people", "friends"],
    value_prefix: "",
    lookup_hash: "",
    sealed_digest: undefined,
    cidrs: [],
    origins: [],
    filter_by: {},
    fields: [],
    rate_limit_per_minute: 0,
    autodelete: false,
    installation_id: undefined,
    expires_at: 9e9,
    created_at: 0,
    revoked_at: undefined,
    ...more
  }
})
/** Rules of the tenant, which may name anything. */
const rules: Ruled = {
  environment: { now_us: () => 1 },
  of: (collection) => ({
    rules: compileRules(
      {
        ...emptyRuleSet,
        pins: [0, 4, 7].map((i) => ({
          query: "",
          match: "any" as const,
          filter_contains: "",
          doc_id: mark("g", "id", i),
          position: 1 + i,
          priority: 1
        })),
        facet_suggestions: { fields: ["secret", "brand", "cost"], limit: 5 },
        boosts: [{ filter_by: `cost:>${numeric("cost", 9)}`, weight: 2, name: "b", priority: 1 }],
        zero_hits_fallback: "drop_filters",
        sponsored: [
          {
            id: "",
            filter_by: `secret:!=x`,
            label: "ad",
            campaign_id: "c",
            position: 2,
            priority: 1,
            query: "",
            match: "any"
          }
        ]
      },
      {
        parseFilter: (filter) =>
          parseFilter(
            filter,
            fieldContextOf(
              collection,
              { collectionOf: () => undefined, resources: { stemmingDictionary: () => undefined } },
              true,
              4
            )
          )
      }
    ),
    request: { now_ms: 1, device: undefined, language: undefined, country: undefined },
    explain: false
  })
}

interface Sent {
  readonly status: number
  readonly body: string
}
const send = async (
  who: Caller,
  searches: ReadonlyArray<Record<string, string>>,
  kind: "one" | "many" | "union",
  withRules: boolean
): Promise<Sent> => {
  await ready
  const restrictions = restrictionsOf(who)
  const { collection, ...alone } = searches[0]
  // The ordered check (`decision.ts`) decides about the collection in a path before a search runs.
  if (kind === "one" && !reachesCollection(who, collection)) return { status: 403, body: "" }
  const many = { union: kind === "union", searches }
  if (withRules) {
    const text =
      kind === "one"
        ? await ruledSearch(context, collection, alone, restrictions, rules)
        : await ruledSearches(context, many, restrictions, rules)
    return text.ok ? { status: 200, body: text.value } : refusedBy(text.error)
  }
  const result =
    kind === "one"
      ? await search(context, collection, alone, restrictions)
      : await multiSearch(context, JSON.stringify(many), {}, restrictions)
  return result.ok ? { status: 200, body: result.value.text ?? "" } : refusedBy(result.error)
}
const refusedBy = (error: EngineError): Sent => ({
  status: statusOf(declaredOf(error)),
  body: declaredOf(error).message
})

/**
 * Every mark in a body that the caller must not see, as `collection.field[document]`, except what the request itself
 * contains.
 */
const leaks = (
  body: string,
  said: string,
  mayShow: (collection: string, field: string, document: number) => boolean
): ReadonlyArray<string> => {
  const plain = body
    .replaceAll("<mark>", "")
    .replaceAll("</mark>", "")
    .replace(/"(avg|sum)":[-\d.e+]+/g, "")
  const found = new Set<string>()
  for (const [whole, collection, field, i] of plain.matchAll(/zq([a-z])q([a-z]+)q(\d+)z/g))
    if (!said.includes(whole) && !mayShow(collection, field.replaceAll("w", "."), Number(i)))
      found.add(`${collection}.${field}[${i}]`)
  for (const [whole] of plain.matchAll(/\b88[123]\d{6}\b/g)) {
    const field = byCode.get(Math.floor(Number(whole) / 1_000_000))!
    const i = (Number(whole) % 1_000_000) / 7_919
    if (Number.isInteger(i) && !said.includes(whole) && !mayShow(field === "stock" ? "p" : "g", field, i))
      found.add(`${field}[${i}]`)
  }
  return [...found]
}

const forced: ReadonlyArray<readonly [filter: string, passes: (document: Document) => boolean]> = [
  ["shop:=a", ({ shop }) => shop === "a"],
  ["shop:=[a,b] && price:>" + numeric("price", 10), ({ shop, price }) => shop !== "c" && price > numeric("price", 10)],
  ["shop:!=c", ({ shop }) => shop !== "c"],
  [
    `cost:<${numeric("cost", 8)} || secret:=\`${mark("g", "secret", 20)}\``,
    ({ cost, id }) => cost < numeric("cost", 8) || id === mark("g", "id", 20)
  ],
  [`$people(secret:=${mark("p", "secret", 2)})`, ({ owner }) => owner === mark("p", "pid", 2)],
  [
    `id:!=[${mark("g", "id", 0)},${mark("g", "id", 1)}]`,
    ({ id }) => id !== mark("g", "id", 0) && id !== mark("g", "id", 1)
  ],
  ["id:=nobody", () => false]
]

const pick = <A>(random: () => number, from: ReadonlyArray<A>): A => from[Math.floor(random() * from.length)]
const chance = (random: () => number, share: number) => random() < share
/** A filter that a hostile caller might send. */
const hostileFilter = (random: () => number): string => {
  const i = Math.floor(random() * DOCUMENTS)
  const atom = (): string =>
    pick(random, [
      "shop:=b",
      "shop:b || id:*",
      "id:*",
      `id:=${mark("g", "id", i)}`,
      `secret:=${mark("g", "secret", i)}`,
      `secret:zq*`,
      `cost:>0`,
      `price:>0`,
      `price:[${numeric("price", i)}]`,
      "meta.level:zq*",
      `parts.{sku:=${mark("g", "partswsku", i)}}`,
      `parts.{cost:=${mark("g", "partswcost", i)}}`,
      "$people(id:*)",
      `$people(name:=${mark("p", "name", i % 6)})`,
      "$people(secret:zq*)",
      "!$people(id:nobody)",
      "$friends(id:*)",
      "$vault(id:*)",
      "$safe(id:*)",
      "$goods(id:*)",
      `title:=\`oak\``,
      "title:oak",
      "brand:!=x",
      "note:=x",
      "title:`) || (id:*",
      "shop:=`b`) || (id:*",
      "shop:=[a,`b) || (id:*`]",
      "__proto__:=x",
      "constructor:=x"
    ])
  const shapes: ReadonlyArray<() => string> = [
    atom,
    () => `${atom()} || ${atom()}`,
    () => `(${atom()} && ${atom()}) || ${atom()}`,
    () => `${atom()}) || (${atom()}`,
    () => `${atom()} || (${atom()}`,
    () => `((${atom()}))`,
    () => `${atom()} || \`${atom()}`,
    () => `${atom()} && !(${atom()})`,
    () => `${atom()}) || (id:*) || (${atom()}`,
    () => `$people(${atom()})`,
    () => `$people(id:*) && $people(id:* || $goods(id:*))`,
    () => ")",
    () => "(",
    () => "`",
    () => "|| id:*",
    () => " ",
    () => "&& ||"
  ]
  return pick(random, shapes)()
}
const field = (random: () => number): string =>
  pick(random, [...fieldNames, "*", "meta.*", "s*", "nowhere", "__proto__", ".*"])
const fields = (random: () => number, most = 3): string =>
  Array.from({ length: 1 + Math.floor(random() * most) }, () => field(random)).join(",")
const request = (random: () => number): Record<string, string> => {
  const i = Math.floor(random() * DOCUMENTS)
  // One wrong parameter refuses a search, so most requests have few parameters and some have many.
  const much = pick(random, [0.1, 0.25, 0.5, 1])
  const out: Record<string, string> = {
    collection: chance(random, 0.9)
      ? pick(random, ["goods", "goods", "goods", "wares"])
      : pick(random, ["people", "vault", "safe"]),
    q: pick(random, ["*", "oak", "oak", "oa", "pine", "zq", "-oak", '"oak"']),
    query_by: chance(random, 0.8)
      ? pick(random, ["title", "*", "*", "*", "brand,title", "title,secret"])
      : fields(random)
  }
  const maybe = (name: string, share: number, value: () => string) => {
    if (chance(random, share * much)) out[name] = value()
  }
  maybe("filter_by", 0.5, () => hostileFilter(random))
  maybe("sort_by", 0.3, () =>
    pick(random, [
      "price:asc",
      "cost:desc",
      "brand:asc",
      `_eval([(secret:zq*):3,(price:>0):1]):desc`,
      `_eval(cost:>0):desc`,
      "$people(stock:asc)",
      "$people(secret:asc)",
      `_vector_query(vec:([], id: ${mark("g", "id", i)})):asc`,
      "_text_match:desc,price:asc",
      "title(missing_values:first):asc"
    ])
  )
  maybe("facet_by", 0.35, () =>
    chance(random, 0.5)
      ? fields(random)
      : pick(random, [
          "brand,shop",
          "brand(sort_by:cost:asc)",
          "price(low:[0,9000000000])",
          "cost(low:[0,9000000000])",
          "$people(name)",
          "$people(secret)",
          "parts.sku",
          "meta.level,meta.inner"
        ])
  )
  maybe("facet_query", 0.15, () => pick(random, ["brand:zq", "secret:zq", "parts.sku:zq", "$people(secret):zq"]))
  maybe("facet_return_parent", 0.2, () => pick(random, ["*", "parts.sku", "brand", "meta.*", "meta.level"]))
  maybe("group_by", 0.15, () => pick(random, ["shop", "brand", "secret", "meta.level", "cost"]))
  maybe("include_fields", 0.4, () =>
    chance(random, 0.4)
      ? fields(random)
      : pick(random, [
          "*",
          "$people(*)",
          "$people(name)",
          "$people(secret)",
          "secret,$people(secret as name)",
          "$people(*, strategy: merge)",
          "$friends(*, strategy: nest_array)",
          "title,$vault(*)",
          "meta.inner,parts",
          "$people(*, sort_by: stock:asc) as title",
          "m*",
          "mixed",
          "mixed.shut"
        ])
  )
  maybe("exclude_fields", 0.2, () =>
    pick(random, ["title", "meta", "parts.sku", "*", "$people(name)", "$people", "parts"])
  )
  maybe("highlight_fields", 0.25, () =>
    chance(random, 0.5) ? fields(random) : pick(random, ["*", "meta", "title", "secret"])
  )
  maybe("highlight_full_fields", 0.2, () => pick(random, ["*", "title", "secret", "meta"]))
  maybe("pinned_hits", 0.2, () => `${mark("g", "id", i)}:1,${mark("g", "id", (i + 5) % DOCUMENTS)}:2`)
  maybe("hidden_hits", 0.1, () => mark("g", "id", i))
  maybe("vector_query", 0.15, () =>
    pick(random, ["vec:([0.1,0.2], k:5)", `vec:([], id: ${mark("g", "id", i)})`, "secret:([0.1,0.2])"])
  )
  maybe("preset", 0.15, () => pick(random, ["hostile", "wide", "sorted", "nothing", "__proto__"]))
  maybe("per_page", 0.5, () => String(pick(random, [0, 1, 3, 50])))
  maybe("page", 0.3, () => String(pick(random, [1, 2, 3])))
  maybe("validate_field_names", 0.2, () => "false")
  maybe("enable_curations", 0.4, () => "true")
  maybe("filter_curated_hits", 0.3, () => pick(random, ["true", "false"]))
  maybe("ranking", 0.15, () => "relevance")
  maybe("infix", 0.1, () => "always")
  maybe("enable_highlight_v1", 0.1, () => "false")
  return out
}

/**
 * Signed `include_fields` or `exclude_fields`, and the fields that they leave of a collection that is searched or
 * joined.
 */
interface Signed {
  readonly parameters: Readonly<Record<string, string>>
  readonly leaves: (collection: string, isSearched: boolean, path: string) => boolean
}
const brings = (names: ReadonlyArray<string>, path: string): boolean =>
  names.some(
    (name) => path === name || path.startsWith(`${name}.`) || (name.endsWith("*") && path.startsWith(name.slice(0, -1)))
  )
const signedFields = (random: () => number): Signed => {
  const some = (most: number) => [
    ...new Set(
      Array.from({ length: 1 + Math.floor(random() * most) }, () => pick(random, [...fieldNames, "m*", "part*", "se*"]))
    )
  ]
  const own = some(7),
    people = pick(random, ["none", "all", "some"] as const),
    ofPeople = some(3)
  const joined =
    people === "none"
      ? []
      : people === "all"
        ? ["$people(*)"]
        : [`${pick(random, ["$people", "$friends"])}(${ofPeople.join(", ")})`]
  if (chance(random, 0.5))
    return {
      parameters: { include_fields: [...own, ...joined].join(",") },
      leaves: (collection, isSearched, path) =>
        (isSearched && brings(own, path)) ||
        (collection === "p" && (people === "all" || (people === "some" && brings(ofPeople, path))))
    }
  return {
    parameters: { exclude_fields: [...own, ...joined].join(",") },
    leaves: (collection, isSearched, path) =>
      !brings(own, path) &&
      (isSearched || collection !== "p" || people === "none" || (people === "some" && !brings(ofPeople, path)))
  }
}

const ROUNDS = 2_500
describe("restrictions of a key", () => {
  it.each([11, 12, 13, 14])("hold for random requests (seed %i)", async (seed) => {
    const random = seeded(seed)
    const answered = { hits: 0, refused: 0, restrictedFields: 0 }
    for (let round = 0; round < ROUNDS; round++) {
      const [filter, passes] = pick(random, forced)
      const hasFilter = chance(random, 0.7)
      const byEmbedded = hasFilter && chance(random, 0.3)
      const listed = chance(random, 0.7)
        ? [...new Set(Array.from({ length: 1 + Math.floor(random() * 6) }, () => pick(random, fieldNames)))]
        : []
      const peopleAreFiltered = chance(random, 0.2)
      // Filters that list collections exclude all others, so most keys say that people are open.
      const peopleAreOpen = !peopleAreFiltered && chance(random, 0.8)
      const own = {
        ...(hasFilter && !byEmbedded ? { [pick(random, ["goods", "goods", "wares", "go.*", "war.*"])]: filter } : {}),
        ...(peopleAreFiltered ? { [pick(random, ["people", "friends"])]: `stock:>${numeric("stock", 2)}` } : {})
      }
      const isListing = Object.keys(own).length > 0
      const filter_by: Record<string, string> =
        isListing && peopleAreOpen
          ? { ...own, people: "id:*" }
          : isListing && !("go.*" in own || "goods" in own || "wares" in own || "war.*" in own)
            ? { ...own, goods: "id:*" }
            : own
      const signed = chance(random, 0.35) ? signedFields(random) : undefined
      const embedded = {
        ...(byEmbedded
          ? { filter_by: filter, ...(chance(random, 0.2) ? { facet_by: "secret", include_fields: "*" } : {}) }
          : {}),
        ...signed?.parameters
      }
      const who = caller({ filter_by, fields: listed }, Object.keys(embedded).length === 0 ? undefined : embedded)
      const searches = Array.from({ length: 1 + Math.floor(random() * 3) }, () => request(random))
      const kind = pick(random, ["one", "many", "union"] as const)
      const covers = (path: string) =>
        listed.length === 0 || listed.some((name) => path === name || path.startsWith(`${name}.`))
      const mayShow = (collection: string, name: string, i: number): boolean => {
        if (collection === "v") return false
        // A reference has the other side's value under its own name.
        const names = collection === "p" && name === "pid" ? ["pid", "owner"] : [name]
        // A field of the schema-free part is also covered by its parents.
        if (!names.some(covers)) return false
        if (signed !== undefined) {
          const code = collection === "p" ? "people" : "goods"
          const asked = (kind === "one" ? searches.slice(0, 1) : searches).map(({ collection: of }) =>
            of === "wares" ? "goods" : of === "friends" ? "people" : of
          )
          // The other side of a reference is in the other collection, where it may be visible.
          const sides =
            name === "pid" && collection === "p"
              ? ([
                  ["p", "people", "pid"],
                  ["g", "goods", "owner"]
                ] as const)
              : ([[collection, code, name]] as const)
          if (
            !sides.some(([letter, of, path]) =>
              [...new Set([asked.includes(of), false])].some((isSearched) => signed.leaves(letter, isSearched, path))
            )
          )
            return false
        }
        if (collection === "p" && isListing && !peopleAreFiltered && !peopleAreOpen) return name === "pid"
        if (collection === "p") return name === "pid" || !peopleAreFiltered || numeric("stock", i) > numeric("stock", 2)
        return !hasFilter || passes(goods(i))
      }
      const sent = await send(who, searches, kind, chance(random, 0.3))
      const said = JSON.stringify([searches, sent.status === 200 ? "" : sent.body])
      const told = leaks(sent.body, sent.status === 200 ? JSON.stringify(searches.map(({ q }) => q)) : said, mayShow)
      expect(
        told,
        JSON.stringify(
          { round, kind, filter_by, listed, embedded: who.embedded, searches, body: sent.body.slice(0, 2_000) },
          undefined,
          1
        )
      ).toEqual([])
      // Documents that the filter excludes are not counted either, even if nothing of them is shown.
      const most = hasFilter ? Array.from({ length: DOCUMENTS }, (_, i) => goods(i)).filter(passes).length : DOCUMENTS
      const results: ReadonlyArray<{ readonly found?: number }> =
        sent.status !== 200 || kind === "union"
          ? []
          : kind === "one"
            ? [JSON.parse(sent.body)]
            : JSON.parse(sent.body).results
      for (const [at, { found = 0 }] of results.entries())
        if (["goods", "wares"].includes(searches[at].collection))
          expect(
            found,
            JSON.stringify({ filter_by, embedded: who.embedded, search: searches[at] })
          ).toBeLessThanOrEqual(most)
      if (sent.status !== 200) answered.refused++
      else if (sent.body.includes('"document":{"')) {
        answered.hits++
        if (listed.length > 0) answered.restrictedFields++
      }
    }
    // Otherwise the test would have tried nothing.
    expect(answered.hits).toBeGreaterThan(ROUNDS / 10)
    expect(answered.restrictedFields).toBeGreaterThan(ROUNDS / 40)
    expect(answered.refused).toBeGreaterThan(ROUNDS / 10)
  })
})

const shownFields = "title,price,meta.level,parts.sku"
describe.each([
  ["list of fields", caller({ fields: [...shownFields.split(","), "name"] }), []],
  ["signed include_fields", caller({}, { include_fields: `${shownFields},$people(name)` }), ["people"]],
  [
    "signed exclude_fields",
    caller(
      {},
      { exclude_fields: "secret,absent,id,shop,brand,cost,meta.inner,parts.cost,owner,vec,extra,note,mixed,pid,stock" }
    ),
    []
  ]
])("a name outside the key's %s", (_kind, who, joined) => {
  const asked = (more: Record<string, string>) => send(who, [{ collection: "goods", q: "*", ...more }], "one", false)
  const id = mark("g", "id", 3)
  const places: ReadonlyArray<readonly [parameter: string, of: (name: string) => Record<string, string>]> = [
    ["query_by", (name) => ({ q: "oak", query_by: `title,${name}` })],
    ["query_by", (name) => ({ q: "oak", query_by: name, validate_field_names: "false" })],
    ["filter_by", (name) => ({ filter_by: `${name}:=x` })],
    ["filter_by", (name) => ({ filter_by: `title:oak && (${name}:!=x || price:>0)`, validate_field_names: "false" })],
    ["filter_by", (name) => ({ filter_by: `$people(${name}:=x)` })],
    ["filter_by", (name) => ({ filter_by: `parts.{sku:=x && ${name}:=x}` })],
    ["sort_by", (name) => ({ sort_by: `price:asc,${name}:desc` })],
    ["sort_by", (name) => ({ sort_by: `_eval([(price:>0):2,(${name}:=x):1]):desc` })],
    ["sort_by", (name) => ({ sort_by: `_eval(${name}:=x):desc` })],
    ["sort_by", (name) => ({ sort_by: `$people(${name}:asc)` })],
    ["sort_by", (name) => ({ sort_by: `${name}(missing_values:first):asc` })],
    ["include_fields", (name) => ({ include_fields: `$people(*, sort_by: ${name}:asc)` })],
    ["facet_by", (name) => ({ facet_by: `title,${name}` })],
    ["facet_by", (name) => ({ facet_by: `title(sort_by:${name}:asc)` })],
    ["facet_by", (name) => ({ facet_by: `${name}(low:[0,9])`, validate_field_names: "false" })],
    ["facet_by", (name) => ({ facet_by: `$people(${name})` })],
    ["facet_query", (name) => ({ facet_by: "title", facet_query: `${name}:x` })],
    ["facet_return_parent", () => ({ facet_by: "parts.sku", facet_return_parent: "parts.sku" })],
    ["group_by", (name) => ({ group_by: name })],
    ["highlight_fields", (name) => ({ q: "oak", query_by: "title", highlight_fields: `title,${name}` })],
    ["highlight_full_fields", (name) => ({ q: "oak", query_by: "title", highlight_full_fields: name })],
    ["vector_query", () => ({ vector_query: "vec:([0.1,0.2])" })],
    ["pinned_hits", () => ({ pinned_hits: `${id}:1` })],
    ["hidden_hits", () => ({ hidden_hits: id })]
  ]
  it.each(places)("in %s are refused with 400, whether the field exists or not (%#)", async (parameter, of) => {
    const [hidden, unknown] = await Promise.all([asked(of("secret")), asked(of("absent"))])
    expect([hidden.status, unknown.status]).toEqual([400, 400])
    expect(hidden.body.replaceAll("secret", "absent")).toBe(unknown.body)
    if (JSON.stringify(of("secret")).includes("secret")) expect(hidden.body).toContain("secret")
    // Filters and vectors name the required kind of field in the engine's own words.
    if (!["filter_by", "include_fields", "facet_query", "vector_query"].includes(parameter))
      expect(hidden.body).toContain(parameter)
  })
  it("on `id` and on parents work like on any other name", async () => {
    for (const more of [
      { filter_by: `id:=${id}` },
      { q: "oak", query_by: "meta" },
      { facet_by: "meta.inner" },
      { q: "oak", query_by: "title", highlight_fields: "meta" },
      { filter_by: "parts.cost:=x" },
      { sort_by: `_vector_query(vec:([], id: ${id})):asc` }
    ])
      expect((await asked(more as unknown as Record<string, string>)).status, JSON.stringify(more)).toBe(400)
    expect((await asked({ filter_by: "id:*" })).status).toBe(200)
  })
  it("cannot be bypassed by a preset or a signed parameter", async () => {
    expect((await asked({ preset: "hostile" })).status).toBe(400)
    expect((await asked({ preset: "sorted" })).status).toBe(400)
    const signed = (embedded: Record<string, unknown>) =>
      send(caller({ fields: ["title"] }, embedded), [{ collection: "goods", q: "*" }], "one", false)
    expect((await signed({ facet_by: "secret" })).status).toBe(400)
    // The holder of the parent can sign, so a filter over hidden fields would reveal them.
    expect((await signed({ filter_by: "secret:zq*" })).status).toBe(403)
    expect((await signed({ filter_by: "title:oak" })).status).toBe(200)
  })
  it("are removed from what is shown, and patterns select what is allowed", async () => {
    // Objects of an excluded list are left empty, as by the engine.
    const shownOf = async (more: Record<string, string>) =>
      Object.entries(JSON.parse((await asked(more)).body).hits[0].document)
        .filter(([, value]) => JSON.stringify(value) !== "[{}]")
        .map(([name]) => name)
        .sort()
    expect(await shownOf({})).toEqual(["meta", "parts", ...joined, "price", "title"])
    expect(await shownOf({ include_fields: "secret,title,m*" })).toEqual(["meta", "title"])
    expect(await shownOf({ include_fields: "*" })).toEqual(["meta", "parts", "price", "title"])
    expect(await shownOf({ include_fields: "secret" })).toEqual([])
    expect(await shownOf({ exclude_fields: "title,meta" })).toEqual(["parts", ...joined, "price"])
    const wide = JSON.parse((await asked({ q: "oak", preset: "wide" })).body)
    expect(wide.facet_counts.map(({ field_name }: { field_name: string }) => field_name).sort()).toEqual([
      "meta.level",
      "parts.sku",
      "price",
      "title"
    ])
    expect(Object.keys(wide.hits[0].highlight)).toEqual(["title"])
    // The tenant's own sort may use hidden fields: the default here is `cost`, highest first.
    expect(JSON.parse((await asked({})).body).hits[0].document.title).toBe(`oak ${mark("g", "title", DOCUMENTS - 1)}`)
  })
})

describe("fields that a secured key shows", () => {
  const asked = (embedded: Record<string, unknown>, more: Record<string, string> = {}, key: Partial<KeyRecord> = {}) =>
    send(caller(key, embedded), [{ collection: "goods", q: "*", ...more }], "one", false)
  const shownOf = async (
    embedded: Record<string, unknown>,
    more: Record<string, string> = {},
    key: Partial<KeyRecord> = {}
  ): Promise<unknown> => {
    const { body, status } = await asked(embedded, more, key)
    return status === 200 ? JSON.parse(body).hits[0].document : status
  }
  it("are the only ones from which a request can choose", async () => {
    const include = { include_fields: "title,meta.level" }
    expect(Object.keys((await shownOf(include)) as object).sort()).toEqual(["meta", "title"])
    expect(Object.keys((await shownOf(include, { include_fields: "title,secret" })) as object)).toEqual(["title"])
    expect(Object.keys((await shownOf(include, { exclude_fields: "title" })) as object)).toEqual(["meta"])
    expect(await shownOf(include, { include_fields: "secret" })).toEqual({})
    expect(
      Object.keys((await shownOf({ exclude_fields: "secret" }, { exclude_fields: "note" })) as object)
    ).not.toEqual(expect.arrayContaining(["note"]))
    expect(
      Object.keys((await shownOf({ exclude_fields: "secret" }, { include_fields: "secret,title" })) as object)
    ).toEqual(["title"])
    expect(
      Object.keys((await shownOf({ include_fields: "t*,secret" }, {}, { fields: ["title", "price"] })) as object)
    ).toEqual(["title"])
    expect(Object.keys((await shownOf({ include_fields: "*" })) as object)).toContain("secret")
  })
  it("include those of a joined collection that they name, by its name or an alias", async () => {
    const name = { include_fields: "title,$friends(name)" }
    expect(await shownOf(name, { include_fields: "title,$people(*)" })).toEqual({
      title: expect.any(String),
      people: { name: expect.any(String) }
    })
    expect((await asked(name, { filter_by: `$people(name:=${mark("p", "name", 1)})` })).status).toBe(200)
    for (const filter_by of ["$people(secret:zq*)", `$people(id:=${mark("p", "id", 1)})`, "$people($goods(title:oak))"])
      expect([filter_by, (await asked(name, { filter_by })).status]).toEqual([filter_by, 400])
    for (const more of [
      { filter_by: "$people(id:*)" },
      { include_fields: "$people(*)" },
      { sort_by: "$people(name:asc)" },
      { facet_by: "$people(name)" }
    ])
      expect([
        more,
        (await asked({ include_fields: "title" }, more as unknown as Record<string, string>)).status
      ]).toEqual([more, 400])
    expect((await asked({ exclude_fields: "$people" }, { filter_by: "$people(name:zq*)" })).status).toBe(400)
  })
  it("do not restrict the filter that is signed with them", async () => {
    const { body, status } = await asked({
      include_fields: "title",
      filter_by: `shop:=a && $people(secret:=${mark("p", "secret", 3)})`
    })
    expect([status, JSON.parse(body).found, Object.keys(JSON.parse(body).hits[0].document)]).toEqual([
      200,
      DOCUMENTS / 6,
      ["title"]
    ])
  })
})

describe("a restriction that cannot be applied", () => {
  it.each(["one", "many", "union"] as const)("refuses the whole request with 403: %s", async (kind) => {
    for (const [filter_by, embedded] of [
      [{ goods: "gone:=1" }, undefined],
      [{ "*": "stock:>0" }, undefined],
      [{ goods: "shop:=a || (" }, undefined],
      [{}, { filter_by: "gone:=1" }],
      [{}, { filter_by: "" }],
      [{}, { filter_by: 7 }],
      [{}, { filter_by: "$vault(id:*)" }]
    ] as const) {
      const sent = await send(
        caller({ filter_by: filter_by as unknown as Record<string, string> }, embedded),
        [
          { collection: "goods", q: "*" },
          { collection: "goods", q: "oak", query_by: "title" }
        ],
        kind,
        false
      )
      expect([sent.status, sent.body.includes("zq")], JSON.stringify({ filter_by, embedded })).toEqual([403, false])
    }
  })
  it("is applied correctly for names that every object has", async () => {
    const call = await ready
    for (const name of ["constructor", "toString", "__proto__"]) {
      expect(
        (await call("POST", "/collections", JSON.stringify({ name, fields: [{ name: "title", type: "string" }] })))
          .status
      ).toBe(201)
      expect(
        (
          await send(
            caller({ collections: ["*"], filter_by: { goods: "shop:=a" } }),
            [{ collection: name, q: "*" }],
            "many",
            false
          )
        ).status
      ).toBe(403)
      const sent = await send(
        caller({ collections: ["*"], filter_by: { goods: "shop:=a", "*": "id:*" } }),
        [{ collection: name, q: "*" }],
        "many",
        false
      )
      expect([sent.status, JSON.parse(sent.body).results[0].found]).toEqual([200, 0])
      await call("DELETE", `/collections/${name}`)
    }
  })
})
