/**
 * A key's own part as bytes: about 70, and 60 more if it signs. Written directly into its final memory and read by
 * position: a million of them are written at start, and creating an object for each would be most of the work.
 *
 * Hash (16) · kinds (1) · organization (4) · shape (2) · created (8) · prefix · id · description · revoked (8) · seal
 * (60) · shape as JSON. Numbers are little-endian. Texts are preceded by their length in bytes, except an id that is
 * a ULID (16). The parts from `revoked` on are present if the key's kinds say so.
 */
import type { KeyRecord } from "../../identity/key-record.ts"

/** Bytes of the look-up hash: 128 bits identify a key. */
export const HASH_BYTES = 16
/** Bytes of a sealed digest: nonce, tag, digest. */
export const SEAL_BYTES = 60
const ULID_BYTES = 16,
  ULID_CHARACTERS = 26,
  ULID_PREFIX = "key_"
const HAS_ULID = 1,
  HAS_SEAL = 2,
  IS_REVOKED = 4,
  HAS_OWN_SHAPE = 8
const KINDS_AT = HASH_BYTES,
  ORGANIZATION_AT = KINDS_AT + 1,
  SHAPE_AT = ORGANIZATION_AT + 4,
  CREATED_AT = SHAPE_AT + 2,
  PREFIX_AT = CREATED_AT + 8
/**
 * Number of distinct shapes that get a two-byte number. A key with another shape stores it in its own row, which is
 * cheaper than keeping the shape in memory.
 */
export const SHAPES_MAX = 20_000

type OwnName =
  | "created_at"
  | "description"
  | "id"
  | "lookup_hash"
  | "organization_id"
  | "revoked_at"
  | "sealed_digest"
  | "value_prefix"
export type OwnPart = Pick<KeyRecord, OwnName>
/** The part that many keys share. */
export type Shared = Omit<KeyRecord, OwnName>

const encoder = new TextEncoder(),
  decoder = new TextDecoder()
/** The value of each character by its code; 255 if it is not in the alphabet. */
const valuesOf = (alphabet: string): Uint8Array => {
  const values = new Uint8Array(128).fill(255)
  for (let i = 0; i < alphabet.length; i++) values[alphabet.charCodeAt(i)] = i
  return values
}
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
const crockfordValues = valuesOf(crockford)
const hexValues = valuesOf("0123456789abcdef")
const hexOfByte: ReadonlyArray<string> = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"))
const valueAt = (values: Uint8Array, text: string, at: number): number => {
  const code = text.charCodeAt(at)
  return code < 128 ? values[code]! : 255
}

/** Murmur's last step: every output bit depends on every input bit. */
const mixed = (word: number): number => {
  let code = Math.imul(word ^ (word >>> 16), 0x85ebca6b)
  code = Math.imul(code ^ (code >>> 13), 0xc2b2ae35)
  return (code ^ (code >>> 16)) >>> 0
}
/** FNV-1a of bytes. */
const codeOfBytes = (bytes: Uint8Array, from = 0, to = bytes.length): number => {
  let code = 0x811c9dc5
  for (let i = from; i < to; i++) code = Math.imul(code ^ bytes[i]!, 0x01000193)
  return mixed(code)
}
/** The first four bytes of a hash are already well distributed. */
export const codeOfHash = (bytes: Uint8Array, from = 0): number =>
  (bytes[from]! | (bytes[from + 1]! << 8) | (bytes[from + 2]! << 16) | (bytes[from + 3]! << 24)) >>> 0

