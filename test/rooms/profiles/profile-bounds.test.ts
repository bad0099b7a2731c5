/**
 * Nothing that a client sends bypasses a profile: 200 seeds of hostile parameters, presets, joins and unions, compared
 * with a slow and obvious definition of what may be seen. A failing seed is named by its number.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { createEngine } from "../../../engine-sdk/src/memory/create-engine.ts"
import {
  importDocuments,
  memoryResources,
  type OperationContext,
  prepareSearch,
  Reach,
  readSearch,
  runSearch
} from "../../../engine-sdk/src/operations/mod.ts"
import { manifestOf, type ProfileManifest } from "../../../src/profiles/manifest.ts"
import { manifestParameters } from "../../../src/profiles/profile-parameters.ts"
import { profiled, type ProfileStepParts } from "../../../src/profiles/profile-step.ts"
import type { StoredProfile } from "../../../src/profiles/profiles-repository.ts"
import { routerOver } from "../../support/operation-router.ts"

const SEEDS = 200
const context: OperationContext = { engine: createEngine(), resources: memoryResources(), namespace: "n", now_s: 1 }

/** Small pseudorandom numbers (mulberry32). */
const chance = (seed: number) => {
  let state = seed
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
  const below = (n: number): number => Math.floor(next() * n)
  const of = <A>(values: ReadonlyArray<A>): A => values[below(values.length)]!
  const some = <A>(values: ReadonlyArray<A>): ReadonlyArray<A> => values.filter(() => next() < 0.5)
  return { next, below, of, some }
}

interface Thing {
  readonly id: string
  readonly title: string
  readonly blurb: string
  readonly shop: string
  readonly colour: string
  readonly price: number
  readonly owner: string
}
const words = ["oak", "elm", "ash", "fir"]
const things: ReadonlyArray<Thing> = (() => {
  const { below, of } = chance(1)
  return Array.from({ length: 60 }, (_, i) => ({
    id: String(i),
    title: `${of(words)} ${of(words)}`,
    blurb: `${of(words)} secret${below(3)}`,
    shop: of(["a", "b", "c"]),
    colour: of(["red", "blue"]),
    price: below(10),
    owner: `p${below(3)}`
  }))
})()

beforeAll(async () => {
  const call = routerOver(context)
  const fields = [
    { name: "title", type: "string" },
    { name: "blurb", type: "string" },
    { name: "shop", type: "string", facet: true },
    { name: "colour", type: "string", facet: true },
    { name: "price", type: "int32" },
    { name: "owner", type: "string", reference: "people.pid", optional: true, async_reference: true }
  ]
  await call(
    "POST",
    "/collections",
    JSON.stringify({ name: "people", fields: [{ name: "pid", type: "string", facet: true }] })
  )
  await call("POST", "/collections", JSON.stringify({ name: "c", fields }))
  const load = async (collection: string, documents: ReadonlyArray<object>) => {
    const text = documents.map((document) => JSON.stringify(document)).join("\n")
    const lines = importDocuments(
      context,
      collection,
      (async function* () {
        yield new TextEncoder().encode(text)
      })(),
      {}
    )
    if (!lines.ok) throw new Error(lines.error.message)
    for await (const line of lines.value.lines) expect(line).not.toContain('"success":false')
  }
  await load(
    "people",
    [0, 1, 2].map((n) => ({ id: `p${n}`, pid: `p${n}` }))
  )
  await load("c", things)
})
afterAll(() => context.engine.close())

