/**
 * Maps document ids to small integers and back. When all numbers are taken, those of items without events are reused;
 * an id for which none is free is not stored.
 */
export class ItemTable {
  readonly #itemsMax: number
  readonly #numbers = new Map<string, number>()
  readonly #ids: Array<string | undefined> = []
  #free: Array<number> = []
  #characters = 0

  constructor(itemsMax: number) {
    this.#itemsMax = itemsMax
  }
  get size(): number {
    return this.#numbers.size
  }
  /** Approximate memory of a text with its entries in the map and the array. */
  get bytes(): number {
    return this.#characters + 80 * this.#ids.length
  }
  find(id: string): number | undefined {
    return this.#numbers.get(id)
  }
  idOf(number: number): string {
    return this.#ids[number] ?? ""
  }
  /** The number of an id, a new one if needed; undefined if none is free. `isUsed` is only called in that case. */
  numberOf(id: string, isUsed: (number: number) => boolean): number | undefined {
    const known = this.#numbers.get(id)
    if (known !== undefined) return known
    if (this.#ids.length < this.#itemsMax) return this.#keep(this.#ids.length, id)
    if (this.#free.length === 0) this.#collect(isUsed)
    const free = this.#free.pop()
    return free === undefined ? undefined : this.#keep(free, id)
  }
  #keep(number: number, id: string): number {
    this.#ids[number] = id
    this.#numbers.set(id, number)
    this.#characters += id.length
    return number
  }
  #collect(isUsed: (number: number) => boolean): void {
    this.#ids.forEach((id, number) => {
      if (id === undefined || isUsed(number)) return
      this.#numbers.delete(id)
      this.#characters -= id.length
      this.#ids[number] = undefined
      this.#free.push(number)
    })
  }
  image(): ReadonlyArray<string | undefined> {
    return this.#ids
  }
  static of(itemsMax: number, ids: ReadonlyArray<string | null | undefined>): ItemTable {
    const table = new ItemTable(itemsMax)
    ids.forEach((id, number) => {
      if (typeof id === "string") table.#keep(number, id)
      else {
        table.#ids[number] = undefined
        table.#free.push(number)
      }
    })
    return table
  }
}
