/** A growing list of integers, four bytes each. */
export class IntList {
  #items = new Int32Array(1_024)
  length = 0
  push(item: number): void {
    if (this.length === this.#items.length) {
      const more = new Int32Array(2 * this.length)
      more.set(this.#items)
      this.#items = more
    }
    this.#items[this.length++] = item
  }
  at(i: number): number {
    return this.#items[i]!
  }
  add(i: number, n: number): void {
    this.#items[i]! += n
  }
}
