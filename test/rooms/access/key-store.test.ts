/** The packed keys, compared with plain maps, for random puts, changes and look-ups. */
import { createHash } from "node:crypto"
import { describe, expect, it } from "vitest"
import { makeRandom } from "../../../fixtures/random.ts"
import type { KeyRecord } from "../../../src/identity/key-record.ts"
import { makeKeyStore } from "../../../src/access/keys/key-store.ts"
import { ulid } from "../../../log/identifiers.ts"

const sha = (text: string) => createHash("sha256").update(text).digest()
/** Half of the ids have the program's format. */
const idOf = (n: number) => (n % 2 === 0 ? `key_${n}` : `key_${ulid(1_700_000_000_000 + n, sha(`id ${n}`))}`)
const record = (n: number, organization: number, random = makeRandom(n)): KeyRecord => ({
  id: idOf(n),
  organization_id: `org_${organization}`,
  scope: random.pick(["full", "search", "connector_write"] as const),
  description: "ö".repeat(random.below(40)),
  actions: ["*"],
  collections: random.chance(0.2) ? ["a.*", "b"] : ["*"],
  value_prefix: String(random.below(500)).padStart(4, "p"),
  lookup_hash: sha(`value ${n}`).toString("hex"),
  sealed_digest: undefined,
  cidrs: random.chance(0.1) ? ["10.0.0.0/8"] : [],
  origins: [],
  filter_by: random.chance(0.1) ? { goods: "shop:=a" } : {},
  fields: random.chance(0.1) ? ["id", "name"] : [],
  autodelete: random.chance(0.1),
  installation_id: undefined,
  rate_limit_per_minute: 600,
  expires_at: 64_723_363_199,
  created_at: 1_700_000_000_000 + n,
  revoked_at: undefined
})

/** The key as stored in memory, with the half of its hash by which it is found. */
const kept = <K extends KeyRecord | undefined>(key: K): K =>
  key === undefined ? key : { ...key, lookup_hash: key.lookup_hash.slice(0, 32) }

describe("packed keys", () => {
  it("answers as maps do, for 30,000 keys of 100 organizations with changes in between", () => {
    const random = makeRandom(5)
    const sealed = (digest: Buffer) => Buffer.concat([Buffer.alloc(28), digest]).toString("base64")
    const opened = new Set<string>()
    const store = makeKeyStore((text, id) => {
      opened.add(id)
      return Buffer.from(text, "base64").subarray(28)
    })
    const plain = new Map<string, KeyRecord>()
    const signs = (n: number) => n % 3 === 0
    for (let n = 0; n < 30_000; n++) {
      const key = record(n, random.below(100))
      plain.set(key.id, key)
      store.put({
        ...key,
        sealed_digest: signs(n) ? sealed(n % 2 === 0 ? sha(`value ${n}`) : sha(`digest ${n}`)) : undefined
      })
      if (random.chance(0.1)) {
        const number = random.below(n + 1)
        const changed = { ...plain.get(idOf(number))!, revoked_at: n }
        plain.set(changed.id, changed)
        store.put({
          ...changed,
          sealed_digest: signs(number)
            ? sealed(number % 2 === 0 ? sha(`value ${number}`) : sha(`digest ${number}`))
            : undefined
        })
      }
    }
    expect(opened.size).toBe(0)
    for (let i = 0; i < 3_000; i++) {
      const n = random.below(31_000)
      expect(store.byId(idOf(n))).toEqual(kept(plain.get(idOf(n))))
      expect(store.byHash(sha(`value ${n}`))).toEqual(kept(plain.get(idOf(n))))
      expect(store.byHash(sha(`digest ${n}`))).toBeUndefined()
      const key = plain.get(idOf(n))
      if (key === undefined) continue
      const digest = n % 2 === 0 ? sha(`value ${n}`) : sha(`digest ${n}`)
      expect(store.signer(key.value_prefix, (signer) => digest.equals(signer.digest))?.id).toBe(
        signs(n) && key.revoked_at === undefined ? key.id : undefined
      )
      expect(store.signer("none", () => true)).toBeUndefined()
    }
    for (let organization = 0; organization < 101; organization++) {
      const own = [...plain.values()].filter(({ organization_id }) => organization_id === `org_${organization}`)
      expect(store.ofOrganization(`org_${organization}`)).toEqual(own.reverse().map(kept))
    }
  })
  it("try 64 of the keys with the same prefix, the oldest of each organization first, and no revoked one", () => {
    const store = makeKeyStore((text) => Buffer.from(text, "base64").subarray(28))
    const put = (n: number, organization: string, value_prefix: string, revoked_at?: number) =>
      store.put({
        ...record(n, 0),
        id: `key_${n}`,
        organization_id: organization,
        value_prefix,
        sealed_digest: Buffer.concat([Buffer.alloc(28), sha(`digest ${n}`)]).toString("base64"),
        revoked_at
      })
    const asked = (prefix: string, wanted = -1) => {
      let tries = 0
      const found = store.signer(prefix, ({ digest }) => {
        tries++
        return sha(`digest ${wanted}`).equals(digest)
      })
      return [found?.id, tries]
    }
    for (let n = 0; n < 64; n++) put(n, `org_${n % 3}`, "free")
    expect([asked("free"), asked("free", 0)[0], store.signersOf("free")]).toEqual([[undefined, 64], "key_0", 64])
    // One organization has ten thousand chosen values; the key of a second one is stored between them, and that of a
    // third one after them.
    for (let n = 100; n < 5_100; n++) put(n, "org_crowd", "ABCD")
    put(10_000, "org_other", "ABCD")
    for (let n = 5_100; n < 10_000; n++) put(n, "org_crowd", "ABCD")
    put(10_001, "org_third", "ABCD")
    expect(asked("ABCD")).toEqual([undefined, 64])
    expect([
      asked("ABCD", 10_000)[0],
      asked("ABCD", 10_001)[0],
      asked("ABCD", 100)[0],
      asked("ABCD", 9_999)[0]
    ]).toEqual(["key_10000", "key_10001", "key_100", undefined])
    // Revoked keys make room at once, and are no longer tried.
    for (let n = 100; n < 9_990; n++) put(n, "org_crowd", "ABCD", 5)
    expect([asked("ABCD", 9_999)[0], asked("ABCD", 100)[0], asked("ABCD")[1]]).toEqual(["key_9999", undefined, 12])
  })
})
