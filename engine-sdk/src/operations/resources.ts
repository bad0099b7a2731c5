/**
 * Named resources of a namespace that engines do not know: aliases, presets, synonym and curation sets, stop words,
 * stemming dictionaries. Reads are synchronous, because every search needs several of them; writes settle when they are
 * durable.
 */
import type { Namespace } from "../engine.ts"
import type { CurationSet, Preset, SearchResources, StopwordSet, SynonymSet } from "../query/query-context.ts"

export interface Alias {
  readonly name: string
  readonly collection_name: string
}
export interface StemmingDictionary {
  readonly id: string
  readonly words: ReadonlyMap<string, string>
}
export interface ResourceKinds {
  readonly alias: Alias
  readonly preset: Preset
  readonly synonym_set: SynonymSet
  readonly curation_set: CurationSet
  readonly stopwords: StopwordSet
  readonly stemming_dictionary: StemmingDictionary
}
export type ResourceKind = keyof ResourceKinds
export interface Resources {
  /** The value as put: the same object until it is replaced, so that compiled forms can be cached by it. */
  get<K extends ResourceKind>(namespace: Namespace, kind: K, name: string): ResourceKinds[K] | undefined
  /** Ordered by name. */
  list<K extends ResourceKind>(namespace: Namespace, kind: K): ReadonlyArray<ResourceKinds[K]>
  /** Creates or replaces a resource; it is visible to reads when the promise settles. */
  put<K extends ResourceKind>(namespace: Namespace, kind: K, name: string, value: ResourceKinds[K]): Promise<void>
  /**
   * Reads and writes atomically: of two concurrent changes, the later sees the result of the earlier. `make` is called
   * once with the stored value; its result is put, or nothing changes if it is undefined. Returns what was put.
   */
  change<K extends ResourceKind>(
    namespace: Namespace,
    kind: K,
    name: string,
    make: (value: ResourceKinds[K] | undefined) => ResourceKinds[K] | undefined
  ): Promise<ResourceKinds[K] | undefined>
  /** Removes a resource; also settles if it did not exist. */
  remove(namespace: Namespace, kind: ResourceKind, name: string): Promise<void>
}

/**
 * In-memory resources, for tests and for programs that store them elsewhere.
 *
 * @example
 * ```ts
 * import { createSearch, memoryResources } from "@dowser/engine-sdk"
 *
 * const resources = memoryResources()
 * await resources.put("default", "stopwords", "articles", { id: "articles", stopwords: ["the", "a"] })
 * const products = createSearch({ resources })
 * ```
 */
export const memoryResources = (): Resources => {
  const namespaces = new Map<Namespace, Map<ResourceKind, Map<string, unknown>>>()
  const kindOf = (namespace: Namespace, kind: ResourceKind): Map<string, unknown> => {
    let kinds = namespaces.get(namespace)
    if (kinds === undefined) namespaces.set(namespace, (kinds = new Map()))
    let values = kinds.get(kind)
    if (values === undefined) kinds.set(kind, (values = new Map()))
    return values
  }
  return {
    get: <K extends ResourceKind>(namespace: Namespace, kind: K, name: string) =>
      namespaces.get(namespace)?.get(kind)?.get(name) as ResourceKinds[K] | undefined,
    list: <K extends ResourceKind>(namespace: Namespace, kind: K) =>
      [...(namespaces.get(namespace)?.get(kind) ?? [])]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([, value]) => value as ResourceKinds[K]),
    put: async (namespace, kind, name, value) => {
      kindOf(namespace, kind).set(name, value)
    },
    change: async <K extends ResourceKind>(
      namespace: Namespace,
      kind: K,
      name: string,
      make: (value: ResourceKinds[K] | undefined) => ResourceKinds[K] | undefined
    ) => {
      const value = make(namespaces.get(namespace)?.get(kind)?.get(name) as ResourceKinds[K] | undefined)
      if (value !== undefined) kindOf(namespace, kind).set(name, value)
      return value
    },
    remove: async (namespace, kind, name) => {
      namespaces.get(namespace)?.get(kind)?.delete(name)
    }
  }
}
/** The view of the resources that a compiler takes. */
export const searchResourcesOf = (resources: Resources, namespace: Namespace): SearchResources => ({
  preset: (name) => resources.get(namespace, "preset", name),
  stopwords: (name) => resources.get(namespace, "stopwords", name),
  synonymSet: (name) => resources.get(namespace, "synonym_set", name),
  curationSet: (name) => resources.get(namespace, "curation_set", name),
  stemmingDictionary: (name) => resources.get(namespace, "stemming_dictionary", name)?.words
})
