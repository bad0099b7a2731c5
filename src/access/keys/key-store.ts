/**
 * Keys in memory, packed (`key-row.ts`): an installation has a hundred for each organization, and nearly all of them
 * rest. A key is some 100 bytes and its part of the tables; as an object it would be a kilobyte. What many keys say
 * alike (scope, restrictions, rate) is kept once for all of them. The keys that are used stay unpacked, `UNPACKED_MAX`
 * of them.
 *
 * What signs stays sealed until something signed with it is checked: opening a million seals would take a start many
 * seconds. Of the opened ones `UNPACKED_MAX` are remembered.
 *
 * Rows are appended; a changed one is written anew. Keys change once, when they are revoked, so that at most half is
 * waste.
 */
import { timingSafeEqual } from "node:crypto"
import type { KeyRecord } from "../../identity/key-record.ts"
import {
  canSign,
  codeOfHash,
  HASH_BYTES,
  hasId,
  idCodeAt,
  idForm,
  type OwnPart,
  prefixCodeAt,
  prefixCodeOf,
  readRow,
  rowBytesMax,
  SEAL_BYTES,
  type Shared,
  SHAPES_MAX,
  writeRow
} from "./key-row.ts"

const CHUNK_BYTES = 1 << 20
const UNPACKED_MAX = 10_000

/** The same numbers in a longer array. */
const grown = <A extends Uint16Array | Uint32Array>(old: A, made: A): A => {
  made.set(old)
  return made
}

/** Open addressing: rows by a code of theirs; none is removed. Four bytes a slot, at most three quarters full. */
const makeTable = (codeAt: (row: number) => number) => {
  let slots = new Uint32Array(1_024)
  let count = 0
  const put = (row: number) => {
    const mask = slots.length - 1
    let at = codeAt(row) & mask
    while (slots[at] !== 0) at = (at + 1) & mask
    slots[at] = row + 1
  }
  const resize = (length: number) => {
    const before = slots
    slots = new Uint32Array(length)
    for (const slot of before) if (slot !== 0) put(slot - 1)
  }
  return {
    add: (row: number) => {
      if (++count * 4 > slots.length * 3) resize(slots.length * 2)
      put(row)
    },
    /** For so many in all: many more are added without making the table anew. */
    reserve: (rows: number) => {
      const length = 2 ** Math.ceil(Math.log2((Math.max(1, rows) * 4) / 3))
      if (length > slots.length) resize(length)
    },
    /** The first row with this code that fits; -1 when there is none. */
    find: (code: number, fits: (row: number) => boolean): number => {
      const mask = slots.length - 1
      for (let at = code & mask; slots[at] !== 0; at = (at + 1) & mask) {
        const row = slots[at]! - 1
        if (codeAt(row) === code && fits(row)) return row
      }
      return -1
    },
    /** Stands for the first one from now on; both have the same code. */
    replace: (code: number, row: number, by: number) => {
      const mask = slots.length - 1
      let at = code & mask
      while (slots[at] !== row + 1) at = (at + 1) & mask
      slots[at] = by + 1
    }
  }
}

/** Signatures that are tried for one presented key. */
export const SIGNERS_PER_PREFIX_MAX = 64
/**
 * Beginnings of which it is remembered who is tried, of those that more keys have; they come from chosen values of
 * before.
 */
const CROWDED_MAX = 1_000

export interface Signer {
  readonly key: KeyRecord
  readonly digest: Uint8Array
}

export interface KeyStore {
  /** New or changed. */
  readonly put: (key: KeyRecord) => void
  /** The same in two parts, for many at once: what is given as the same object is not looked at again. */
  readonly putParts: (own: OwnPart, shared: Shared) => void
  /** So many keys will be there, about: room is made once, and no more than that. */
  readonly reserve: (keys: number) => void
  /**
   * By the look-up hash, in constant time. Revoked ones too. A key that is remembered has only the first half of its
   * hash.
   */
  readonly byHash: (hash: Buffer) => KeyRecord | undefined
  readonly byId: (id: string) => KeyRecord | undefined
  /** Revoked ones too, the newest first. O(keys of the organization). */
  readonly ofOrganization: (organizationId: string) => ReadonlyArray<KeyRecord>
  /**
   * How many keys that are not revoked can sign and begin with these characters; told up to `SIGNERS_PER_PREFIX_MAX`.
   */
  readonly signersOf: (prefix: string) => number
  /**
   * A key that can sign, is not revoked, begins with these characters and fits; at most `SIGNERS_PER_PREFIX_MAX` are
   * asked. Where more begin so, each organization's oldest goes before any second one: keys that are made here hardly
   * ever meet, so whoever crowds a beginning with chosen values crowds out himself.
   */
  readonly signer: (prefix: string, fits: (signer: Signer) => boolean) => KeyRecord | undefined
}