interface Known {
  readonly text: string
  readonly fields: ReadonlyArray<string>
  readonly lets: (thing: Thing) => boolean
}
const known: ReadonlyArray<Known> = [
  { text: "shop:=a", fields: ["shop"], lets: ({ shop }) => shop === "a" },
  { text: "shop:!=[a,b]", fields: ["shop"], lets: ({ shop }) => shop === "c" },
  { text: "price:>4", fields: ["price"], lets: ({ price }) => price > 4 },
  {
    text: "price:[2..6] && colour:=red",
    fields: ["price", "colour"],
    lets: ({ colour, price }) => price >= 2 && price <= 6 && colour === "red"
  },
  {
    text: "(colour:=blue || shop:=b)",
    fields: ["colour", "shop"],
    lets: ({ colour, shop }) => colour === "blue" || shop === "b"
  },
  { text: "id:[1,2,3,4,5,6]", fields: ["id"], lets: ({ id }) => Number(id) >= 1 && Number(id) <= 6 }
]
/** Filters that may only be answered with a refusal, whatever the profile lists. */
const hostile = [
  "shop:=a) || (id:*",
  "shop:=a || blurb:secret1",
  "blurb:=[]",
  "$people(pid:=p1)",
  "!$people(id:*) || price:>0",
  "shop:=a || $people(id:*)",
  "blurb:secret*",
  "owner:=p1",
  "_all:=1",
  "))((",
  "shop:=a && (blurb:!=x)"
]
const meddling: ReadonlyArray<readonly [string, string]> = [
  ["query_by", "blurb,title"],
  ["query_by_weights", "1,2,3"],
  ["sort_by", "price:asc"],
  ["facet_by", "owner,price"],
  ["pinned_hits", "0:1,1:2,2:3,3:4"],
  ["hidden_hits", "5,6"],
  ["filter_curated_hits", "false"],
  ["include_fields", "$people(*)"],
  ["limit_hits", "2"],
  ["infix", "always"],
  ["num_typos", "2"],
  ["prefix", "true"],
  ["validate_field_names", "false"],
  ["enable_curations", "true"],
  ["vector_query", "title:([], id: 1)"],
  ["synonym_sets", "none"],
  ["stopwords", "none"],
  ["search_policy", "none"],
  ["per_page", "250"],
  ["limit", "250"],
  ["exhaustive_search", "true"],
  ["drop_tokens_threshold", "100"],
  ["typo_tokens_threshold", "100"],
  ["max_facet_values", "250"],
  ["search_cutoff_ms", "1"]
]
/** Every word exactly, and all of them, so that the expected hits can be computed without an engine. */
const exact = { num_typos: "0", prefix: "false", drop_tokens_threshold: "0", typo_tokens_threshold: "0" }

const manifestFor = ({
  below,
  of,
  some
}: ReturnType<typeof chance>): { readonly manifest: ProfileManifest; readonly fixed: Known } => {
  const fixed = of(known)
  const searchable = some(["title", "blurb"])
  return {
    fixed,
    manifest: manifestOf({
      searchable_fields: searchable.length === 0 ? ["title"] : searchable,
      facet_fields: some(["shop", "colour"]).map((field) => ({ field })),
      filterable_fields: some(["shop", "colour", "price", "id"]),
      sorts: [
        { id: "cheap", sort_by: "price:asc" },
        { id: "by", sort_by: "$people(pid:asc)" }
      ],
      default_sort_id: of(["", "cheap", "by"]),
      fixed_filter_by: fixed.text,
      per_page_max: 1 + below(8),
      search_policy: "exact"
    })
  }
}

const stored = (draft: ProfileManifest): StoredProfile => ({
  organization_id: "n",
  collection: "c",
  collection_created_at: 1,
  name: "p",
  id: "prf_1",
  is_default: true,
  draft,
  revision: 1,
  active: undefined,
  created_at: 0,
  updated_at: 0
})
const partsOf = (profile: StoredProfile): ProfileStepParts => {
  const policy = { organization_id: "n", name: "exact", params: {}, created_at: 0, updated_at: 0, parameters: exact }
  return {
    profiles: {
      get: (_organization: string, _collection: unknown, name: string) => (name === "p" ? profile : undefined),
      byId: () => profile,
      defaultOf: () => profile
    } as unknown as ProfileStepParts["profiles"],
    policies: {
      get: (_organization: string, name: string) => (name === "exact" ? policy : undefined)
    } as unknown as ProfileStepParts["policies"]
  }
}

