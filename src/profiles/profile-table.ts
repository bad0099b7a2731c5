/** Profiles of all organizations in memory: the active ones, by collection and name, and by id. */
import type { CollectionInfo } from "@dowser/engine-sdk"
import type { Subject } from "../configuration/change.ts"
import { placeOf, type ProfileRow, profileOf, type StoredProfile } from "./profiles-repository.ts"

interface Own {
  /** By collection, then by name. */ readonly collections: Map<string, Map<string, StoredProfile>>
  readonly byId: Map<string, StoredProfile>
  version: number
}
const isOf = (profile: StoredProfile, collection: CollectionInfo): boolean =>
  profile.collection_created_at === collection.created_at

export class ProfileTable {
  readonly #organizations = new Map<string, Own>()
  readonly #damaged: (row: ProfileRow, error: unknown) => void
  #changes = 0
  /** `damaged`: reports a row that cannot be what was stored. */
  constructor(damaged: (row: ProfileRow, error: unknown) => void) {
    this.#damaged = damaged
  }

  /** Only of this collection: a later one of the same name does not inherit profiles. */
  get(organizationId: string, collection: CollectionInfo, name: string): StoredProfile | undefined {
    const profile = this.#organizations.get(organizationId)?.collections.get(collection.schema.name)?.get(name)
    return profile !== undefined && isOf(profile, collection) ? profile : undefined
  }
  byId(organizationId: string, id: string): StoredProfile | undefined {
    return this.#organizations.get(organizationId)?.byId.get(id)
  }
  /** By name. O(profiles of the collection). */
  list(organizationId: string, collection: CollectionInfo): ReadonlyArray<StoredProfile> {
    return this.ofCollection(organizationId, collection.schema.name).filter((profile) => isOf(profile, collection))
  }
  /** Includes profiles of earlier collections of this name. */
  ofCollection(organizationId: string, collection: string): ReadonlyArray<StoredProfile> {
    const named = this.#organizations.get(organizationId)?.collections.get(collection)
    return named === undefined ? [] : [...named.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  }
  named(organizationId: string, name: string): ReadonlyArray<StoredProfile> {
    const own = this.#organizations.get(organizationId)
    return own === undefined ? [] : [...own.collections.values()].flatMap((profiles) => profiles.get(name) ?? [])
  }
  /** O(profiles of the collection); most have none. */
  defaultOf(organizationId: string, collection: CollectionInfo): StoredProfile | undefined {
    const named = this.#organizations.get(organizationId)?.collections.get(collection.schema.name)
    if (named === undefined) return undefined
    for (const profile of named.values()) if (profile.is_default && isOf(profile, collection)) return profile
    return undefined
  }
  version(organizationId: string): number {
    return this.#organizations.get(organizationId)?.version ?? 0
  }
  get size(): number {
    let size = 0
    for (const { byId } of this.#organizations.values()) size += byId.size
    return size
  }

  /** Replaces everything known of the subjects' collections by the given rows. */
  replace(subjects: ReadonlyArray<Subject> | "all", rows: ReadonlyArray<ProfileRow>): void {
    const touched = this.#forget(subjects)
    for (const row of rows) {
      const own = this.#ownOf(row.organization_id)
      touched.add(own)
      try {
        const profile = profileOf(row)
        let named = own.collections.get(row.collection)
        if (named === undefined) own.collections.set(row.collection, (named = new Map()))
        named.set(row.name, profile)
        own.byId.set(row.id, profile)
      } catch (error) {
        this.#damaged(row, error)
      }
    }
    for (const own of touched) own.version = ++this.#changes
  }
  #forget(subjects: ReadonlyArray<Subject> | "all"): Set<Own> {
    const touched = new Set<Own>()
    if (subjects === "all") {
      for (const own of this.#organizations.values()) {
        own.collections.clear()
        own.byId.clear()
        touched.add(own)
      }
      return touched
    }
    for (const { id, organizationId } of subjects) {
      const own = this.#ownOf(organizationId)
      const { collection } = placeOf(id)
      for (const profile of own.collections.get(collection)?.values() ?? []) own.byId.delete(profile.id)
      own.collections.delete(collection)
      touched.add(own)
    }
    return touched
  }
  #ownOf(organizationId: string): Own {
    let own = this.#organizations.get(organizationId)
    if (own === undefined)
      this.#organizations.set(organizationId, (own = { collections: new Map(), byId: new Map(), version: 0 }))
    return own
  }
}