const ulidScratch = new Uint8Array(ULID_BYTES)
/** The bytes of the ULID in the id of a key, valid until the next call; undefined for an id of another form. */
const ulidBytes = (id: string): Uint8Array | undefined => {
  if (
    id.length !== ULID_PREFIX.length + ULID_CHARACTERS ||
    !id.startsWith(ULID_PREFIX) ||
    valueAt(crockfordValues, id, ULID_PREFIX.length) > 7
  )
    return undefined
  // 26 characters have two bits more than 16 bytes; the first character does not use them.
  let bits = 0,
    held = -2
  for (let i = 0, to = 0; i < ULID_CHARACTERS; i++) {
    const value = valueAt(crockfordValues, id, ULID_PREFIX.length + i)
    if (value === 255) return undefined
    bits = ((bits << 5) | value) & 0xfff
    held += 5
    if (held >= 8) ulidScratch[to++] = bits >> (held -= 8)
  }
  return ulidScratch
}
const idOfUlid = (bytes: Uint8Array, from: number): string => {
  let text = ULID_PREFIX,
    bits = 0,
    held = 2
  for (let i = from; i < from + ULID_BYTES; i++) {
    bits = ((bits << 8) | bytes[i]!) & 0xffff
    held += 8
    for (; held >= 5; held -= 5) text += crockford[(bits >> (held - 5)) & 31]
  }
  return text
}

/** The bytes that identify a row's id. Valid until the next call. */
interface IdForm {
  readonly bytes: Uint8Array
  readonly isUlid: boolean
  readonly code: number
}
export const idForm = (id: string): IdForm => {
  const ulid = ulidBytes(id)
  const bytes = ulid ?? encoder.encode(id)
  return { bytes, isUlid: ulid !== undefined, code: codeOfBytes(bytes) }
}

/** The maximum number of bytes that the row of this part takes. */
export const rowBytesMax = ({ description, id, value_prefix }: OwnPart, ownShape: string | undefined): number =>
  PREFIX_AT +
  3 * (description.length + id.length + value_prefix.length + (ownShape?.length ?? 0)) +
  4 * 5 +
  8 +
  SEAL_BYTES

/** Current position of reading or writing. Rows are processed one after the other, so one position is enough. */
let at = 0
const putLength = (to: Uint8Array, length: number): void => {
  let rest = length
  for (; rest > 127; rest >>>= 7) to[at++] = (rest & 127) | 128
  to[at++] = rest
}
const getLength = (from: Uint8Array): number => {
  let length = 0
  for (let shift = 0; ; shift += 7) {
    const byte = from[at++]!
    length |= (byte & 127) << shift
    if (byte < 128) return length
  }
}
const putText = (to: Uint8Array, text: string): void => {
  const start = at
  putLength(to, text.length)
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code > 127) {
      at = start
      const bytes = encoder.encode(text)
      putLength(to, bytes.length)
      to.set(bytes, at)
      at += bytes.length
      return
    }
    to[at++] = code
  }
}
const getText = (from: Uint8Array): string => {
  const end = getLength(from) + at
  let text = ""
  for (let i = at; i < end; i++) {
    const byte = from[i]!
    if (byte > 127) {
      text = decoder.decode(from.subarray(at, end))
      break
    }
    text += String.fromCharCode(byte)
  }
  at = end
  return text
}
const skipText = (from: Uint8Array): void => {
  const length = getLength(from)
  at += length
}
const float = new Float64Array(1),
  floatBytes = new Uint8Array(float.buffer)
const putFloat = (to: Uint8Array, value: number): void => {
  float[0] = value
  to.set(floatBytes, at)
  at += 8
}
const getFloat = (from: Uint8Array, place: number): number => {
  for (let i = 0; i < 8; i++) floatBytes[i] = from[place + i]!
  return float[0]!
}

