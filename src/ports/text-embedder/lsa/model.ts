/**
 * A trained model: a vector for each feature, weighted by how rare the feature is, one byte per number. A text's vector
 * is the sum over its features, scaled to unit length (folding in: Deerwester et al., 1990). Its bytes are what is
 * stored, and a field is pinned to their hash.
 *
 * Bytes: the length of the header (4), the header (JSON), features (UTF-8, one per line), a scale for each (f32), its
 * numbers (i8). Little-endian.
 */
import { createHash } from "node:crypto"
import { featuresOf } from "./features.ts"

export const LSA_NAME = "dowser/lsa"
export const DIMENSIONS = 64
/** Maximum number of characters that are read of a text. */
export const CHARACTERS_MAX = 8_192
const FORMAT = 1
const LEVELS = 127

interface Header {
  readonly format: number
  /** Number of documents that it was trained on. */ readonly documents: number
  readonly features: number
  readonly textBytes: number
}
export interface Trained {
  readonly documents: number
  /** Average length of a document. */ readonly characters: number
  readonly features: ReadonlyArray<string>
  /** One row of `DIMENSIONS` numbers per feature. */ readonly vectors: Float32Array
}

export const encodeModel = ({ documents, features, vectors }: Omit<Trained, "characters">): Uint8Array => {
  const text = Buffer.from(features.join("\n"))
  const header: Header = { format: FORMAT, documents, features: features.length, textBytes: text.length }
  const head = Buffer.from(JSON.stringify(header))
  const scales = Buffer.alloc(4 * features.length)
  const numbers = Buffer.alloc(DIMENSIONS * features.length)
  for (let row = 0; row < features.length; row++) {
    const own = vectors.subarray(row * DIMENSIONS, (row + 1) * DIMENSIONS)
    const scale = own.reduce((most, x) => Math.max(most, Math.abs(x)), 0) / LEVELS
    scales.writeFloatLE(scale, 4 * row)
    own.forEach((x, k) => numbers.writeInt8(scale === 0 ? 0 : Math.round(x / scale), row * DIMENSIONS + k))
  }
  const length = Buffer.alloc(4)
  length.writeUInt32LE(head.length)
  return Buffer.concat([length, head, text, scales, numbers])
}
export const hashOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")

export class LsaModel {
  readonly #rows = new Map<string, number>()
  readonly #scales: Float32Array
  readonly #numbers: Int8Array
  readonly documents: number
  /** Approximate size in memory. */ readonly bytes: number

  /** Throws if the bytes are not a model. */
  constructor(stored: Uint8Array) {
    const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength)
    const at = 4 + bytes.readUInt32LE(0)
    const { documents, features, format, textBytes } = JSON.parse(bytes.toString("utf8", 4, at)) as Header
    const scalesAt = at + textBytes
    const numbersAt = scalesAt + 4 * features
    if (format !== FORMAT || bytes.length !== numbersAt + DIMENSIONS * features)
      throw new Error("no model of this kind")
    if (features > 0)
      for (const [row, feature] of bytes.toString("utf8", at, scalesAt).split("\n").entries())
        this.#rows.set(feature, row)
    if (this.#rows.size !== features) throw new Error("a model with another number of features")
    this.#scales = Float32Array.from({ length: features }, (_, row) => bytes.readFloatLE(scalesAt + 4 * row))
    this.#numbers = Int8Array.from(bytes.subarray(numbersAt))
    this.documents = documents
    this.bytes = bytes.length + 80 * features
  }

  /** `known`: how many features of the text the model knows; a text without any has the zero vector. O(characters). */
  embed(text: string): { readonly vector: Float32Array; readonly known: number } {
    const counts = new Map<number, number>()
    for (const feature of featuresOf(text.slice(0, CHARACTERS_MAX))) {
      const row = this.#rows.get(feature)
      if (row !== undefined) counts.set(row, (counts.get(row) ?? 0) + 1)
    }
    const vector = new Float32Array(DIMENSIONS)
    for (const [row, n] of counts) {
      const weight = (1 + Math.log(n)) * this.#scales[row]!
      for (let k = 0; k < DIMENSIONS; k++) vector[k]! += weight * this.#numbers[row * DIMENSIONS + k]!
    }
    const length = Math.hypot(...vector)
    if (length > 0) for (let k = 0; k < DIMENSIONS; k++) vector[k]! /= length
    return { vector, known: counts.size }
  }
}