describe("a profile", () => {
  it(`resists ${SEEDS} seeds of what clients may send`, async () => {
    let answered = 0,
      refused = 0
    for (let seed = 1; seed <= SEEDS; seed++) {
      const random = chance(seed)
      const { below, next, of, some } = random
      const { fixed, manifest } = manifestFor(random)
      const q = of(["*", ...words])
      const filters = [of([undefined, undefined, ...known]), of([undefined, undefined, undefined, of(known)])]
      const isHostile = next() < 0.25
      const own: Record<string, string> = { ...Object.fromEntries(some(meddling)), q }
      const [asked, ofPreset] = filters
      if (isHostile) own.filter_by = of(hostile)
      else if (asked !== undefined) own.filter_by = asked.text
      const preset = Object.fromEntries(some(meddling))
      if (ofPreset !== undefined) preset.filter_by = ofPreset.text
      await context.resources.put("n", "preset", "meddling", { name: "meddling", value: preset })
      own.preset = "meddling"
      const way = of(["parameter", "default", "bound"])
      if (way === "default") {
        delete own.query_by
        delete preset.query_by
        await context.resources.put("n", "preset", "meddling", { name: "meddling", value: preset })
      } else if (way === "parameter" || next() < 0.5) own.profile = "p"
      const sort = of([undefined, "cheap", "none"])
      if (sort !== undefined) own.sort = sort
      own.page = String(1 + below(3))
      const what = `seed ${seed}: ${JSON.stringify({ own, preset, manifest })}`

      const read = readSearch(context, "c", own, {})
      const mayFilter =
        !isHostile &&
        [asked, ofPreset].every(
          (filter) => filter === undefined || filter.fields.every((name) => manifest.filterable_fields.includes(name))
        )
      const step = read.ok
        ? profiled(partsOf(stored(manifest)), {
            context: { ...context },
            caller: {
              organizationId: "n",
              ...(way === "bound" ? { profile: { id: "prf_1", name: "p", collection: "c" } } : {})
            },
            request: { ...read.value, collection: { ...read.value.collection!, created_at: 1 } },
            fields: undefined
          })
        : read
      if (!mayFilter || sort === "none") {
        expect(step.ok, what).toBe(false)
        refused++
        continue
      }
      if (!step.ok) throw new Error(`${step.error.message} ${what}`)
      const planned = await prepareSearch(context, step.value.request, new Reach(context, {}))
      if (!planned.ok) throw new Error(`${planned.error.message} ${what}`)
      const found = await runSearch(context, planned.value)
      if (!found.ok) throw new Error(`${found.error.message} ${what}`)
      answered++
      const { answer } = found.value
      const visible = things.filter(
        (thing) =>
          fixed.lets(thing) &&
          (asked?.lets(thing) ?? true) &&
          (ofPreset?.lets(thing) ?? true) &&
          (q === "*" ||
            manifest.searchable_fields.some((name) => thing[name as "title" | "blurb"].split(" ").includes(q)))
      )
      const seen = new Set(visible.map(({ id }) => id))
      const { found: count, facet_counts, hits } = answer
      expect(count, what).toBe(visible.length)
      const shown = (hits ?? []).map((hit) => String((hit.document as { readonly id: string }).id))
      expect(
        shown.every((id) => seen.has(id)),
        what
      ).toBe(true)
      const size = Math.min(
        manifest.per_page_max,
        Number(own.per_page ?? own.limit ?? preset.per_page ?? preset.limit ?? 10)
      )
      const offset = (Number(own.page) - 1) * size
      expect(shown.length, what).toBe(Math.max(0, Math.min(size, visible.length - offset)))
      expect(
        facet_counts.map(({ field_name }) => field_name),
        what
      ).toEqual(manifest.facet_fields.map(({ field }) => field))
      for (const { counts, field_name } of facet_counts)
        for (const { count: n, value } of counts)
          expect(n, what).toBe(visible.filter((thing) => thing[field_name as "shop"] === value).length)
    }
    // Both outcomes must occur; otherwise the test would have tried nothing.
    expect(answered).toBeGreaterThan(40)
    expect(refused).toBeGreaterThan(40)
  })

  it("equals parameters and a filter that anybody could search with", () => {
    const manifest = manifestOf({
      searchable_fields: ["title", "blurb"],
      facet_fields: [{ field: "shop" }],
      sorts: [{ id: "cheap", sort_by: "price:asc" }],
      default_sort_id: "cheap",
      fixed_filter_by: "shop:=a",
      highlight_fields: ["title"]
    })
    expect(manifestParameters(manifest, { ...exact, sort: "none", query_by_weights: "1" })).toEqual({
      parameters: {
        ...exact,
        query_by: "title,blurb",
        facet_by: "shop",
        sort_by: "price:asc",
        highlight_fields: "title"
      },
      fixedFilter: "shop:=a"
    })
    expect(manifestParameters(manifestOf({ searchable_fields: ["title"] })).fixedFilter).toBeUndefined()
    // Lists for a different number of fields would refuse every search.
    const lists = { query_by_weights: "3,1", num_typos: "1,1,0", prefix: "false", infix: "off,always" }
    expect(manifestParameters(manifest, lists).parameters).toMatchObject({
      query_by_weights: "3,1",
      prefix: "false",
      infix: "off,always"
    })
    expect(Object.keys(manifestParameters(manifest, lists).parameters)).not.toContain("num_typos")
  })
})
