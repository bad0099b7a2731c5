/**
 * Keys that contain their own permissions: scoped tokens and browser keys as pure functions, and the addresses and
 * origins that keys list.
 */
import { createHmac } from "node:crypto"
import { describe, expect, it } from "vitest"
import { signBrowserKey, verifyBrowserKey } from "../../../src/access/tokens/browser-key.ts"
import { originOf } from "../../../src/http/origin.ts"
import { isOriginPattern, isOwnSubdomain, originMatches } from "../../../src/access/check/origins.ts"
import { type ScopedToken, signScopedToken, verifyScopedToken } from "../../../src/access/tokens/scoped-token.ts"
import { clientAddress } from "../../../src/http/client-address.ts"

const signingKey = Buffer.from("k".repeat(48))
const keyOf = (organizationId: string) =>
  organizationId === "org_1" ? signingKey : organizationId === "org_2" ? Buffer.from("l".repeat(48)) : undefined
const token: ScopedToken = {
  organization_id: "org_1",
  key_id: "key_1",
  index: "goods",
  scopedFilter: "shop:=`ä`",
  expires_at: 1_000
}
const before = 999_999,
  after = 1_000_000

describe("a scoped token", () => {
  it("is the payload and its HMAC, as the contract defines it", () => {
    const text = signScopedToken(token, signingKey)
    const [payload, signature] = text.slice("ss_scoped_".length).split(".")
    const json = Buffer.from(payload, "base64url").toString()
    expect(JSON.parse(json)).toEqual(token)
    expect(signature).toBe(createHmac("sha256", signingKey).update(json).digest("base64url"))
    expect(verifyScopedToken(text, before, keyOf)).toEqual(token)
  })
  it("ends at its expiry, with its organization, and with any change", () => {
    const text = signScopedToken(token, signingKey)
    expect(verifyScopedToken(text, after, keyOf)).toBeUndefined()
    expect(verifyScopedToken(text, before, () => undefined)).toBeUndefined()
    for (let at = 0; at < text.length; at++) {
      for (const put of ["A", "B", "=", ""]) {
        const changed = text.slice(0, at) + put + text.slice(at + 1)
        if (changed !== text) expect(verifyScopedToken(changed, before, keyOf), `${put} at ${at}`).toBeUndefined()
      }
    }
    for (const more of [
      { organization_id: "org_2" },
      { index: "other" },
      { scopedFilter: "" },
      { expires_at: 9_999 },
      { expires_at: "9999" },
      { key_id: undefined }
    ]) {
      const forged = `ss_scoped_${Buffer.from(JSON.stringify({ ...token, ...more })).toString("base64url")}.${text.split(".")[1]}`
      expect(verifyScopedToken(forged, before, keyOf)).toBeUndefined()
    }
  })
  it("of an invalid shape is rejected", () => {
    const signed = (json: string) =>
      `ss_scoped_${Buffer.from(json).toString("base64url")}.${createHmac("sha256", signingKey).update(json).digest("base64url")}`
    for (const json of [
      "",
      "[]",
      "null",
      "7",
      "{",
      "{}",
      JSON.stringify([token]),
      `{"__proto__":${JSON.stringify(token)}}`,
      JSON.stringify({ ...token, expires_at: null }),
      JSON.stringify({ ...token, organization_id: "__proto__" })
    ])
      expect(verifyScopedToken(signed(json), before, keyOf), json).toBeUndefined()
    for (const text of [
      "ss_scoped_",
      "ss_scoped_.",
      "ss_scoped_a.b",
      `ss_scoped_${"A".repeat(20_000)}.${"A".repeat(43)}`
    ])
      expect(verifyScopedToken(text, before, keyOf)).toBeUndefined()
  })
})

describe("a browser key", () => {
  const key = {
    id: "key_9",
    organization_id: "org_1",
    minted_by: "key_1",
    collections: ["*"],
    filter_by: {},
    origins: [],
    created_at: 0,
    expires_at: 1_000
  }
  it("is verified by its own derived key, so neither kind passes for the other", () => {
    const text = signBrowserKey(key, signingKey)
    expect(verifyBrowserKey(text, before, keyOf)).toEqual(key)
    expect(verifyBrowserKey(text, after, keyOf)).toBeUndefined()
    expect(verifyScopedToken(`ss_scoped_${text.slice("brk_".length)}`, before, keyOf)).toBeUndefined()
    const direct = JSON.stringify(key)
    expect(
      verifyBrowserKey(
        `brk_${Buffer.from(direct).toString("base64url")}.${createHmac("sha256", signingKey).update(direct).digest("base64url")}`,
        before,
        keyOf
      )
    ).toBeUndefined()
  })
})

