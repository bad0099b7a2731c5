/** Unknown keys: what guessing them may cost, and who is not affected. */
import { it } from "@effect/vitest"
import { Clock, Effect, Layer } from "effect"
import { describe, expect } from "vitest"
import { Access, NEVER_EXPIRES, type NewKey } from "../../../src/access/access.ts"
import { Organizations } from "../../../src/organizations/organizations.ts"
import { Seal } from "../../../src/access/seal.ts"
import { Configuration } from "../../../src/configuration/configuration.ts"
import { Outbox } from "../../../log/outbox.ts"
import { layerLeased } from "../../../src/ports/counter/leased-sql.ts"
import { Identifiers } from "../../../log/identifiers.ts"
import { networkOf } from "../../../src/net/network-address.ts"
import { makeSetClock } from "../../support/clock.ts"
import { layerTestSql } from "../../support/postgres.ts"
import { securedKey } from "../../support/secured.ts"

const layerOf = (identifiers: Layer.Layer<Identifiers>) =>
  Layer.provideMerge(Access.layer, Organizations.layer).pipe(
    Layer.provideMerge(Outbox.layer),
    Layer.provideMerge(layerLeased({ isAlone: true })),
    Layer.provideMerge(
      Layer.provideMerge(
        Layer.mergeAll(Seal.layer(new Uint8Array(32).fill(7)), Configuration.layerEmbedded),
        identifiers
      )
    ),
    Layer.provideMerge(layerTestSql)
  )
const newKey = (organization_id: string, more: Partial<NewKey> = {}): NewKey => ({
  organization_id,
  scope: "search",
  description: "k",
  actions: ["documents:search"],
  collections: ["*"],
  isGateway: false,
  cidrs: [],
  origins: [],
  filter_by: {},
  rate_limit_per_minute: 0,
  expires_at: NEVER_EXPIRES,
  ...more
})
const asking = (access: Access["Service"]) => (key: string, address: string) =>
  Effect.match(
    access.check({
      key,
      scope: "search",
      address,
      origin: undefined,
      collection: undefined,
      sessionId: undefined,
      isRateFree: false,
      isGateway: false
    }),
    {
      onFailure: (error) => (error._tag === "Throttled" ? `429 after ${error.retry_after_s}` : (error._tag as string)),
      onSuccess: () => "passes"
    }
  )

it.live("600 unknown keys a minute from one network, then it waits; plain keys pass whatever neighbours do", () =>
  Effect.gen(function* () {
    const { clock, forward } = yield* makeSetClock(1_000 * 60_000 + 15_000)
    yield* Effect.provideService(
      Effect.gen(function* () {
        const access = yield* Access
        const asked = asking(access)
        const { id } = yield* (yield* Organizations).create("Failing", "standard")
        const { value } = yield* access.createKey(newKey(id))
        const { value: old } = yield* access.createKey(newKey(id, { expires_at: 1 }))
        const browser = yield* access.mintBrowserKey({
          organization_id: id,
          minted_by: "key_none",
          collections: ["*"],
          filter_by: {},
          origins: [],
          expires_at: NEVER_EXPIRES
        })
        const good = securedKey(value, { filter_by: "a:=1" }),
          forged = `${good.slice(0, 20)}AAAA${good.slice(24)}`
        const outcomes = (key: (n: number) => string, address: string, times: number) =>
          Effect.map(
            Effect.forEach(
              Array.from({ length: times }, (_, n) => n),
              (n) => asked(key(n), address)
            ),
            (all) => [...new Set(all)]
          )
        // A known key that is no longer valid is not a guess.
        expect(yield* outcomes(() => old, "10.0.0.1", 700)).toEqual(["Unauthorized"])
        expect(yield* outcomes(() => securedKey(value, { expires_at: 1 }), "10.0.0.1", 700)).toEqual(["Unauthorized"])
        expect(yield* outcomes((n) => (n % 2 === 0 ? forged : `nobody-${n}`), "10.0.0.1", 600)).toEqual([
          "Unauthorized"
        ])
        expect([
          yield* asked("nobody", "10.0.0.1"),
          yield* asked(forged, "10.0.0.1"),
          yield* asked(good, "::ffff:10.0.0.1")
        ]).toEqual(["429 after 45", "429 after 45", "429 after 45"])
        expect([
          yield* asked(value, "10.0.0.1"),
          yield* asked(old, "10.0.0.1"),
          yield* asked(browser, "10.0.0.1")
        ]).toEqual(["passes", "Unauthorized", "Unauthorized"])
        expect([yield* asked(good, "10.0.0.2"), yield* asked("nobody", "10.0.0.2")]).toEqual(["passes", "Unauthorized"])
        // The addresses of one /64 belong to one network.
        expect(yield* outcomes((n) => `nobody-${n}`, "2001:db8:1:2::1", 300)).toEqual(["Unauthorized"])
        expect(yield* outcomes((n) => `nobody-${n}`, "2001:db8:1:2:ffff::9", 300)).toEqual(["Unauthorized"])
        expect([yield* asked(forged, "2001:db8:1:2::77"), yield* asked(good, "2001:db8:1:3::1")]).toEqual([
          "429 after 45",
          "passes"
        ])
        forward(45_000)
        expect([yield* asked(good, "10.0.0.1"), yield* asked("nobody", "10.0.0.1")]).toEqual(["passes", "Unauthorized"])
      }),
      Clock.Clock,
      clock
    )
  }).pipe(Effect.provide(layerOf(Identifiers.layer)), Effect.scoped)
)

