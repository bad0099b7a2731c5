/** The ordered check of a key as a pure function: each refusal alone, the first of several, and what is allowed. */
import { expect, it } from "vitest"
import { decide, type DecisionInput } from "../../../src/access/check/decision.ts"
import type { KeyRecord } from "../../../src/identity/key-record.ts"

const key = {
  scope: "search",
  collections: ["goods"],
  cidrs: [],
  origins: [],
  fields: [],
  filter_by: {},
  rate_limit_per_minute: 10
} as unknown as KeyRecord
let taken = 0
const allowed: DecisionInput = {
  key,
  organization: { status: "active", paused_reason: undefined, plan: "standard" },
  serviceDomain: undefined,
  index: undefined,
  isSecured: false,
  scope: "search",
  address: "10.0.0.1",
  origin: "https://shop.example",
  collection: "goods",
  isOfAll: false,
  takeRateToken: () => {
    taken++
    return { isAllowed: true, resets_in_s: 3 }
  }
}
const verdict = (more: Omit<Partial<DecisionInput>, "key"> & { readonly key?: Partial<KeyRecord> } = {}) =>
  decide({ ...allowed, ...more, key: { ...key, ...more.key } })?._tag ?? "allowed"

/** In the order in which they are checked. */
const wrongs: ReadonlyArray<readonly [refusal: string, wrong: Parameters<typeof verdict>[0]]> = [
  ["OrganizationPaused", { organization: { status: "paused", paused_reason: "payment", plan: "standard" } }],
  ["OrganizationUnavailable", { damage: "a row cannot be read" }],
  ["AddressNotAllowed", { key: { cidrs: ["192.168.0.0/16"] } }],
  ["OriginNotAllowed", { key: { origins: ["https://other.example"] } }],
  ["ScopeDenied", { scope: "full" }],
  ["Throttled", { takeRateToken: () => ({ isAllowed: false, resets_in_s: 3 }) }],
  ["CollectionNotAllowed", { collection: "secrets" }]
]

it("what nothing refuses is allowed, and takes one token", () => {
  taken = 0
  expect(verdict()).toBe("allowed")
  expect(taken).toBe(1)
  expect(verdict({ key: { cidrs: ["10.0.0.0/8"], origins: ["https://shop.example"], collections: ["go.*"] } })).toBe(
    "allowed"
  )
})
it("each refusal is reported alone, and of several only the first", () => {
  expect(wrongs.map(([, wrong]) => verdict(wrong))).toEqual(wrongs.map(([refusal]) => refusal))
  for (let first = 0; first < wrongs.length; first++) {
    const rest = wrongs.slice(first).map(([, wrong]) => wrong!)
    expect(
      verdict({
        ...(Object.assign({}, ...rest) as object),
        key: Object.assign({}, ...rest.map(({ key }) => key)) as Partial<KeyRecord>
      }),
      `from ${first}`
    ).toBe(wrongs[first]![0])
  }
})
it("no token is taken from a key that is refused before", () => {
  taken = 0
  for (const [refusal, wrong] of wrongs.slice(0, 5)) expect(verdict(wrong)).toBe(refusal)
  expect(taken).toBe(0)
})
it("a key for one collection can use operations of that collection, and none that concern all", () => {
  expect([verdict({ collection: undefined }), verdict({ collection: undefined, isOfAll: true })]).toEqual([
    "allowed",
    "CollectionNotAllowed"
  ])
  expect([
    verdict({ key: { collections: ["*"] }, collection: "secrets" }),
    verdict({ key: { collections: ["*"] }, collection: undefined, isOfAll: true })
  ]).toEqual(["allowed", "allowed"])
  // A scoped token reaches only its index, whatever its key reaches.
  expect([
    verdict({ index: "goods" }),
    verdict({ index: "other" }),
    verdict({ key: { collections: ["*"] }, index: "goods", collection: undefined, isOfAll: true })
  ]).toEqual(["allowed", "CollectionNotAllowed", "CollectionNotAllowed"])
})
it("each scope reaches only its own operations", () => {
  const scopes = ["public", "search", "connector_write", "full", "installation", "operator", "console"] as const
  const reached = (scope: KeyRecord["scope"], isSecured = false) =>
    scopes.filter((asked) => verdict({ key: { scope }, scope: asked, isSecured }) === "allowed")
  expect([reached("search"), reached("connector_write"), reached("full"), reached("installation")]).toEqual([
    ["public", "search"],
    ["public", "connector_write"],
    ["public", "search", "connector_write", "full"],
    ["public", "installation"]
  ])
  // A text signed with a full key can search and do nothing else.
  expect(reached("full", true)).toEqual(["search"])
})
it("a full key with restrictions on searches can only search", () => {
  for (const restriction of [{ fields: ["title"] }, { filter_by: { goods: "shop:=a" } }]) {
    expect([
      verdict({ key: { scope: "full", ...restriction } }),
      verdict({ key: { scope: "full", ...restriction }, scope: "full" })
    ]).toEqual(["allowed", "RestrictionNotApplicable"])
  }
})