describe("the client's address", () => {
  const proxies = ["10.0.0.0/8", "2001:db8::/32"]
  it.each([
    ["no proxy is configured", "9.9.9.9", "1.1.1.1", [], "9.9.9.9"],
    ["the connection is not the proxy's", "9.9.9.9", "1.1.1.1", proxies, "9.9.9.9"],
    ["the proxy says who", "10.0.0.1", "1.1.1.1", proxies, "1.1.1.1"],
    ["what the client wrote itself stands before", "10.0.0.1", "8.8.8.8, 1.1.1.1", proxies, "1.1.1.1"],
    ["two proxies stand in a row", "10.0.0.1", "8.8.8.8, 1.1.1.1, 10.2.2.2", proxies, "1.1.1.1"],
    ["the proxy writes ports", "10.0.0.1", "1.1.1.1:5555", proxies, "1.1.1.1"],
    ["the proxy speaks IPv6", "2001:db8::1", "[2a00::5]:443", proxies, "2a00::5"],
    ["IPv4 is mapped", "::ffff:10.0.0.1", "1.1.1.1", proxies, "1.1.1.1"],
    ["all are proxies", "10.0.0.1", "10.3.3.3, 10.2.2.2", proxies, "10.3.3.3"],
    ["the last hop is no address", "10.0.0.1", "1.1.1.1, unknown", proxies, "unknown"],
    ["the header is empty", "10.0.0.1", "", proxies, ""],
    ["the proxy says nothing", "10.0.0.1", undefined, proxies, "10.0.0.1"]
  ] as const)("where %s", (_case, peer, forwarded, trusted, expected) =>
    expect(clientAddress(peer, forwarded, trusted)).toBe(expected)
  )
})

describe("origins", () => {
  it("come from Origin, else from Referer", () => {
    expect(originOf({ origin: "https://a.example", referer: "https://b.example/x" })).toBe("https://a.example")
    expect(originOf({ referer: "https://b.example:8443/x?y" })).toBe("https://b.example:8443")
    for (const headers of [{}, { referer: "not an address" }]) expect(originOf(headers)).toBeUndefined()
  })
  it("match whole origins, hosts and subdomains, and nothing that merely looks like them", () => {
    for (const origin of ["https://shop.example", "https://SHOP.example/"])
      expect(originMatches(origin, ["https://shop.example"])).toBe(true)
    expect(originMatches("https://a.b.shop.example:8443", ["*.shop.example"])).toBe(true)
    for (const origin of [
      "http://shop.example",
      "https://shop.example.evil",
      "https://evilshop.example",
      "https://shop.example:1",
      "null",
      "",
      "https://shop.example@evil.example"
    ])
      expect(originMatches(origin, ["https://shop.example"]), origin).toBe(false)
    for (const origin of [
      "https://shop.example",
      "https://evilshop.example",
      "https://x.shop.example.evil",
      "https://evil.example/.shop.example",
      "https://evil.example#.shop.example"
    ])
      expect(originMatches(origin, ["*.shop.example"]), origin).toBe(false)
  })
  it("are written as an origin or a host", () => {
    for (const text of [
      "https://shop.example",
      "https://*.shop.example:8443",
      "shop.example",
      "*.shop.example",
      "http://localhost:5173",
      "http://[::1]:3000",
      "*"
    ])
      expect(isOriginPattern(text), text).toBe(true)
    for (const text of [
      "",
      "https://",
      "https://shop.example/path",
      "sh*p.example",
      "https://shop example",
      "https://a.example, https://b.example",
      "https://user@shop.example"
    ])
      expect(isOriginPattern(text), text).toBe(false)
  })
  it("of the free plan are the service's own subdomains", () => {
    for (const entry of ["https://my.dowser.example", "*.my.dowser.example", "https://my.dowser.example:443/"])
      expect(isOwnSubdomain(entry, "dowser.example"), entry).toBe(true)
    for (const entry of ["https://dowser.example", "https://evildowser.example", "https://dowser.example.evil", "*"])
      expect(isOwnSubdomain(entry, "dowser.example"), entry).toBe(false)
    expect(isOwnSubdomain("https://my.dowser.example", undefined)).toBe(false)
  })
})
