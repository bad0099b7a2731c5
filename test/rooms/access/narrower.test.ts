/** When a key is no wider than the key that creates it. */
import { describe, expect, it } from "vitest"
import { isInCidrs } from "../../../src/net/network-address.ts"
import { widerFields, type Width, withinCidrs, withinOrigins } from "../../../src/access/keys/narrower.ts"
import { originMatches } from "../../../src/access/check/origins.ts"

const open: Width = {
  scope: "full",
  collections: ["*"],
  cidrs: [],
  origins: [],
  filter_by: {},
  fields: [],
  rate_limit_per_minute: 0,
  expires_at: 1_000
}

describe("a new key", () => {
  it("is refused with everything that is wider at once", () => {
    const narrow: Width = {
      ...open,
      collections: ["a"],
      cidrs: ["10.0.0.0/8"],
      origins: ["https://a.example"],
      filter_by: { a: "x:=1" },
      fields: ["t"],
      rate_limit_per_minute: 5,
      expires_at: 10
    }
    expect(widerFields(open, narrow)).toEqual([
      "collections",
      "cidrs",
      "origins",
      "filter_by",
      "fields",
      "rate_limit_per_minute",
      "expires_at"
    ])
    expect(widerFields(narrow, narrow)).toEqual([])
    expect(widerFields(narrow, open)).toEqual([])
    expect(widerFields(open, { ...narrow, scope: "search" })).toContain("scope")
  })
  it.each<readonly [string, Partial<Width>, Partial<Width>, ReadonlyArray<string>]>([
    [
      "no limit is the widest rate",
      { rate_limit_per_minute: 0 },
      { rate_limit_per_minute: 600 },
      ["rate_limit_per_minute"]
    ],
    ["a lower rate", { rate_limit_per_minute: 599 }, { rate_limit_per_minute: 600 }, []],
    ["any rate of one without a limit", { rate_limit_per_minute: 1_000_000 }, { rate_limit_per_minute: 0 }, []],
    ["a second more", { expires_at: 11 }, { expires_at: 10 }, ["expires_at"]],
    ["a filter beside the creator's", { filter_by: { a: "x:=1", b: "y:=1" } }, { filter_by: { a: "x:=1" } }, []],
    ["another filter", { filter_by: { a: "x:=1 || id:*" } }, { filter_by: { a: "x:=1" } }, ["filter_by"]],
    [
      "a filter under a name that every object has",
      { filter_by: {} },
      { filter_by: { constructor: "x:=1" } },
      ["filter_by"]
    ],
    ["fields below the creator's", { fields: ["a.b"] }, { fields: ["a"] }, []],
    ["fields above the creator's", { fields: ["a"] }, { fields: ["a.b"] }, ["fields"]],
    ["names within a pattern", { collections: ["shop_1"] }, { collections: ["shop_.*"] }, []],
    ["a wider pattern", { collections: ["shop.*"] }, { collections: ["shop_.*"] }, ["collections"]]
  ])("%s", (_name, asked, own, expected) => {
    expect(widerFields({ ...open, ...asked }, { ...open, ...own })).toEqual(expected)
  })
  it("may only have addresses that its creator has", () => {
    const cidrs = [
      "0.0.0.0/0",
      "10.0.0.0/8",
      "10.1.0.0/16",
      "10.1.2.3",
      "10.1.2.3/32",
      "192.168.0.0/16",
      "::/0",
      "::ffff:10.0.0.0/104",
      "2001:db8::/32",
      "2001:db8:1::/48",
      "2001:db8::1",
      "::ffff:10.1.2.3"
    ]
    const probes = [
      "10.0.0.1",
      "10.1.2.3",
      "10.1.9.9",
      "192.168.1.1",
      "8.8.8.8",
      "2001:db8::1",
      "2001:db8:1::5",
      "2a00::1",
      "::ffff:10.1.2.3",
      "::ffff:9.9.9.9"
    ]
    let within = 0
    for (const inner of cidrs)
      for (const outer of cidrs) {
        const fits = withinCidrs([inner], [outer])
        within += Number(fits)
        const escaping = probes.filter((address) => isInCidrs(address, [inner]) && !isInCidrs(address, [outer]))
        if (fits) expect([inner, outer, escaping]).toEqual([inner, outer, []])
        else expect(inner === outer).toBe(false)
      }
    expect(within).toBeGreaterThan(40)
    expect([
      withinCidrs([], ["10.0.0.0/8"]),
      withinCidrs(["10.0.0.0/8"], []),
      withinCidrs(["10.1.0.0/16", "8.8.8.8"], ["10.0.0.0/8"])
    ]).toEqual([false, true, false])
  })
  it("may only have origins that its creator has", () => {
    const entries = [
      "*",
      "https://shop.example",
      "http://shop.example",
      "https://shop.example:8443",
      "shop.example",
      "*.shop.example",
      "https://*.shop.example",
      "*.example",
      "www.shop.example",
      "https://www.shop.example",
      "https://evil.example",
      "*.evilshop.example",
      "SHOP.example/"
    ]
    const probes = [
      "https://shop.example",
      "http://shop.example",
      "https://shop.example:8443",
      "https://www.shop.example",
      "http://www.shop.example:81",
      "https://a.b.shop.example",
      "https://evil.example",
      "https://x.evilshop.example",
      "https://evilshop.example",
      "https://other.test"
    ]
    for (const inner of entries)
      for (const outer of entries) {
        if (!withinOrigins([inner], [outer])) continue
        expect([
          inner,
          outer,
          probes.filter((origin) => originMatches(origin, [inner]) && !originMatches(origin, [outer]))
        ]).toEqual([inner, outer, []])
      }
    expect([
      withinOrigins(["https://www.shop.example"], ["*.shop.example"]),
      withinOrigins(["*.a.shop.example"], ["https://*.shop.example"]),
      withinOrigins(["https://shop.example"], ["shop.example"]),
      withinOrigins([], ["*.shop.example"])
    ]).toEqual([true, true, true, false])
  })
})
