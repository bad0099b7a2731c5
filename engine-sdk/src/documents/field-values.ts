/** What a document has to be indexed, by field. */
import type { IndexValue } from "./coerce.ts"

/** A field without a value is absent. */
export interface IndexValues {
  get(name: string): IndexValue | undefined
  has(name: string): boolean
}

/** More values than this are looked up by a table. */
const SCANNED_MAX = 32

/**
 * The values in the order in which they were set, each name once. Readers request them in nearly the same order, that
 * of the schema, so most requests are answered by the value after the last one. A `Map` would grow four times while it
 * is filled, for every document of an import (docs/performance-log.md).
 */
export class FieldValues implements IndexValues {
  readonly #names: string[] = []
  readonly #values: IndexValue[] = []
  #next = 0
  #table: Map<string, number> | undefined
  set(name: string, value: IndexValue): void {
    this.#names.push(name)
    this.#values.push(value)
    this.#table = undefined
  }
  get(name: string): IndexValue | undefined {
    const next = this.#next
    const at = next < this.#names.length && this.#names[next] === name ? next : this.#find(name)
    if (at < 0) return undefined
    this.#next = at + 1
    return this.#values[at]
  }
  has(name: string): boolean {
    return this.#find(name) >= 0
  }
  #find(name: string): number {
    if (this.#names.length <= SCANNED_MAX) return this.#names.indexOf(name)
    this.#table ??= new Map(this.#names.map((each, at) => [each, at]))
    return this.#table.get(name) ?? -1
  }
}
