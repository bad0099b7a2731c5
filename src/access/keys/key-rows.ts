/** Keys as bytes (`key-row.ts`), appended to large chunks; each row's chunk and position are recorded. */
import { type OwnPart, readRow, rowBytesMax, writeRow } from "./key-row.ts"
import { grown } from "./row-table.ts"

const CHUNK_BYTES = 1 << 20

export class KeyRows {
  readonly #chunks: Array<Uint8Array> = []
  #end = CHUNK_BYTES
  #count = 0
  #chunkOf: Uint16Array = new Uint16Array(1_024)
  #placeOf: Uint32Array = new Uint32Array(1_024)

  chunkAt(row: number): Uint8Array {
    return this.#chunks[this.#chunkOf[row]!]!
  }
  placeAt(row: number): number {
    return this.#placeOf[row]!
  }
  read(row: number): ReturnType<typeof readRow> {
    return readRow(this.chunkAt(row), this.#placeOf[row]!)
  }

  /** Reserves positions for this total number of rows. */
  reserve(rows: number): void {
    if (rows <= this.#chunkOf.length) return
    this.#chunkOf = grown(this.#chunkOf, new Uint16Array(rows))
    this.#placeOf = grown(this.#placeOf, new Uint32Array(rows))
  }

  /**
   * Appends a key; `known` is its existing row, or -1 for a new key. Returns the row, or -1 if the existing bytes are
   * the same and nothing is written.
   */
  write(
    known: number,
    own: OwnPart,
    form: Parameters<typeof writeRow>[3],
    numbers: Parameters<typeof writeRow>[4]
  ): number {
    const bytesMax = rowBytesMax(own, typeof numbers.shape === "string" ? numbers.shape : undefined)
    if (this.#end + bytesMax > (this.#chunks.at(-1)?.length ?? 0)) {
      this.#chunks.push(new Uint8Array(Math.max(CHUNK_BYTES, bytesMax)))
      this.#end = 0
    }
    const chunk = this.#chunks.at(-1)!
    const place = this.#end
    const end = writeRow(chunk, place, own, form, numbers)
    // Everything is re-read from time to time, and unchanged keys must take no space.
    if (known >= 0 && this.#isRow(known, chunk.subarray(place, end))) return -1
    this.#end = end
    const row = known >= 0 ? known : this.#count++
    if (row >= this.#chunkOf.length) this.reserve(this.#chunkOf.length * 2)
    this.#chunkOf[row] = this.#chunks.length - 1
    this.#placeOf[row] = place
    return row
  }

  /** Whether the bytes of a chunk between two positions are exactly the row. */
  #isRow(row: number, bytes: Uint8Array): boolean {
    const chunk = this.chunkAt(row)
    const place = this.#placeOf[row]!
    for (let i = 0; i < bytes.length; i++) if (chunk[place + i] !== bytes[i]) return false
    return readRow(chunk, place).end - place === bytes.length
  }
}
