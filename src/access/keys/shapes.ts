/** The parts that many keys share (scope, restrictions, rate), each stored once under a number. */
import { type Shared, SHAPES_MAX } from "./key-row.ts"

export class Shapes {
  readonly #shapes: Array<Shared> = []
  readonly #numbers = new Map<string, number>()
  readonly #given = new WeakMap<Shared, number>()

  /** Its number, or its JSON if there are too many distinct ones; the key then stores it in its own row. */
  of(shared: Shared): number | string {
    const given = this.#given.get(shared)
    if (given !== undefined) return given
    const text = JSON.stringify(shared)
    let number = this.#numbers.get(text)
    if (number === undefined) {
      if (this.#shapes.length === SHAPES_MAX) return text
      this.#numbers.set(text, (number = this.#shapes.length))
      this.#shapes.push(shared)
    }
    this.#given.set(shared, number)
    return number
  }

  at(shape: number | string): Shared {
    return typeof shape === "number" ? this.#shapes[shape]! : (JSON.parse(shape) as Shared)
  }
}
