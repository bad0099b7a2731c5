/** Records of the existing collections, by number and by name. */
import type { Namespace } from "../engine.ts"
import type { CollectionRecord } from "./journal.ts"

export class KnownRecords {
  readonly #records = new Map<number, CollectionRecord>()
  readonly #byName = new Map<Namespace, Map<string, number>>()
  /** Replaces the record with the same number. */
  set(record: CollectionRecord): void {
    this.#records.set(record.key, record)
    let names = this.#byName.get(record.namespace)
    if (names === undefined) this.#byName.set(record.namespace, (names = new Map()))
    names.set(record.schema.name, record.key)
  }
  delete({ key, namespace, schema }: CollectionRecord): void {
    this.#records.delete(key)
    this.#byName.get(namespace)?.delete(schema.name)
  }
  get(key: number): CollectionRecord | undefined {
    return this.#records.get(key)
  }
  keyOf(namespace: Namespace, name: string): number | undefined {
    return this.#byName.get(namespace)?.get(name)
  }
  keysOf(namespace: Namespace): ReadonlyArray<number> {
    return [...(this.#byName.get(namespace)?.values() ?? [])]
  }
  of(namespace: Namespace): ReadonlyArray<CollectionRecord> {
    return this.keysOf(namespace).flatMap((key) => this.#records.get(key) ?? [])
  }
}
