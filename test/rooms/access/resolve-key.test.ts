/** Which key a text resolves to, over a store in memory: no database, no service. */
import { describe, expect, it } from "vitest"
import { makeFailedKeys } from "../../../src/access/check/failed-keys.ts"
import { type KnownKeys, resolveKey, unresolvedRefusal } from "../../../src/access/check/resolve-key.ts"
import { makeKeyStore } from "../../../src/access/keys/key-store.ts"
import { digestOf, lookupHash } from "../../../src/access/tokens/lookup-hash.ts"
import { signScopedToken } from "../../../src/access/tokens/scoped-token.ts"
import type { KeyRecord } from "../../../src/identity/key-record.ts"

const NOW = 1_000_000
const signer = Buffer.from("a signing key of an organization, long enough")
const key = (id: string, value: string, more: Partial<KeyRecord> = {}): KeyRecord => ({
  id,
  organization_id: "org_a",
  scope: "search",
  description: id,
  actions: [],
  collections: ["*"],
  value_prefix: value.slice(0, 4),
  lookup_hash: lookupHash(digestOf(value)).toString("hex"),
  sealed_digest: undefined,
  cidrs: [],
  origins: [],
  filter_by: {},
  fields: [],
  rate_limit_per_minute: 600,
  expires_at: NOW / 1_000 + 10,
  autodelete: false,
  installation_id: undefined,
  created_at: 0,
  revoked_at: undefined,
  ...more
})
const knowing = (keys: ReadonlyArray<KeyRecord>): KnownKeys => {
  const store = makeKeyStore(() => undefined)
  for (const one of keys) store.put(one)
  return {
    keys: store,
    signingKeyOf: (organizationId) => (organizationId === "org_a" ? signer : undefined),
    failedKeys: makeFailedKeys(),
    hasProfile: () => false
  }
}
const asked = { address: "127.0.0.1", isGateway: false, scope: "search" } as const
const found = (known: KnownKeys, text: string, now_ms = NOW, more: Partial<typeof asked> | object = {}) => {
  const resolved = resolveKey(known, text, now_ms, { ...asked, ...more })
  return typeof resolved === "string" ? resolved : resolved.key.id
}

describe("a presented text", () => {
  it("is a stored key until it expires or is revoked; each organization has its own", () => {
    const known = knowing([
      key("key_A", "value-of-a"),
      key("key_B", "value-of-b", { organization_id: "org_b" }),
      key("key_C", "value-of-c", { revoked_at: 1 })
    ])
    expect(["value-of-a", "value-of-b", "value-of-c", "value-of-d"].map((text) => found(known, text))).toEqual([
      "key_A",
      "key_B",
      "refused",
      "unknown"
    ])
    expect(found(known, "value-of-a", NOW + 10_000)).toBe("refused")
  })
  it("is an installation's key only for its runtime", () => {
    const known = knowing([key("key_I", "installed", { scope: "installation" }), key("key_A", "value-of-a")])
    expect(found(known, "installed")).toBe("refused")
    expect(found(known, "installed", NOW, { scope: "installation" })).toBe("key_I")
    expect(found(known, "value-of-a", NOW, { scope: "installation" })).toBe("refused")
    expect(found(known, "nobody", NOW, { scope: "installation" })).toBe("unknown")
  })
  it("is a scoped token only on the gateway, and not after its key has ended", () => {
    const token = (organization_id: string) =>
      signScopedToken(
        { key_id: "key_A", organization_id, index: "products", scopedFilter: "shop:1", expires_at: NOW / 1_000 + 5 },
        signer
      )
    const known = knowing([key("key_A", "value-of-a")])
    const onGateway = { isGateway: true }
    expect(resolveKey(known, token("org_a"), NOW, { ...asked, isGateway: true })).toMatchObject({
      embedded: { filter_by: "shop:1" },
      index: "products"
    })
    expect(found(known, token("org_a"))).toBe("unknown")
    expect(found(known, token("org_b"), NOW, onGateway)).toBe("refused")
    expect(found(known, token("org_a"), NOW + 5_000, onGateway)).toBe("refused")
    expect(found(knowing([key("key_A", "value-of-a", { revoked_at: 1 })]), token("org_a"), NOW, onGateway)).toBe(
      "refused"
    )
  })
  it("counts against its network if it is unknown: the 601st of a minute must wait", () => {
    const known = knowing([])
    const refusal = () => unresolvedRefusal(known, "unknown", { ...asked, key: "nobody" }, NOW)
    for (let i = 0; i < 600; i++) expect(refusal()._tag).toBe("Unauthorized")
    expect(refusal()).toMatchObject({ _tag: "Throttled", retry_after_s: 20 })
    const elsewhere = unresolvedRefusal(known, "unknown", { ...asked, address: "10.9.8.7", key: "nobody" }, NOW)
    expect(elsewhere._tag).toBe("Unauthorized")
  })
})