it.live("new keys have prefixes that few others have, and chosen values cannot sign", () => {
  let made = 0
  /** Every second secret has the same prefix. */
  const layerIdentifiers = Layer.effect(
    Identifiers,
    Effect.map(Identifiers, (real) =>
      Identifiers.of({
        ...real,
        secret: (length) =>
          Effect.map(real.secret(length), (text) => (length < 60 || made++ % 2 === 0 ? text : `SAME${text.slice(4)}`))
      })
    )
  ).pipe(Layer.provide(Identifiers.layer))
  return Effect.gen(function* () {
    const access = yield* Access
    const asked = asking(access)
    const { id } = yield* (yield* Organizations).create("Crowded", "standard")
    const values: Array<string> = []
    for (let n = 0; n < 100; n++) values.push((yield* access.createKey(newKey(id))).value)
    expect(values.filter((value) => value.startsWith("SAME")).length).toBe(32)
    for (const value of values)
      expect(yield* asked(securedKey(value, { filter_by: "a:=1" }), "10.0.0.1")).toBe("passes")
    const chosen = `SAME${"x".repeat(90)}`
    yield* access.createKey(newKey(id, { value: chosen }))
    expect([
      yield* asked(chosen, "10.0.0.1"),
      yield* asked(securedKey(chosen, { filter_by: "a:=1" }), "10.0.0.1")
    ]).toEqual(["passes", "Unauthorized"])
  }).pipe(Effect.provide(layerOf(layerIdentifiers)), Effect.scoped)
})

describe("a network", () => {
  it.live("is an IPv4 address, however it is written, or an IPv6 /64", () =>
    Effect.sync(() => {
      expect(networkOf("10.0.0.1")).toBe(networkOf("::ffff:10.0.0.1"))
      expect(networkOf("::ffff:a00:1")).toBe(networkOf("10.0.0.1"))
      expect(networkOf("2001:db8::1")).toBe(networkOf("2001:db8:0:0:ffff:ffff:ffff:ffff"))
      const different = ["10.0.0.1", "10.0.0.2", "2001:db8::1", "2001:db8:0:1::1", "::1", "x".repeat(10_000)]
      expect(new Set(different.map(networkOf)).size).toBe(different.length)
      for (const address of different) expect(networkOf(address).length).toBeLessThan(20)
      expect(networkOf("not an address")).toBe(networkOf("x".repeat(10_000)))
    })
  )
})
