/** The collections as a process without an engine knows them: all of them, as reported by the engine's process. */
import type { CollectionUsage } from "../engine.ts"
import type { CollectionInfo } from "../schema.ts"
import type { Change, RemoteCollection } from "./messages.ts"

/** Added for every gap in the messages: more than the number of changes that may have been missed. */
const UNHEARD = 2 ** 32

export class Mirror {
  /** Newest first. */ #namespaces = new Map<string, Map<string, RemoteCollection>>()
  #coming = new Map<string, Map<string, RemoteCollection>>()
  readonly #changes = new Map<string, number>()
  readonly #removals = new Map<string, number>()
  #gaps = 0

  list(namespace: string): ReadonlyArray<CollectionInfo> {
    return Array.from(this.#namespaces.get(namespace)?.values() ?? [], ({ info }) => info)
  }
  info(namespace: string, name: string): CollectionInfo | undefined {
    return this.#namespaces.get(namespace)?.get(name)?.info
  }
  usage(namespace: string, name: string): CollectionUsage | undefined {
    return this.#namespaces.get(namespace)?.get(name)?.usage
  }
  get namespaces(): ReadonlyArray<string> {
    return [...this.#namespaces.keys()]
  }
  /** How many times something in a namespace was changed, by any process. */
  changes(namespace: string): number {
    return this.#gaps * UNHEARD + (this.#changes.get(namespace) ?? 0)
  }
  /** How many times something in it was removed. */
  removals(namespace: string): number {
    return this.#gaps * UNHEARD + (this.#removals.get(namespace) ?? 0)
  }

  /** Starts over; the old list is kept until the new one is complete. */
  begin(): void {
    this.#coming = new Map()
  }
  add(known: ReadonlyArray<RemoteCollection>, isLast: boolean): void {
    for (const one of known) {
      let own = this.#coming.get(one.namespace)
      if (own === undefined) this.#coming.set(one.namespace, (own = new Map()))
      own.set(one.info.schema.name, one)
    }
    if (!isLast) return
    this.#namespaces = this.#coming
    this.#coming = new Map()
    this.#gaps++
  }
  change({ isRemoval, known, name, namespace }: Change): void {
    this.#changes.set(namespace, (this.#changes.get(namespace) ?? 0) + 1)
    if (isRemoval) this.#removals.set(namespace, (this.#removals.get(namespace) ?? 0) + 1)
    const own = this.#namespaces.get(namespace)
    if (known === undefined) {
      own?.delete(name)
      if (own?.size === 0) this.#namespaces.delete(namespace)
    } else if (own?.has(name) === true) own.set(name, known)
    else this.#namespaces.set(namespace, new Map([[name, known], ...(own ?? [])]))
  }
  used(namespace: string, name: string, usage: CollectionUsage | undefined): void {
    const own = this.#namespaces.get(namespace)
    const known = own?.get(name)
    if (own !== undefined && known !== undefined) own.set(name, { ...known, usage })
  }
}
