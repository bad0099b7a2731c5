/**
 * What was computed from a text, kept while there is room: the titles of a shop's first pages come back with every search.
 * Bounded by the characters of its texts; when it is full it starts anew.
 */
export class TextCache<A> {
  readonly #known = new Map<string, A>()
  readonly #make: (text: string) => A
  readonly #charactersMax: number
  #characters = 0
  constructor(make: (text: string) => A, charactersMax: number) {
    this.#make = make
    this.#charactersMax = charactersMax
  }
  get(text: string): A {
    const known = this.#known.get(text)
    if (known !== undefined) return known
    const made = this.#make(text)
    if (this.#characters > this.#charactersMax) { this.#known.clear(); this.#characters = 0 }
    this.#known.set(text, made)
    this.#characters += text.length
    return made
  }
}
