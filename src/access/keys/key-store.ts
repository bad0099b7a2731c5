/**
 * Keys in memory, packed (`key-row.ts`): an installation has a hundred per organization, and nearly all are idle. A
 * packed key takes some 100 bytes plus its share of the tables; an object would take a kilobyte. The part that many
 * keys share (scope, restrictions, rate) is stored once. Keys in use stay unpacked, up to `UNPACKED_MAX`.
 *
 * Signing material stays sealed until a signature with it is checked, because opening a million seals would take many
 * seconds at start. The `UNPACKED_MAX` most recent are kept open.
 *
 * Rows are appended, and a changed row is written again. Keys change only once, when they are revoked, so at most
 * half of the memory is wasted.
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
  SEAL_BYTES,
  type Shared
} from "./key-row.ts"
import { KeyRows } from "./key-rows.ts"
import { RowChain, RowTable } from "./row-table.ts"
import { Shapes } from "./shapes.ts"
import { SignerRows } from "./signer-rows.ts"

const UNPACKED_MAX = 10_000

interface Signer {
  readonly key: KeyRecord
  readonly digest: Uint8Array
}

export interface KeyStore {
  /** Adds or replaces a key. */
  readonly put: (key: KeyRecord) => void
  /** The same in two parts, for bulk loading: a part passed as the same object is not examined again. */
  readonly putParts: (own: OwnPart, shared: Shared) => void
  /** Announces about how many keys will follow, so that memory is reserved once, and no more than needed. */
  readonly reserve: (keys: number) => void
  /**
   * By the look-up hash, in constant time, including revoked keys. For a key in memory, only the first half of the
   * hash is stored.
   */
  readonly byHash: (hash: Buffer) => KeyRecord | undefined
  readonly byId: (id: string) => KeyRecord | undefined
  /** Includes revoked keys, the newest first. O(keys of the organization). */
  readonly ofOrganization: (organizationId: string) => ReadonlyArray<KeyRecord>
  /** How many unrevoked signing keys begin with these characters, counted up to `SIGNERS_PER_PREFIX_MAX`. */
  readonly signersOf: (prefix: string) => number
  /**
   * The unrevoked signing key that begins with these characters and fits; at most `SIGNERS_PER_PREFIX_MAX` are tried
   * (`signer-rows.ts` chooses them).
   */
  readonly signer: (prefix: string, fits: (signer: Signer) => boolean) => KeyRecord | undefined
}

/** Opens the digest inside a seal; undefined if that fails. */
type OpenSeal = (sealed: string, keyId: string) => Uint8Array | undefined

class PackedKeyStore implements KeyStore {
  readonly #open: OpenSeal
  readonly #shapes = new Shapes()
  readonly #rows = new KeyRows()
  readonly #hashes = new RowTable((row) => codeOfHash(this.#rows.chunkAt(row), this.#rows.placeAt(row)))
  readonly #ids = new RowTable((row) => idCodeAt(this.#rows.chunkAt(row), this.#rows.placeAt(row)))
  readonly #signers = new SignerRows(this.#rows, (row, prefix) => this.#signs(row, prefix))
  readonly #organizationIds: Array<string> = []
  readonly #organizations = new Map<string, { readonly number: number; newest: number }>()
  /** For each row, the previous row of the same organization. */
  readonly #ofOrganization = new RowChain()
  readonly #unpacked = new Map<number, KeyRecord>()
  readonly #opened = new Map<number, Uint8Array>()

  constructor(open: OpenSeal) {
    this.#open = open
  }

