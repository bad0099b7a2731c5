/**
 * Keys in memory, packed: an installation has a hundred for each organization, and nearly all of them rest. A row is its
 * hash, what finds it, and its own part as MessagePack, some 170 bytes with its part of the tables; as objects it would be
 * a kilobyte. What many keys say alike (scope, restrictions, rate) is kept once for all of them. The keys that are used stay
 * unpacked, `UNPACKED_MAX` of them.
 *
 * What signs stays sealed until something signed with it is checked: opening a million seals would take a start many
 * seconds. Of the opened ones `UNPACKED_MAX` are remembered.
 *
 * Rows are appended; a changed one is written anew. Keys change once, when they are revoked, so that at most half is waste.
 */
import { timingSafeEqual } from "node:crypto"
import { Packr } from "msgpackr"
import type { KeyRecord } from "./key-record.ts"

const CHUNK_BYTES = 1 << 20
const UNPACKED_MAX = 10_000
/** Different things that keys may say; whoever says something else says it in its own row. */
const SHAPES_MAX = 20_000
/** Of the look-up hash: 128 bits name a key. */
const HASH_BYTES = 16
/** What stands behind a row, by its kind: nothing, or a digest as it is sealed (nonce, tag, digest). */
const NONE = 0, SEALED = 1
const SIGNER_BYTES = [0, 60] as const
/** Hash, code of the id, code of the prefix, bytes of the rest, the kind of what signs. */
const HEAD_BYTES = HASH_BYTES + 4 + 4 + 4 + 1

/** FNV-1a. */
const codeOf = (text: string): number => {
  let code = 0x811c9dc5
  for (let i = 0; i < text.length; i++) code = Math.imul(code ^ text.charCodeAt(i), 0x01000193)
  return code >>> 0
}

/** Open addressing: rows by a code of theirs, several under one; none is removed. Four bytes a slot, at most three quarters full. */
const makeTable = (codeAt: (row: number) => number) => {
  let slots = new Uint32Array(1_024)
  let count = 0
  const put = (row: number) => {
    const mask = slots.length - 1
    let at = codeAt(row) & mask
    while (slots[at] !== 0) at = (at + 1) & mask
    slots[at] = row + 1
  }
  return {
    add: (row: number) => {
      if (++count * 4 > slots.length * 3) {
        const before = slots
        slots = new Uint32Array(before.length * 2)
        for (const slot of before) if (slot !== 0) put(slot - 1)
      }
      put(row)
    },
    /** The first row with this code that fits; -1 when there is none. */
    find: (code: number, fits: (row: number) => boolean): number => {
      const mask = slots.length - 1
      for (let at = code & mask; slots[at] !== 0; at = (at + 1) & mask) {
        const row = slots[at]! - 1
        if (codeAt(row) === code && fits(row)) return row
      }
      return -1
    }
  }
}

type OwnName = "created_at" | "description" | "id" | "lookup_hash" | "organization_id" | "revoked_at" | "sealed_digest" | "value_prefix"
export type OwnPart = Pick<KeyRecord, OwnName>
export type Shared = Omit<KeyRecord, OwnName>
type Packed = readonly [organization: number, shape: number | Shared, id: string, description: string, value_prefix: string, created_at: number, revoked_at: number | null]

export interface Signer { readonly key: KeyRecord; readonly digest: Uint8Array }

export interface KeyStore {
  /** New or changed. */
  readonly put: (key: KeyRecord) => void
  /** The same in two parts, for many at once: what is given as the same object is not looked at again. */
  readonly putParts: (own: OwnPart, shared: Shared) => void
  /** By the look-up hash, in constant time. Revoked ones too. A key that is remembered has only the first half of its hash. */
  readonly byHash: (hash: Buffer) => KeyRecord | undefined
  readonly byId: (id: string) => KeyRecord | undefined
  /** Revoked ones too, the newest first. O(keys of the organization). */
  readonly ofOrganization: (organizationId: string) => ReadonlyArray<KeyRecord>
  /** The first key that can sign, begins with these characters and fits. O(keys with this beginning). */
  readonly signer: (prefix: string, fits: (signer: Signer) => boolean) => KeyRecord | undefined
}

