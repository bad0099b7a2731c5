/**
 * The list of collections, cached here because the port reads it synchronously. This process's own changes are visible
 * immediately, those of others after the next read. A read that began before one of our changes is ignored for the
 * changed collection.
 */
import { isObject } from "../documents/json.ts"
import type { Namespace } from "../engine.ts"
import { fail, notFound, ok, type Result } from "../errors.ts"
import { Joined } from "../joined.ts"
import type { CollectionInfo } from "../schema.ts"
import { warn } from "../warning.ts"
import type { ServerClient } from "./client.ts"
import type { ServerNames } from "./names.ts"
import { readCollection, type ReadCollection } from "./schema-form.ts"

/** Collections listed per request. */
const PAGE = 250

export interface Entry {
  readonly namespace: Namespace
  /** Name on the server. */ readonly serverName: string
  info: CollectionInfo
}

export class Directory {
  readonly #client: ServerClient
  readonly #names: ServerNames
  /** By namespace, newest first. */ readonly #entries = new Map<Namespace, Map<string, Entry>>()
  /** Server names of collections that were changed here since the read in progress began. */
  #touched = new Set<string>()
  /** One at a time per collection; a caller that arrives during one waits for the next. */
  readonly #reloads = new Joined<Result<unknown>>()
  #following: Promise<Result<void>> | undefined
  #isLost = false

  constructor(client: ServerClient, names: ServerNames) {
    this.#client = client
    this.#names = names
  }
  find(namespace: Namespace, name: string): Entry | undefined {
    return this.#entries.get(namespace)?.get(name)
  }
  list(namespace: Namespace): ReadonlyArray<Entry> {
    return [...(this.#entries.get(namespace)?.values() ?? [])]
  }
  get namespaces(): ReadonlyArray<Namespace> {
    return [...this.#entries.keys()]
  }
  /** Finds a collection, even one that this process has not seen yet. */
  async known(namespace: Namespace, name: string): Promise<Result<Entry>> {
    const entry = this.find(namespace, name)
    if (entry !== undefined) return ok(entry)
    const read = await this.reload(namespace, name)
    if (!read.ok) return read
    const found = this.find(namespace, name)
    return found === undefined ? fail(notFound("Collection not found")) : ok(found)
  }

  /** Reads a collection's state on the server, including all changes before this call; removes it if it is gone. */
  reload(namespace: Namespace, name: string): Promise<Result<unknown>> {
    const serverName = this.#names.of(namespace, name)
    return this.#reloads.run(serverName, () => this.#reload(namespace, name, serverName))
  }
  async #reload(namespace: Namespace, name: string, serverName: string): Promise<Result<unknown>> {
    const answer = await this.#client.ask({
      method: "GET",
      path: `/collections/${serverName}`,
      isRepeatable: true
    })
    this.#touched.add(serverName)
    if (answer.ok) {
      const read = readCollection(answer.value, this.#names)
      if (read?.namespace !== namespace || read.info.schema.name !== name)
        return fail({ kind: "Unavailable", message: `The search engine's server does not describe \`${name}\`.` })
      this.#put(read, serverName)
      return answer
    }
    if (answer.error.kind !== "NotFound") return answer
    this.forget(namespace, name)
    return ok(undefined)
  }
  #put({ info, namespace }: ReadCollection, serverName: string): void {
    const own = this.#entries.get(namespace)
    const { name } = info.schema
    const known = own?.get(name)
    if (known !== undefined) known.info = info
    else this.#entries.set(namespace, new Map([[name, { namespace, serverName, info }], ...(own ?? [])]))
  }
  forget(namespace: Namespace, name: string): void {
    this.#touched.add(this.#names.of(namespace, name))
    const own = this.#entries.get(namespace)
    own?.delete(name)
    if (own?.size === 0) this.#entries.delete(namespace)
  }

  /** Reads changes since the last call; concurrent callers share one read. */
  follow(): Promise<Result<void>> {
    return (this.#following ??= this.#follow().finally(() => {
      this.#following = undefined
    }))
  }
  async #follow(): Promise<Result<void>> {
    this.#touched = new Set()
    const listed = await this.#listed()
    if (this.#client.isClosed) return ok(undefined)
    // Warn once, not on every attempt.
    if (!listed.ok && !this.#isLost)
      warn("collections of the search engine's server are not followed until it answers", listed.error.message)
    this.#isLost = !listed.ok
    if (!listed.ok) return listed
    const seen = new Set<string>()
    // The list is sorted newest first, and so are the entries here.
    for (const read of listed.value.toReversed()) {
      const serverName = this.#names.of(read.namespace, read.info.schema.name)
      seen.add(serverName)
      if (!this.#touched.has(serverName)) this.#put(read, serverName)
    }
    for (const own of [...this.#entries.values()])
      for (const { info, namespace, serverName } of [...own.values()])
        // A list is read in pages, and others may drop collections meanwhile, so a missing one is looked up by name.
        if (!seen.has(serverName) && !this.#touched.has(serverName)) await this.reload(namespace, info.schema.name)
    return ok(undefined)
  }
  async #listed(): Promise<Result<ReadonlyArray<ReadCollection>>> {
    const all: Array<ReadCollection> = []
    for (let offset = 0; ; offset += PAGE) {
      const page = await this.#client.ask({
        method: "GET",
        path: `/collections?limit=${PAGE}&offset=${offset}`,
        isRepeatable: true
      })
      if (!page.ok) return page
      if (!Array.isArray(page.value) || !page.value.every(isObject))
        return fail({ kind: "Unavailable", message: "The search engine's server does not list its collections." })
      for (const raw of page.value) {
        const read = readCollection(raw, this.#names)
        if (read !== undefined) all.push(read)
      }
      if (page.value.length < PAGE) return ok(all)
    }
  }
}
