/** Turns rows of a batch into arrays of texts for statements. Pure. */

export const numbers = (values: ReadonlyArray<number>): ReadonlyArray<string> => values.map(String)
/** Empty for an absent value, because arrays of texts contain no null here. */
export const orEmpty = (value: number | string | undefined): string => (value === undefined ? "" : String(value))

/**
 * Sends values that many rows of a batch share only once; each row contains their number (from 1). Arrays of four
 * thousand texts would be a third of a statement's cost.
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