interface RowNumbers {
  readonly organization: number
  /** The shape's number, or the shape itself as JSON. */ readonly shape: number | string
  readonly seal: Uint8Array | undefined
}
/** Writes the row at `place`, where `rowBytesMax` bytes are free, and returns its end. */
export const writeRow = (
  to: Uint8Array,
  place: number,
  { created_at, description, id, lookup_hash, revoked_at, value_prefix }: OwnPart,
  form: IdForm,
  { organization, seal, shape }: RowNumbers
): number => {
  for (let i = 0; i < HASH_BYTES; i++)
    to[place + i] = (valueAt(hexValues, lookup_hash, 2 * i) << 4) | valueAt(hexValues, lookup_hash, 2 * i + 1)
  to[place + KINDS_AT] =
    (form.isUlid ? HAS_ULID : 0) |
    (seal === undefined ? 0 : HAS_SEAL) |
    (revoked_at === undefined ? 0 : IS_REVOKED) |
    (typeof shape === "string" ? HAS_OWN_SHAPE : 0)
  for (let i = 0; i < 4; i++) to[place + ORGANIZATION_AT + i] = organization >>> (8 * i)
  const shapeNumber = typeof shape === "number" ? shape : 0
  to[place + SHAPE_AT] = shapeNumber
  to[place + SHAPE_AT + 1] = shapeNumber >>> 8
  at = place + CREATED_AT
  putFloat(to, created_at)
  putText(to, value_prefix)
  if (form.isUlid) {
    to.set(form.bytes, at)
    at += ULID_BYTES
  } else putText(to, id)
  putText(to, description)
  if (revoked_at !== undefined) putFloat(to, revoked_at)
  if (seal !== undefined) {
    to.set(seal, at)
    at += SEAL_BYTES
  }
  if (typeof shape === "string") putText(to, shape)
  return at
}

const afterPrefix = (from: Uint8Array, place: number): void => {
  at = place + PREFIX_AT
  skipText(from)
}
export const prefixCodeAt = (from: Uint8Array, place: number): number => {
  at = place + PREFIX_AT
  const length = getLength(from)
  return codeOfBytes(from, at, at + length)
}
const prefixScratch = new Uint8Array(16)
export const prefixCodeOf = (prefix: string): number => {
  for (let i = 0; i < prefix.length; i++) {
    const code = prefix.charCodeAt(i)
    if (code > 127 || i === prefixScratch.length) return codeOfBytes(encoder.encode(prefix))
    prefixScratch[i] = code
  }
  return codeOfBytes(prefixScratch, 0, prefix.length)
}
export const idCodeAt = (from: Uint8Array, place: number): number => {
  afterPrefix(from, place)
  const length = (from[place + KINDS_AT]! & HAS_ULID) !== 0 ? ULID_BYTES : getLength(from)
  return codeOfBytes(from, at, at + length)
}
export const hasId = (from: Uint8Array, place: number, { bytes, isUlid }: IdForm): boolean => {
  if (((from[place + KINDS_AT]! & HAS_ULID) !== 0) !== isUlid) return false
  afterPrefix(from, place)
  if (!isUlid && getLength(from) !== bytes.length) return false
  for (let i = 0; i < bytes.length; i++) if (from[at + i] !== bytes[i]) return false
  return true
}
export const canSign = (from: Uint8Array, place: number): boolean => (from[place + KINDS_AT]! & HAS_SEAL) !== 0

/** The row at `place`, and its end. */
interface Row {
  readonly own: Omit<OwnPart, "organization_id" | "sealed_digest">
  readonly numbers: RowNumbers
  readonly end: number
}
export const readRow = (from: Uint8Array, place: number): Row => {
  const kinds = from[place + KINDS_AT]!
  let lookup_hash = ""
  for (let i = 0; i < HASH_BYTES; i++) lookup_hash += hexOfByte[from[place + i]!]!
  at = place + PREFIX_AT
  const value_prefix = getText(from)
  let id: string
  if ((kinds & HAS_ULID) === 0) id = getText(from)
  else {
    id = idOfUlid(from, at)
    at += ULID_BYTES
  }
  const description = getText(from)
  const revoked_at = (kinds & IS_REVOKED) === 0 ? undefined : getFloat(from, at)
  if (revoked_at !== undefined) at += 8
  const seal = (kinds & HAS_SEAL) === 0 ? undefined : from.subarray(at, (at += SEAL_BYTES))
  const shape =
    (kinds & HAS_OWN_SHAPE) === 0 ? from[place + SHAPE_AT]! | (from[place + SHAPE_AT + 1]! << 8) : getText(from)
  return {
    own: { id, description, value_prefix, lookup_hash, created_at: getFloat(from, place + CREATED_AT), revoked_at },
    numbers: { organization: codeOfHash(from, place + ORGANIZATION_AT), shape, seal },
    end: at
  }
}
