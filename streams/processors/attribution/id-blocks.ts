/**
 * Event ids in the store: blocks of fingerprints, by the day of their admission. A snapshot adds the new ids as one
 * block, merged with the day's blocks that are not much larger, so that a day has few blocks however many snapshots it
 * saw, and an id is rewritten only a few times. Blocks of days before the window are removed.
 */
import { FINGERPRINT_WORDS } from "@dowser/log/fingerprint"
import type { StateStore } from "../../state/state.ts"

const DAY_MS = 86_400_000
const BLOCK_BYTES_MAX = 1024 * 1024

/**
 * How many of a day's newest blocks are merged into a fresh one. `sizes` and `fresh` in bytes, oldest first. Each
 * remaining block is more than twice the next, or full together with it: at most log2(BLOCK_BYTES_MAX / bytes of an id)
 * blocks and two per megabyte.
 */
export const absorbedBlocks = (sizes: ReadonlyArray<number>, fresh: number): number => {
  let merged = fresh
  let count = 0
  for (let i = sizes.length - 1; i >= 0; i--) {
    const size = sizes[i]!
    if (size > 2 * merged || size + merged > BLOCK_BYTES_MAX) break
    merged += size
    count++
  }
  return count
}

/** Words, and how many are in use. */
interface Fresh {
  words: Uint32Array
  length: number
}
interface Block {
  readonly key: string
  readonly bytes: number
}

export class IdBlocks {
  readonly #store: StateStore
  readonly #prefix: string
  /** Blocks in the store by day, oldest first. */
  readonly #days = new Map<number, Array<Block>>()
  /** Words admitted since the last snapshot, by day. */
  #fresh = new Map<number, Fresh>()
  #next = 0

  /** `restore` receives every stored block: its words, id after id, and the start of its day (ms). */
  constructor(store: StateStore, prefix: string, restore: (words: Uint32Array, day_at: number) => void) {
    this.#store = store
    this.#prefix = prefix
    for (const [key, value] of store.scan(prefix)) {
      const [day, block] = key.slice(prefix.length).split(".").map(Number)
      this.#next = Math.max(this.#next, block! + 1)
      this.#blocksOf(day!).push({ key, bytes: value.length })
      restore(new Uint32Array(value.slice().buffer), day! * DAY_MS)
    }
  }

  get count(): number {
    let count = 0
    for (const blocks of this.#days.values()) count += blocks.length
    return count
  }

  #blocksOf(day: number): Array<Block> {
    let blocks = this.#days.get(day)
    if (blocks === undefined) this.#days.set(day, (blocks = []))
    return blocks
  }

  /** Keeps the id at `words[at]` with the next snapshot. */
  add(words: Uint32Array, at: number, now: number): void {
    const day = Math.floor(now / DAY_MS)
    let fresh = this.#fresh.get(day)
    if (fresh === undefined)
      this.#fresh.set(day, (fresh = { words: new Uint32Array(1_024 * FINGERPRINT_WORDS), length: 0 }))
    if (fresh.length === fresh.words.length) {
      const wider = new Uint32Array(2 * fresh.words.length)
      wider.set(fresh.words)
      fresh.words = wider
    }
    for (let i = 0; i < FINGERPRINT_WORDS; i++) fresh.words[fresh.length++] = words[at + i]!
  }

  /**
   * What a snapshot writes. Drops days that ended before `keptFrom` (ms). O(new ids + the merged blocks, at most 1 MB a
   * day).
   */
  takeWrites(keptFrom: number): Array<readonly [string, Uint8Array | undefined]> {
    const writes: Array<readonly [string, Uint8Array | undefined]> = []
    for (const [day, { length, words }] of this.#fresh) {
      const blocks = this.#blocksOf(day)
      const fresh = new Uint8Array(words.buffer, 0, length * words.BYTES_PER_ELEMENT)
      const absorbed = blocks.splice(
        blocks.length -
          absorbedBlocks(
            blocks.map(({ bytes }) => bytes),
            fresh.length
          )
      )
      const value = Buffer.concat([...absorbed.map(({ key }) => this.#store.get(key)!), fresh])
      for (const { key } of absorbed) writes.push([key, undefined])
      // Zero-padded so that keys sort in block order.
      const key = `${this.#prefix}${day}.${String(this.#next++).padStart(12, "0")}`
      writes.push([key, value])
      blocks.push({ key, bytes: value.length })
    }
    this.#fresh = new Map()
    for (const [day, blocks] of this.#days) {
      if ((day + 1) * DAY_MS > keptFrom) continue
      for (const { key } of blocks) writes.push([key, undefined])
      this.#days.delete(day)
    }
    return writes
  }
}
