/**
 * Finds the keys that may have signed a secured key: signing keys with the same first characters. If there are more
 * than are tried, each organization's oldest key is tried before any second one: generated keys hardly ever collide,
 * so an organization that crowds a prefix with chosen values only displaces its own keys.
 */
import { prefixCodeAt, prefixCodeOf } from "./key-row.ts"
import type { KeyRows } from "./key-rows.ts"
import { RowChain, RowTable } from "./row-table.ts"

/** Limit of signatures tried for one presented key. */
export const SIGNERS_PER_PREFIX_MAX = 64
/** Number of prefixes with too many keys for which the choice is cached; they result from old, chosen values. */
const CROWDED_MAX = 1_000

/** The first rows, round-robin over their groups: every group's first, every group's second, and so on. O(rows). */
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

export class SignerRows {
  readonly #rows: KeyRows
  /** The newest row of each prefix; `#chain` leads from each row to the previous one with the same prefix. */
  readonly #newest: RowTable
  readonly #chain = new RowChain()
  readonly #crowded = new Map<string, ReadonlyArray<number>>()
  /** Whether a row is not revoked and begins with these characters. */
  readonly #signs: (row: number, prefix: string) => boolean

  constructor(rows: KeyRows, signs: (row: number, prefix: string) => boolean) {
    this.#rows = rows
    this.#signs = signs
    this.#newest = new RowTable((row) => prefixCodeAt(rows.chunkAt(row), rows.placeAt(row)))
  }

  add(row: number): void {
    const code = prefixCodeAt(this.#rows.chunkAt(row), this.#rows.placeAt(row))
    const newest = this.#newestOf(code)
    if (newest < 0) return this.#newest.add(row)
    this.#chain.link(row, newest)
    this.#newest.replace(code, newest, row)
  }

  /** Call when a key with this prefix was added or changed. */
  changed(prefix: string): void {
    this.#crowded.delete(prefix)
  }

  /** Rows that may have signed a key with this prefix, without revoked ones, at most `SIGNERS_PER_PREFIX_MAX`. */
  of(prefix: string): ReadonlyArray<number> {
    const known = this.#crowded.get(prefix)
    if (known !== undefined) return known
    const rows: Array<number> = []
    for (let row = this.#newestOf(prefixCodeOf(prefix)); row >= 0; row = this.#chain.before(row))
      if (this.#signs(row, prefix)) rows.push(row)
    if (rows.length <= SIGNERS_PER_PREFIX_MAX) return rows
    const tried = fairly(rows.reverse(), (row) => this.#rows.read(row).numbers.organization, SIGNERS_PER_PREFIX_MAX)
    if (this.#crowded.size >= CROWDED_MAX) this.#crowded.clear()
    this.#crowded.set(prefix, tried)
    return tried
  }

  reserve(rows: number): void {
    this.#chain.reserve(rows)
  }

  #newestOf(code: number): number {
    return this.#newest.find(code, () => true)
  }
}
