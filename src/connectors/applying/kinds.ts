/** How rows of a batch become arrays of texts, of which statements are made. Pure. */

export const numbers = (values: ReadonlyArray<number>): ReadonlyArray<string> => values.map(String)
/** Empty for none: arrays of texts hold no null here. */
export const orEmpty = (value: number | string | undefined): string => (value === undefined ? "" : String(value))

/**
 * What rows of a batch have in common is sent once, and of each row its number (from 1): arrays of four thousand texts
 * are a third of what a statement costs.
 */
export class Kinds<A> {
  readonly #partsOf: (one: A) => ReadonlyArray<string>
  readonly #numbers = new Map<string, string>()
  readonly #parts: Array<ReadonlyArray<string>> = []
  constructor(partsOf: (one: A) => ReadonlyArray<string>) {
    this.#partsOf = partsOf
  }
  readonly of = (one: A): string => {
    const parts = this.#partsOf(one)
    const key = parts.join("\u0000")
    let number = this.#numbers.get(key)
    if (number === undefined) {
      this.#parts.push(parts)
      this.#numbers.set(key, (number = String(this.#parts.length)))
    }
    return number
  }
  column(at: number): ReadonlyArray<string> {
    return this.#parts.map((parts) => parts[at]!)
  }
}