  readonly put: KeyStore["put"] = ({
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
    this.putParts(
      { created_at, description, id, lookup_hash, organization_id, revoked_at, sealed_digest, value_prefix },
      shared
    )

  readonly putParts: KeyStore["putParts"] = (own, shared) => {
    const organization = this.#organizationOf(own.organization_id)
    const form = idForm(own.id)
    const known = this.#find(form)
    if (known >= 0) {
      this.#unpacked.delete(known)
      this.#opened.delete(known)
    }
    const numbers = { organization: organization.number, shape: this.#shapes.of(shared), seal: this.#sealOf(own) }
    const row = this.#rows.write(known, own, form, numbers)
    if (row < 0) return
    const isSigner = canSign(this.#rows.chunkAt(row), this.#rows.placeAt(row))
    if (isSigner) this.#signers.changed(own.value_prefix)
    if (known >= 0) return
    this.#ofOrganization.link(row, organization.newest)
    organization.newest = row
    this.#hashes.add(row)
    this.#ids.add(row)
    if (isSigner) this.#signers.add(row)
  }

  readonly reserve: KeyStore["reserve"] = (keys) => {
    this.#rows.reserve(keys)
    this.#ofOrganization.reserve(keys)
    this.#signers.reserve(keys)
    this.#hashes.reserve(keys)
    this.#ids.reserve(keys)
  }

  readonly byHash: KeyStore["byHash"] = (hash) => {
    const wanted = hash.subarray(0, HASH_BYTES)
    const row = this.#hashes.find(codeOfHash(hash), (candidate) => {
      const place = this.#rows.placeAt(candidate)
      return timingSafeEqual(this.#rows.chunkAt(candidate).subarray(place, place + HASH_BYTES), wanted)
    })
    return row < 0 ? undefined : this.#read(row)
  }

  readonly byId: KeyStore["byId"] = (id) => {
    const row = this.#find(idForm(id))
    return row < 0 ? undefined : this.#read(row)
  }

  readonly ofOrganization: KeyStore["ofOrganization"] = (organizationId) => {
    const keys: Array<KeyRecord> = []
    for (
      let row = this.#organizations.get(organizationId)?.newest ?? -1;
      row >= 0;
      row = this.#ofOrganization.before(row)
    )
      keys.push(this.#read(row))
    return keys
  }

  readonly signersOf: KeyStore["signersOf"] = (prefix) => this.#signers.of(prefix).length

  readonly signer: KeyStore["signer"] = (prefix, fits) => {
    for (const row of this.#signers.of(prefix)) {
      const digest = this.#digestAt(row)
      const key = this.#read(row)
      if (digest !== undefined && fits({ key, digest })) return key
    }
    return undefined
  }

  #organizationOf(id: string): { readonly number: number; newest: number } {
    let organization = this.#organizations.get(id)
    if (organization === undefined) {
      this.#organizations.set(id, (organization = { number: this.#organizationIds.length, newest: -1 }))
      this.#organizationIds.push(id)
    }
    return organization
  }

  #find(form: ReturnType<typeof idForm>): number {
    return this.#ids.find(form.code, (row) => hasId(this.#rows.chunkAt(row), this.#rows.placeAt(row), form))
  }

  #read(row: number): KeyRecord {
    const known = this.#unpacked.get(row)
    if (known !== undefined) return known
    const { numbers, own } = this.#rows.read(row)
    const key: KeyRecord = {
      ...this.#shapes.at(numbers.shape),
      ...own,
      sealed_digest: undefined,
      organization_id: this.#organizationIds[numbers.organization]!
    }
    if (this.#unpacked.size >= UNPACKED_MAX) this.#unpacked.clear()
    this.#unpacked.set(row, key)
    return key
  }

  #signs(row: number, prefix: string): boolean {
    const own = this.#unpacked.get(row) ?? this.#rows.read(row).own
    return own.revoked_at === undefined && own.value_prefix === prefix
  }

  #sealOf({ id, sealed_digest }: OwnPart): Uint8Array | undefined {
    if (sealed_digest === undefined) return undefined
    const seal = Buffer.from(sealed_digest, "base64")
    if (seal.length === SEAL_BYTES) return seal
    // A seal of another length is invalid: opening it logs the failure, and the key verifies no signatures.
    this.#open(sealed_digest, id)
    return undefined
  }

  #digestAt(row: number): Uint8Array | undefined {
    const known = this.#opened.get(row)
    if (known !== undefined) return known
    const { numbers, own } = this.#rows.read(row)
    const digest =
      numbers.seal === undefined ? undefined : this.#open(Buffer.from(numbers.seal).toString("base64"), own.id)
    if (digest === undefined) return undefined
    if (this.#opened.size >= UNPACKED_MAX) this.#opened.clear()
    this.#opened.set(row, digest)
    return digest
  }
}

/** `open` is called when a key's signature is first used, and again after the opened digest was evicted. */
export const makeKeyStore = (open: OpenSeal): KeyStore => new PackedKeyStore(open)
