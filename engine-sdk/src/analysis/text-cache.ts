/** A bounded cache of results computed from texts, because the titles on a shop's first pages recur in every search. */
import { BoundedMap } from "../bounded-map.ts"

export class TextCache<A> {
  readonly #known: BoundedMap<string, A>
  readonly #make: (text: string) => A
  /** `bytesOf`: size of the result, without the text. */
  constructor(
    make: (text: string) => A,
    { bytesOf, bytes_max }: { readonly bytes_max: number; readonly bytesOf: (made: A) => number }
  ) {
    this.#make = make
    this.#known = new BoundedMap({ bytes_max, bytesOf: (text, made) => text.length * 2 + bytesOf(made) })
  }
  get(text: string): A {
    const known = this.#known.get(text)
    if (known !== undefined) return known
    const made = this.#make(text)
    this.#known.set(text, made)
    return made
  }
}