/** `open`: the digest inside a seal, undefined where it does not open; called at the first use of a key's signature, and again when it was forgotten. */
export const makeKeyStore = (open: (sealed: string, keyId: string) => Uint8Array | undefined): KeyStore => {
  const packr = new Packr({ structures: [], useRecords: true })
  const shapes: Array<Shared> = []
  const shapeNumbers = new Map<string, number>()
  const shapesGiven = new WeakMap<Shared, number>()
  const shapeOf = (shared: Shared): number | Shared => {
    const given = shapesGiven.get(shared)
    if (given !== undefined) return given
    const text = JSON.stringify(shared)
    let number = shapeNumbers.get(text)
    if (number === undefined) {
      if (shapes.length === SHAPES_MAX) return shared
      shapeNumbers.set(text, number = shapes.length)
      shapes.push(shared)
    }
    shapesGiven.set(shared, number)
    return number
  }
  const chunks: Array<Buffer> = []
  let end = CHUNK_BYTES
  let rows = 0
  /** Of each row: its chunk and place, and the row before it of the same organization. */
  let chunkOf = new Uint16Array(1_024), placeOf = new Uint32Array(1_024), before = new Uint32Array(1_024)
  const organizationIds: Array<string> = []
  const organizations = new Map<string, { readonly number: number; newest: number }>()
  const unpacked = new Map<number, KeyRecord>()
  const opened = new Map<number, Uint8Array>()

  const idCodeAt = (row: number) => chunks[chunkOf[row]!]!.readUInt32LE(placeOf[row]! + HASH_BYTES)
  const prefixCodeAt = (row: number) => chunks[chunkOf[row]!]!.readUInt32LE(placeOf[row]! + HASH_BYTES + 4)
  const hashCodeAt = (row: number) => chunks[chunkOf[row]!]!.readUInt32LE(placeOf[row]!)
  const hashes = makeTable(hashCodeAt), ids = makeTable(idCodeAt), signers = makeTable(prefixCodeAt)

  const bytesOf = (row: number): Buffer => {
    const chunk = chunks[chunkOf[row]!]!
    const place = placeOf[row]!
    return chunk.subarray(place, place + HEAD_BYTES + chunk.readUInt32LE(place + HASH_BYTES + 8) + SIGNER_BYTES[chunk[place + HEAD_BYTES - 1] as 0 | 1])
  }
  const read = (row: number): KeyRecord => {
    const known = unpacked.get(row)
    if (known !== undefined) return known
    const bytes = bytesOf(row)
    const [organization, shape, id, description, value_prefix, created_at, revoked_at] = packr.unpack(bytes.subarray(HEAD_BYTES, HEAD_BYTES + bytes.readUInt32LE(HASH_BYTES + 8))) as Packed
    const key: KeyRecord = {
      ...typeof shape === "number" ? shapes[shape]! : shape,
      id, description, value_prefix, created_at, revoked_at: revoked_at ?? undefined, sealed_digest: undefined, organization_id: organizationIds[organization]!, lookup_hash: bytes.toString("hex", 0, HASH_BYTES)
    }
    if (unpacked.size >= UNPACKED_MAX) unpacked.clear()
    unpacked.set(row, key)
    return key
  }
  const find = (id: string) => ids.find(codeOf(id), (row) => read(row).id === id)

  /** Where the bytes stand from now on. */
  const write = (row: number, bytes: Buffer) => {
    if (end + bytes.length > CHUNK_BYTES) {
      chunks.push(Buffer.alloc(Math.max(CHUNK_BYTES, bytes.length)))
      end = 0
    }
    chunks.at(-1)!.set(bytes, end)
    chunkOf[row] = chunks.length - 1
    placeOf[row] = end
    end += bytes.length
  }
  const room = () => {
    if (rows < chunkOf.length) return
    const grown = <A extends Uint16Array | Uint32Array>(old: A, made: A): A => {
      made.set(old)
      return made
    }
    chunkOf = grown(chunkOf, new Uint16Array(rows * 2)) as typeof chunkOf
    placeOf = grown(placeOf, new Uint32Array(rows * 2)) as typeof placeOf
    before = grown(before, new Uint32Array(rows * 2)) as typeof before
  }
  const encode = ({ created_at, description, id, lookup_hash, revoked_at, sealed_digest, value_prefix }: OwnPart, shared: Shared, organization: number): Buffer => {
    const own: Packed = [organization, shapeOf(shared), id, description, value_prefix, created_at, revoked_at ?? null]
    const packed = packr.pack(own)
    const sealed = sealed_digest === undefined ? undefined : Buffer.from(sealed_digest, "base64")
    // Of another length than a sealed digest it does not open: then it signs nothing.
    const kind = sealed === undefined || (sealed.length !== SIGNER_BYTES[SEALED] && open(sealed_digest!, id) === undefined) ? NONE : SEALED
    const bytes = Buffer.allocUnsafe(HEAD_BYTES + packed.length + SIGNER_BYTES[kind])
    bytes.write(lookup_hash, 0, HASH_BYTES, "hex")
    bytes.writeUInt32LE(codeOf(id), HASH_BYTES)
    bytes.writeUInt32LE(codeOf(value_prefix), HASH_BYTES + 4)
    bytes.writeUInt32LE(packed.length, HASH_BYTES + 8)
    bytes[HEAD_BYTES - 1] = kind
    bytes.set(packed, HEAD_BYTES)
    if (kind === SEALED) bytes.set(sealed!, HEAD_BYTES + packed.length)
    return bytes
  }
  const digestAt = (row: number): Uint8Array | undefined => {
    const known = opened.get(row)
    if (known !== undefined) return known
    const bytes = bytesOf(row)
    const digest = open(bytes.toString("base64", bytes.length - SIGNER_BYTES[SEALED]), read(row).id)
    if (digest === undefined) return undefined
    if (opened.size >= UNPACKED_MAX) opened.clear()
    opened.set(row, digest)
    return digest
  }
  const putParts = (own: OwnPart, shared: Shared) => {
    let organization = organizations.get(own.organization_id)
    if (organization === undefined) {
      organizations.set(own.organization_id, organization = { number: organizationIds.length, newest: 0 })
      organizationIds.push(own.organization_id)
    }
    const bytes = encode(own, shared, organization.number)
    const known = find(own.id)
    if (known >= 0) {
      // Everything is read again now and then: what is the same takes no room.
      if (!bytesOf(known).equals(bytes)) write(known, bytes)
      unpacked.delete(known)
      opened.delete(known)
      return
    }
    room()
    const row = rows++
    write(row, bytes)
    before[row] = organization.newest
    organization.newest = row + 1
    hashes.add(row)
    ids.add(row)
    if (bytes[HEAD_BYTES - 1] === SEALED) signers.add(row)
  }

  return {
    put: ({ created_at, description, id, lookup_hash, organization_id, revoked_at, sealed_digest, value_prefix, ...shared }) =>
      putParts({ created_at, description, id, lookup_hash, organization_id, revoked_at, sealed_digest, value_prefix }, shared),
    putParts,
    byHash: (hash) => {
      const row = hashes.find(hash.readUInt32LE(0), (candidate) => timingSafeEqual(bytesOf(candidate).subarray(0, HASH_BYTES), hash.subarray(0, HASH_BYTES)))
      return row < 0 ? undefined : read(row)
    },
    byId: (id) => {
      const row = find(id)
      return row < 0 ? undefined : read(row)
    },
    ofOrganization: (organizationId) => {
      const keys: Array<KeyRecord> = []
      for (let next = organizations.get(organizationId)?.newest ?? 0; next !== 0; next = before[next - 1]!) keys.push(read(next - 1))
      return keys
    },
    signer: (prefix, fits) => {
      const row = signers.find(codeOf(prefix), (candidate) => {
        const key = read(candidate)
        const digest = key.value_prefix === prefix ? digestAt(candidate) : undefined
        return digest !== undefined && fits({ key, digest })
      })
      return row < 0 ? undefined : read(row)
    }
  }
}