/** The first so many in turns of their groups: every group's first, every group's second, and so on. O(rows). */
const fairly = (rows: ReadonlyArray<number>, groupOf: (row: number) => number, max: number): ReadonlyArray<number> => {
  const taken = new Map<number, number>()
  const turns: Array<Array<number>> = []
  for (const row of rows) {
    const group = groupOf(row),
      turn = taken.get(group) ?? 0
    taken.set(group, turn + 1)
    if (turn < max) (turns[turn] ??= []).push(row)
  }
  return turns.flat().slice(0, max)
}

/**
 * `open`: the digest inside a seal, undefined where it does not open; called at the first use of a key's signature, and
 * again when it was forgotten.
 */
export const makeKeyStore = (open: (sealed: string, keyId: string) => Uint8Array | undefined): KeyStore => {
  const shapes: Array<Shared> = []
  const shapeNumbers = new Map<string, number>()
  const shapesGiven = new WeakMap<Shared, number>()
  /**
   * Its number; as JSON where there are too many different ones: whoever says something else says it in its own row.
   */
  const shapeOf = (shared: Shared): number | string => {
    const given = shapesGiven.get(shared)
    if (given !== undefined) return given
    const text = JSON.stringify(shared)
    let number = shapeNumbers.get(text)
    if (number === undefined) {
      if (shapes.length === SHAPES_MAX) return text
      shapeNumbers.set(text, (number = shapes.length))
      shapes.push(shared)
    }
    shapesGiven.set(shared, number)
    return number
  }
  const chunks: Array<Uint8Array> = []
  let end = CHUNK_BYTES
  let rows = 0
  /** Of each row: its chunk and place, and the row before it of the same organization. */
  let chunkOf = new Uint16Array(1_024),
    placeOf = new Uint32Array(1_024),
    before = new Uint32Array(1_024)
  const organizationIds: Array<string> = []
  const organizations = new Map<string, { readonly number: number; newest: number }>()
  const unpacked = new Map<number, KeyRecord>()
  const opened = new Map<number, Uint8Array>()

  const chunkAt = (row: number): Uint8Array => chunks[chunkOf[row]!]!
  const hashes = makeTable((row) => codeOfHash(chunkAt(row), placeOf[row]))
  const ids = makeTable((row) => idCodeAt(chunkAt(row), placeOf[row]!))
  /** Many may begin alike: the newest of each beginning, and of each row the one before it. */
  const signers = makeTable((row) => prefixCodeAt(chunkAt(row), placeOf[row]!))
  let signerBefore = new Uint32Array(1_024)
  const newestSigner = (code: number): number => signers.find(code, () => true)
  const addSigner = (row: number) => {
    const code = prefixCodeAt(chunkAt(row), placeOf[row]!)
    const newest = newestSigner(code)
    if (newest < 0) return signers.add(row)
    signerBefore[row] = newest + 1
    signers.replace(code, newest, row)
  }

  const crowded = new Map<string, ReadonlyArray<number>>()
  /** Rows that may have signed what begins so, revoked ones left out. */
  const signersOf = (prefix: string): ReadonlyArray<number> => {
    const known = crowded.get(prefix)
    if (known !== undefined) return known
    const rows: Array<number> = []
    for (let next = newestSigner(prefixCodeOf(prefix)) + 1; next !== 0; next = signerBefore[next - 1]!)
      if (signs(next - 1, prefix)) rows.push(next - 1)
    if (rows.length <= SIGNERS_PER_PREFIX_MAX) return rows
    const tried = fairly(
      rows.reverse(),
      (row) => readRow(chunkAt(row), placeOf[row]!).numbers.organization,
      SIGNERS_PER_PREFIX_MAX
    )
    if (crowded.size >= CROWDED_MAX) crowded.clear()
    crowded.set(prefix, tried)
    return tried
  }
  const signs = (row: number, prefix: string): boolean => {
    const own = unpacked.get(row) ?? readRow(chunkAt(row), placeOf[row]!).own
    return own.revoked_at === undefined && own.value_prefix === prefix
  }

  const read = (row: number): KeyRecord => {
    const known = unpacked.get(row)
    if (known !== undefined) return known
    const {
      numbers: { organization, shape },
      own
    } = readRow(chunkAt(row), placeOf[row]!)
    const shared = typeof shape === "number" ? shapes[shape]! : (JSON.parse(shape) as Shared)
    const key: KeyRecord = {
      ...shared,
      ...own,
      sealed_digest: undefined,
      organization_id: organizationIds[organization]!
    }
    if (unpacked.size >= UNPACKED_MAX) unpacked.clear()
    unpacked.set(row, key)
    return key
  }
  const find = (id: string): number => {
    const form = idForm(id)
    return ids.find(form.code, (row) => hasId(chunkAt(row), placeOf[row]!, form))
  }

  /** For all rows' places, and for one more. */
  const room = (length: number) => {
    if (length <= chunkOf.length) return
    chunkOf = grown(chunkOf, new Uint16Array(length)) as typeof chunkOf
    placeOf = grown(placeOf, new Uint32Array(length)) as typeof placeOf
    before = grown(before, new Uint32Array(length)) as typeof before
    signerBefore = grown(signerBefore, new Uint32Array(length)) as typeof signerBefore
  }
  /** What stands in a chunk from one place to another is the row, to the byte. */
  const isRow = (row: number, bytes: Uint8Array): boolean => {
    const chunk = chunkAt(row),
      place = placeOf[row]!
    for (let i = 0; i < bytes.length; i++) if (chunk[place + i] !== bytes[i]) return false
    return readRow(chunk, place).end - place === bytes.length
  }
  const sealOf = ({ id, sealed_digest }: OwnPart): Uint8Array | undefined => {
    if (sealed_digest === undefined) return undefined
    const seal = Buffer.from(sealed_digest, "base64")
    if (seal.length === SEAL_BYTES) return seal
    // Of another length it is nothing that was sealed here: told by who opens it, and it signs nothing.
    open(sealed_digest, id)
    return undefined
  }
  const digestAt = (row: number): Uint8Array | undefined => {
    const known = opened.get(row)
    if (known !== undefined) return known
    const {
      numbers: { seal },
      own: { id }
    } = readRow(chunkAt(row), placeOf[row]!)
    const digest = seal === undefined ? undefined : open(Buffer.from(seal).toString("base64"), id)
    if (digest === undefined) return undefined
    if (opened.size >= UNPACKED_MAX) opened.clear()
    opened.set(row, digest)
    return digest
  }
  const putParts = (own: OwnPart, shared: Shared) => {
    let organization = organizations.get(own.organization_id)
    if (organization === undefined) {
      organizations.set(own.organization_id, (organization = { number: organizationIds.length, newest: 0 }))
      organizationIds.push(own.organization_id)
    }
    const shape = shapeOf(shared)
    const bytesMax = rowBytesMax(own, typeof shape === "string" ? shape : undefined)
    if (end + bytesMax > (chunks.at(-1)?.length ?? 0)) {
      chunks.push(new Uint8Array(Math.max(CHUNK_BYTES, bytesMax)))
      end = 0
    }
    const chunk = chunks.at(-1)!,
      place = end
    const form = idForm(own.id)
    const known = ids.find(form.code, (row) => hasId(chunkAt(row), placeOf[row]!, form))
    const behind = writeRow(chunk, place, own, form, { organization: organization.number, shape, seal: sealOf(own) })
    if (known >= 0) {
      unpacked.delete(known)
      opened.delete(known)
      // Everything is read again now and then: what is the same takes no room.
      if (isRow(known, chunk.subarray(place, behind))) return
    }
    end = behind
    const row = known >= 0 ? known : rows++
    if (known < 0) room(rows > chunkOf.length ? chunkOf.length * 2 : 0)
    chunkOf[row] = chunks.length - 1
    placeOf[row] = place
    if (canSign(chunk, place)) crowded.delete(own.value_prefix)
    if (known >= 0) return
    before[row] = organization.newest
    organization.newest = row + 1
    hashes.add(row)
    ids.add(row)
    if (canSign(chunk, place)) addSigner(row)
  }

  return {
    put: ({
      created_at,
      description,
      id,
      lookup_hash,
      organization_id,
      revoked_at,
      sealed_digest,
      value_prefix,
      ...shared
    }) =>
      putParts(
        { created_at, description, id, lookup_hash, organization_id, revoked_at, sealed_digest, value_prefix },
        shared
      ),
    putParts,
    reserve: (keys) => {
      room(keys)
      hashes.reserve(keys)
      ids.reserve(keys)
    },
    byHash: (hash) => {
      const wanted = hash.subarray(0, HASH_BYTES)
      const row = hashes.find(codeOfHash(hash), (candidate) =>
        timingSafeEqual(chunkAt(candidate).subarray(placeOf[candidate], placeOf[candidate]! + HASH_BYTES), wanted)
      )
      return row < 0 ? undefined : read(row)
    },
    byId: (id) => {
      const row = find(id)
      return row < 0 ? undefined : read(row)
    },
    ofOrganization: (organizationId) => {
      const keys: Array<KeyRecord> = []
      for (let next = organizations.get(organizationId)?.newest ?? 0; next !== 0; next = before[next - 1]!)
        keys.push(read(next - 1))
      return keys
    },
    signersOf: (prefix) => signersOf(prefix).length,
    signer: (prefix, fits) => {
      for (const row of signersOf(prefix)) {
        const digest = digestAt(row)
        const key = read(row)
        if (digest !== undefined && fits({ key, digest })) return key
      }
      return undefined
    }
  }
}
