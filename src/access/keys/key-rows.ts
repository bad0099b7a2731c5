/** Keys as bytes (`key-row.ts`), appended to large chunks; of each row its chunk and its place there are known. */
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

  /** Room for the places of so many rows in all. */
  reserve(rows: number): void {
    if (rows <= this.#chunkOf.length) return
    this.#chunkOf = grown(this.#chunkOf, new Uint16Array(rows))
    this.#placeOf = grown(this.#placeOf, new Uint32Array(rows))
  }

  /**
   * Writes a key behind all others, as `known` where it is one that is there (-1 for a new one). Answers its row; -1
   * where the same bytes stand there already, which are not written again.
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
    // Everything is read again now and then: what is the same takes no room.
    if (known >= 0 && this.#isRow(known, chunk.subarray(place, end))) return -1
    this.#end = end
    const row = known >= 0 ? known : this.#count++
    if (row >= this.#chunkOf.length) this.reserve(this.#chunkOf.length * 2)
    this.#chunkOf[row] = this.#chunks.length - 1
    this.#placeOf[row] = place
    return row
  }

  /** What stands in a chunk from one place to another is the row, to the byte. */
  #isRow(row: number, bytes: Uint8Array): boolean {
    const chunk = this.chunkAt(row)
    const place = this.#placeOf[row]!
    for (let i = 0; i < bytes.length; i++) if (chunk[place + i] !== bytes[i]) return false
    return readRow(chunk, place).end - place === bytes.length
  }
}
