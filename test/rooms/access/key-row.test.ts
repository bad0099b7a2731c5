/**
 * Rows of keys as bytes: what is written can be read back, for any text and number, and nothing is written outside its
 * place.
 */
import { createHash } from "node:crypto"
import { describe, expect, it } from "vitest"
import { makeRandom } from "../../../fixtures/random.ts"
import {
  canSign,
  codeOfHash,
  hasId,
  idCodeAt,
  idForm,
  type OwnPart,
  prefixCodeAt,
  prefixCodeOf,
  readRow,
  rowBytesMax,
  SEAL_BYTES,
  SHAPES_MAX,
  writeRow
} from "../../../src/access/keys/key-row.ts"
import { makeKeyStore } from "../../../src/access/keys/key-store.ts"
import { ulid } from "../../../log/identifiers.ts"

const texts = [
  "",
  "a",
  "Key number 5",
  "ö",
  "日本語 key",
  "👍".repeat(40),
  "x".repeat(127),
  "x".repeat(128),
  "é".repeat(9_000),
  "key_",
  "\u007f\u0080"
]
const hexOf = (random: ReturnType<typeof makeRandom>, length: number) =>
  Array.from({ length }, () => "0123456789abcdef"[random.below(16)]).join("")
const bytesOf = (random: ReturnType<typeof makeRandom>, length: number) =>
  Uint8Array.from({ length }, () => random.below(256))

describe("a row of a key", () => {
  it("is read as it was written, between other rows", () => {
    const chunk = new Uint8Array(1 << 20)
    for (let round = 0; round < 400; round++) {
      const random = makeRandom(`row/${round}`)
      const ulidText = ulid(random.below(2 ** 31) * random.below(2 ** 17), bytesOf(random, 11))
      const id = random.pick([
        `key_${ulidText}`,
        `key_${ulidText}`,
        `key_${ulidText.toLowerCase()}`,
        `key_8${ulidText.slice(1)}`,
        `key_${ulidText.slice(0, 25)}U`,
        `kex_${ulidText}`,
        `key_${round}`,
        `k${random.pick(texts)}`
      ])
      const own: OwnPart = {
        id,
        organization_id: "org",
        description: random.pick(texts),
        value_prefix: random.pick(["abcd", "ss_c", "äöü👍", "a", ""]),
        lookup_hash: hexOf(random, 64),
        created_at: random.pick([0, 1_790_000_000_000 + round, 1.5, -1]),
        revoked_at: random.pick([undefined, undefined, 0, 1_790_000_000_001]),
        sealed_digest: undefined
      }
      const seal = random.chance(0.5) ? bytesOf(random, SEAL_BYTES) : undefined
      const numbers = {
        organization: random.pick([0, 255, 70_000, 2 ** 31 + 5]),
        shape: random.pick<number | string>([
          0,
          300,
          SHAPES_MAX,
          `{"scope":"search","description":"${random.pick(texts)}"}`
        ]),
        seal
      }
      const place = random.below(1_000)
      chunk.fill(0xaa)
      const form = idForm(id)
      const end = writeRow(chunk, place, own, form, numbers)
      expect(end - place).toBeLessThanOrEqual(
        rowBytesMax(own, typeof numbers.shape === "string" ? numbers.shape : undefined)
      )
      expect(
        chunk.subarray(0, place).every((byte) => byte === 0xaa) &&
          chunk.subarray(end, end + 200).every((byte) => byte === 0xaa)
      ).toBe(true)
      const { numbers: readNumbers, own: read, end: readEnd } = readRow(chunk, place)
      const { organization_id: _o, sealed_digest: _s, ...expected } = own
      expect(read).toEqual({ ...expected, lookup_hash: own.lookup_hash.slice(0, 32) })
      expect({ ...readNumbers, seal: readNumbers.seal === undefined ? undefined : [...readNumbers.seal] }).toEqual({
        ...numbers,
        seal: seal === undefined ? undefined : [...seal]
      })
      expect(readEnd).toBe(end)
      expect(canSign(chunk, place)).toBe(seal !== undefined)
      expect(idCodeAt(chunk, place)).toBe(idForm(id).code)
      expect(prefixCodeAt(chunk, place)).toBe(prefixCodeOf(own.value_prefix))
      expect(codeOfHash(chunk, place)).toBe(Buffer.from(own.lookup_hash, "hex").readUInt32LE(0))
      expect(hasId(chunk, place, idForm(id))).toBe(true)
      expect(hasId(chunk, place, idForm(`${id}x`))).toBe(false)
      // An id of the same length with a different character at some place.
      const at = random.below(id.length)
      const other = `${id.slice(0, at)}${id[at] === "0" ? "1" : "0"}${id.slice(at + 1)}`
      expect(hasId(chunk, place, idForm(other)), `${id} ${other}`).toBe(other === id)
    }
  })
})

describe("a store of keys", () => {
  const shared = (n: number) => ({
    scope: "search" as const,
    actions: ["*"],
    collections: [`c${n}`],
    cidrs: [],
    origins: [],
    filter_by: {},
    fields: [],
    rate_limit_per_minute: n,
    expires_at: 5,
    autodelete: false,
    installation_id: undefined
  })
  const own = (n: number, sealed_digest?: string) => ({
    id: `key_${ulid(n, new Uint8Array(11))}`,
    organization_id: `org_${n % 7}`,
    description: `d${n}`,
    value_prefix: "same",
    lookup_hash: createHash("sha256").update(String(n)).digest("hex"),
    created_at: n,
    revoked_at: undefined,
    sealed_digest
  })
  it("stores keys that all differ, more than there are numbers for, and those with the same prefix", () => {
    const store = makeKeyStore((sealed) => Buffer.from(sealed, "base64"))
    const count = SHAPES_MAX + 500
    store.reserve(count)
    const seal = (n: number) => Buffer.alloc(SEAL_BYTES, n).toString("base64")
    for (let n = 0; n < count; n++) store.putParts(own(n, n % 2_000 === 0 ? seal(n / 2_000) : undefined), shared(n))
    for (const n of [0, 1, SHAPES_MAX - 1, SHAPES_MAX, count - 1])
      expect(store.byId(own(n).id)).toMatchObject({
        description: `d${n}`,
        collections: [`c${n}`],
        rate_limit_per_minute: n,
        organization_id: `org_${n % 7}`
      })
    for (let i = 0; i < 9; i++)
      expect(store.signer("same", ({ digest }) => digest[0] === i)?.description).toBe(`d${i * 2_000}`)
    expect(store.signer("same", () => false)).toBeUndefined()
  })
  it("lets no key sign whose seal cannot be opened, but still finds it by its id", () => {
    const asked: Array<string> = []
    const store = makeKeyStore((_, id) => {
      asked.push(id)
      return undefined
    })
    store.putParts(own(1, "c2hvcnQ="), shared(1))
    expect(asked).toEqual([own(1).id])
    expect(store.signer("same", () => true)).toBeUndefined()
    expect(store.byId(own(1).id)?.description).toBe("d1")
  })
})
