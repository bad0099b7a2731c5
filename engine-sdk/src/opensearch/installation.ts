/**
 * The indices that every installation has. A cluster that accepts no new ones (a full disk, a block set by an
 * administrator) is used with those that exist: missing ones are created as soon as the cluster accepts them; until
 * then whatever needs them is refused with the cluster's reason.
 */
import { ok, type EngineError, type Result } from "../errors.ts"
import { Joined } from "../joined.ts"
import { warn } from "../warning.ts"
import type { ClusterClient } from "./client.ts"
import { collectionsIndex, countersIndex, documentsIndex, documentsProperties } from "./mapping.ts"
import type { ClusterNames } from "./placement.ts"
import { POOL_SLOTS } from "./slots.ts"

interface Shape {
  readonly replicas: number
  readonly poolShards: number
}
export class Installation {
  readonly #client: ClusterClient
  readonly #names: ClusterNames
  readonly #bodies: ReadonlyMap<string, object>
  readonly #making = new Joined<Result<void, EngineError>>()
  /** Indices that are known to be complete. */ readonly #whole = new Set<string>()
  #isBlocked = false

  constructor(client: ClusterClient, names: ClusterNames, { poolShards, replicas }: Shape) {
    this.#client = client
    this.#names = names
    this.#bodies = new Map([
      [names.collections, collectionsIndex(replicas)],
      [names.counters, countersIndex(replicas)],
      [names.pool, documentsIndex(POOL_SLOTS, poolShards, replicas)]
    ])
  }
  get isWhole(): boolean {
    return this.#whole.size === this.#bodies.size
  }
  /** Creates missing indices; a cluster that refuses new ones is not a failure here. */
  async open(): Promise<Result<void>> {
    const made = await this.ready()
    if (made.ok || !this.#isBlocked) return made
    warn("the search cluster is used as far as it has the indices of this installation", made.error.message)
    return ok(undefined)
  }
  /** Creates what is missing; concurrent callers share one attempt. Sends nothing if all indices exist. */
  ready(): Promise<Result<void, EngineError>> {
    return this.isWhole ? Promise.resolve(ok(undefined)) : this.#making.run("indices", () => this.#make())
  }
  async #make(): Promise<Result<void, EngineError>> {
    this.#isBlocked = false
    // Existence is checked first, because a cluster that refuses new indices also refuses to create an existing one.
    const there = await this.#client.ask<Readonly<Record<string, unknown>>>({
      method: "GET",
      path: `/${[...this.#bodies.keys()].join()}/_settings/index.creation_date?ignore_unavailable=true`,
      isRepeatable: true
    })
    if (!there.ok) return there
    let failure: Result<never, EngineError> | undefined
    for (const [index, body] of this.#bodies) {
      if (this.#whole.has(index)) continue
      const made = Object.hasOwn(there.value, index) ? await this.#complete(index) : await this.#makeIndex(index, body)
      if (made.ok) this.#whole.add(index)
      else if (made.error.kind !== "Overloaded") return made
      else failure ??= made
    }
    this.#isBlocked = failure !== undefined
    return failure ?? ok(undefined)
  }
  async #makeIndex(index: string, body: object): Promise<Result<unknown>> {
    const made = await this.#client.ask({ method: "PUT", path: `/${index}`, body, isRepeatable: true })
    const isOfAnother = !made.ok && made.error.kind === "Invalid" && made.error.message.includes("already exists")
    return isOfAnother ? this.#complete(index) : made
  }
  /** An earlier version of this program may have created the index with fewer properties. */
  async #complete(index: string): Promise<Result<unknown>> {
    if (index !== this.#names.pool) return ok(undefined)
    return this.#client.ask({
      method: "PUT",
      path: `/${index}/_mapping`,
      body: { properties: documentsProperties(POOL_SLOTS) },
      isRepeatable: true
    })
  }
}

/** All nodes must have the plugin, because a graph may be placed on any of them. False without permission to check. */
export const hasVectorPlugin = async (client: ClusterClient): Promise<boolean> => {
  const asked = await client.ask<{ readonly nodes?: Readonly<Record<string, NodePlugins>> }>({
    method: "GET",
    path: "/_nodes/plugins",
    isRepeatable: true
  })
  if (!asked.ok) {
    warn("whether the search cluster has vectors is not known, so they are refused", asked.error.message)
    return false
  }
  const nodes = Object.values(asked.value.nodes ?? {})
  return nodes.length > 0 && nodes.every(({ plugins = [] }) => plugins.some(({ name }) => name === "opensearch-knn"))
}
interface NodePlugins {
  readonly plugins?: ReadonlyArray<{ readonly name: string }>
}
