/**
 * A manifest compiled under the current schemas, or every reason why it cannot be. WARM: the same fields would work
 * if they were indexed differently; COLD: no existing field would. Pure but for reading schemas.
 */
import {
  type CollectionInfo,
  type CollectionSchema,
  fail,
  type Field,
  type Filter,
  invalid,
  ok,
  type Result,
  type SortKey
} from "@dowser/engine-sdk"
import { type OperationContext, searchResourcesOf } from "@dowser/engine-sdk/operations"
import { compileSearch, fieldNamed, parseFilter, type SearchContext } from "@dowser/engine-sdk/query"
import { ownedFields, type SeenSchemas } from "../engine-plane/owned-fields.ts"
import { type NamedField, sortFieldsOf } from "./named-fields.ts"
import type { ProfileManifest } from "./manifest.ts"
import type { ProfileFields } from "./profile-parameters.ts"

export interface ManifestChange {
  /** E.g. `sorts[1].sort_by`. */ readonly path: string
  readonly class: "WARM" | "COLD"
  readonly reason: string
}
export interface CompiledManifest extends SeenSchemas {
  readonly manifest: ProfileManifest
  /** Empty if it compiles. */ readonly changes: ReadonlyArray<ManifestChange>
  /** The fields of the manifest that compile. */ readonly fields: ProfileFields
  /** Undefined if there is none, or if it does not compile (`changes` then says so). */
  readonly fixedFilter: Filter | undefined
  /** The fields that each compiled sort uses, by its id. */
  readonly sortFields: ReadonlyMap<string, ReadonlyArray<NamedField>>
}

/** The schema as if every field had every index. */
const permissive = (collection: CollectionInfo): CollectionInfo => ({
  ...collection,
  schema: {
    ...collection.schema,
    fields: collection.schema.fields.map((field): Field => ({ ...field, index: true, facet: true, sort: true }))
  }
})

class Compiling {
  readonly related = new Map<string, CollectionSchema | undefined>()
  readonly changes: Array<ManifestChange> = []
  readonly #collection: CollectionInfo
  readonly #permissive: CollectionInfo
  readonly #context: OperationContext

  constructor(context: OperationContext, collection: CollectionInfo) {
    this.#context = context
    this.#collection = collection
    this.#permissive = permissive(collection)
  }

  /** Checks against the schema; a failure becomes a change at the path. */
  at<A>(path: string, check: (collection: CollectionInfo) => Result<A>): A | undefined {
    const result = check(this.#collection)
    if (result.ok) return result.value
    const isWarm = check(this.#permissive).ok
    this.changes.push({ path, class: isWarm ? "WARM" : "COLD", reason: result.error.message })
    return undefined
  }
  /** Checks a field, which must exist and pass the check. */
  field(path: string, name: string, check: (collection: CollectionInfo) => Result<unknown>): boolean {
    if (fieldNamed(this.#collection.schema, name) === undefined) {
      this.changes.push({ path, class: "COLD", reason: `There is no field \`${name.slice(0, 80)}\`.` })
      return false
    }
    const before = this.changes.length
    this.at(path, check)
    return this.changes.length === before
  }
  filter(text: string): (collection: CollectionInfo) => Result<Filter | undefined> {
    return (collection) => parseFilter(text, this.#fieldsOf(collection))
  }
  /** The plan of a search for any word, as its owner may make it. */
  search(
    parameters: Readonly<Record<string, string>>
  ): (collection: CollectionInfo) => ReturnType<typeof compileSearch> {
    const { resources, namespace, now_s, limits } = this.#context
    return (collection) => {
      const { collectionOf } = this.#fieldsOf(collection)
      const context: SearchContext = {
        collection,
        collectionOf,
        resources: searchResourcesOf(resources, namespace),
        now_s,
        matchesAny: () => false,
        ...(limits === undefined ? {} : { limits })
      }
      return compileSearch({ q: "a", ...parameters }, context)
    }
  }
  #fieldsOf(collection: CollectionInfo) {
    return ownedFields(this.#context, collection, (name, schema) => {
      this.related.set(name, schema)
    })
  }
}

/** What a sort by the meaning of the query needs in addition to the schema. */
const searchedBy = (fields: ReadonlyArray<string>, sort_by: string): Readonly<Record<string, string>> =>
  fields.length === 0 || !sort_by.includes("_vector_distance") ? { q: "*" } : { query_by: fields.join(",") }

/**
 * O(fields of the manifest). `isPolicy`: whether a policy of this name is stored; checked when changes are requested,
 * not by searches.
 */
export const compileManifest = (
  context: OperationContext,
  collection: CollectionInfo,
  manifest: ProfileManifest,
  isPolicy: (name: string) => boolean = () => true
): CompiledManifest => {
  const compiling = new Compiling(context, collection)
  const searchable = manifest.searchable_fields.filter((name, i) =>
    compiling.field(`searchable_fields[${i}]`, name, compiling.search({ query_by: name }))
  )
  const facets = manifest.facet_fields
    .map(({ field }) => field)
    .filter((field, i) =>
      compiling.field(`facet_fields[${i}].field`, field, compiling.search({ q: "*", facet_by: field }))
    )
  for (const [i, name] of manifest.filterable_fields.entries())
    if (name !== "id") compiling.field(`filterable_fields[${i}]`, name, filterable(name))
  const highlight = manifest.highlight_fields.filter((name, i) =>
    compiling.field(`highlight_fields[${i}]`, name, () => ok(undefined))
  )
  const sortFields = new Map<string, ReadonlyArray<NamedField>>()
  for (const [i, { id, sort_by }] of manifest.sorts.entries()) {
    const plan = compiling.at(`sorts[${i}].sort_by`, compiling.search({ ...searchedBy(searchable, sort_by), sort_by }))
    if (plan !== undefined)
      sortFields.set(
        id,
        plan.sort.flatMap((key: SortKey) => sortFieldsOf(key))
      )
  }
  const fixedFilter =
    manifest.fixed_filter_by.trim() === ""
      ? undefined
      : compiling.at("fixed_filter_by", compiling.filter(manifest.fixed_filter_by))
  if (manifest.search_policy !== "" && !isPolicy(manifest.search_policy))
    compiling.changes.push({
      path: "search_policy",
      class: "COLD",
      reason: `There is no search policy \`${manifest.search_policy}\`.`
    })
  return {
    manifest,
    changes: compiling.changes,
    fields: { searchable, facets, highlight },
    fixedFilter,
    sortFields,
    schema: collection.schema,
    related: compiling.related
  }
}

const filterable =
  (name: string) =>
  ({ schema }: CollectionInfo): Result<undefined> =>
    fieldNamed(schema, name)?.index === true
      ? ok(undefined)
      : fail(invalid(`The field \`${name.slice(0, 80)}\` is not indexed.`))
