/**
 * What a caller may access, name and see, as values: a plan is a function of a request and its restrictions, and
 * planning calls nothing in the host. `Reach` evaluates the restrictions for one request.
 */
import { fail, ok, type EngineError, type Result } from "../errors.ts"
import type { Filter } from "../filter.ts"
import type { FieldList, FieldNames } from "../query/field-list.ts"
import { allOf, parseFilter } from "../query/filter-parser.ts"
import type { Parameters } from "../query/parameters.ts"
import { fieldContextOf } from "../query/query-context.ts"
import type { CollectionInfo } from "../schema.ts"
import { collectionMatches, filtersReach, forcedTextsOf, type ForcedFilters } from "./collection-names.ts"
import { resolveCollection, type OperationContext } from "./operation.ts"
import { searchResourcesOf } from "./resources.ts"
import { seenFieldsOf, type SeenFields } from "./seen-fields.ts"

export interface Restrictions {
  /**
   * Names and patterns (`*`, `.*` inside a name) of collections that may be searched and joined; an alias counts as a
   * separate name. Default: all.
   */
  readonly collections?: ReadonlyArray<string>
  /** The only name that may be searched, if set. */
  readonly only?: string | undefined
  /** Filter texts, AND-ed as trees to every search of the collections named. A non-empty table closes all others. */
  readonly filters?: ForcedFilters
  /** Fields that may be named and seen, in every collection. Default, and if empty: all. */
  readonly fields?: FieldNames
  /**
   * Parameters inside a scoped key. They overwrite the request's, except that `filter_by` is AND-ed, and
   * `include_fields` and `exclude_fields` bound what can be named (`docs/contract/keys.md#secured-keys`).
   */
  readonly embedded?: Readonly<Record<string, unknown>> | undefined
}
export const UNRESTRICTED: Restrictions = {}

export const CLOSED: EngineError = { kind: "Closed", message: "The caller does not reach the collection." }
const notApplicable = (message: string): Result<never> => fail({ kind: "RestrictionNotApplicable", message })
/** Failures of a caller's restrictions refuse the entire request, even if they concern one entry of many. */
export const isRestriction = ({ kind }: EngineError): boolean =>
  kind === "Closed" || kind === "RestrictionNotApplicable"

/** Parameters whose text may join collections. */
const JOINING = ["filter_by", "include_fields", "exclude_fields", "sort_by", "facet_by", "facet_query"] as const
/**
 * Whether a request's own texts join a collection by this name. Not every join comes from them: a curation may join,
 * too.
 */
const joins = (parameters: Parameters, name: string): boolean => {
  const joined = `$${name}`.replace(/\s+/g, "")
  return JOINING.some((parameter) => parameters[parameter]?.replace(/\s+/g, "").includes(joined) === true)
}

interface Bounds {
  readonly fields?: FieldList | undefined
  readonly mayJoin?: (name: string) => boolean
}

/** The restrictions of one request, evaluated while it is planned. */
export class Reach {
  readonly restrictions: Restrictions
  readonly #context: OperationContext
  readonly #seen: SeenFields
  /** Closed collections that something tried to join. */
  readonly #closed = new Set<string>()
  readonly #realNameOf = (name: string): string | undefined => resolveCollection(this.#context, name)?.schema.name

  constructor(context: OperationContext, restrictions: Restrictions) {
    this.restrictions = restrictions
    this.#context = context
    this.#seen = seenFieldsOf(restrictions, this.#realNameOf)
  }
  /** Fields of every collection that may be named and seen; undefined = all. The same object for equal restrictions. */
  get fields(): FieldList | undefined {
    return this.#seen.fields
  }
  /** Whether a collection may be searched by this name, whether or not it exists. */
  reaches(name: string): boolean {
    const { collections, filters, only } = this.restrictions
    return (
      (only === undefined || only === name) &&
      (collections === undefined || collectionMatches(name, collections)) &&
      (filters === undefined || filtersReach(this.#context, filters, name))
    )
  }
  /** A collection that may be joined; checked by the written name and by its own name. */
  joinable = (name: string): CollectionInfo | undefined => this.#joinable(name, (each) => this.#mayJoin(each))

  /**
   * Whether a join to a collection that is closed to the caller was attempted: by the request's own text, or by
   * anything if there are no search parameters. Valid until the next `forget`.
   */
  joinsClosed(parameters?: Parameters): boolean {
    return [...this.#closed].some((name) => parameters === undefined || joins(parameters, name))
  }
  forget(): void {
    this.#closed.clear()
  }

  /**
   * The filters that apply to a collection, whatever the search, as one tree. Fails with RestrictionNotApplicable if
   * they do not fit the collection: the caller made no mistake, but gets nothing.
   */
  forcedFilter(collection: CollectionInfo): Result<Filter | undefined> {
    const { filters = {} } = this.restrictions
    const signed = this.restrictions.embedded?.filter_by
    if (signed === undefined && Object.keys(filters).length === 0) return ok(undefined)
    const texts = forcedTextsOf(this.#context, filters, collection.schema.name)
    // A caller that names a closed collection has been refused already; this also refuses names from other sources.
    if (texts.length === 0 && Object.keys(filters).length > 0)
      return notApplicable("The caller's filters do not reach the collection.")
    let forced: Filter | undefined
    for (const text of texts) {
      const own = this.#restricting(text, collection, {})
      if (!own.ok) return own
      forced = allOf(forced, own.value)
    }
    // The holder of the parent key can sign anything, so a signed key may not join or name what its parent may not.
    const narrowed = signed === undefined ? ok(undefined) : this.#restricting(signed, collection, this.#ownBounds())
    return narrowed.ok ? ok(allOf(forced, narrowed.value)) : narrowed
  }

  /** Bounds of the key itself, because filters signed with it may use fields that the signed parameters hide. */
  #ownBounds(): Bounds {
    const { fields } = this.restrictions
    return {
      mayJoin: (name) => this.#mayJoinBySelf(name),
      ...(fields === undefined || fields.length === 0 ? {} : { fields })
    }
  }
  #mayJoin(name: string): boolean {
    return this.#mayJoinBySelf(name) && !this.#seen.hides(this.#realNameOf(name) ?? name)
  }
  /**
   * A joined collection with its own forced filter would be shown unfiltered, so it cannot be joined. A signed filter
   * applies to every collection that it fits, including the searched one, to which a second join may lead back.
   */
  #mayJoinBySelf(name: string): boolean {
    if (!this.reaches(name) || !this.reaches(this.#realNameOf(name) ?? name)) {
      this.#closed.add(name)
      return false
    }
    return !this.#isFiltered(name) && !this.#signedFits(name)
  }
  #joinable(name: string, mayJoin: (name: string) => boolean): CollectionInfo | undefined {
    if (!mayJoin(name)) return undefined
    const collection = resolveCollection(this.#context, name)
    return collection === undefined || !mayJoin(collection.schema.name) ? undefined : collection
  }
  /** A filter that matches everything does not count: with it, its author declared the collection open. */
  #isFiltered(name: string): boolean {
    const { filters = {} } = this.restrictions
    const collection = Object.keys(filters).length === 0 ? undefined : resolveCollection(this.#context, name)
    return (
      collection !== undefined &&
      !forcedTextsOf(this.#context, filters, collection.schema.name).every((text) => {
        const filter = this.#parsed(text, collection, {})
        return filter.ok && filter.value?.kind === "all"
      })
    )
  }
  #signedFits(name: string): boolean {
    const signed = this.restrictions.embedded?.filter_by
    const collection = typeof signed === "string" ? resolveCollection(this.#context, name) : undefined
    return collection !== undefined && this.#parsed(String(signed), collection, {}).ok
  }
  #restricting(text: unknown, collection: CollectionInfo, bounds: Bounds): Result<Filter | undefined> {
    const filter = typeof text === "string" ? this.#parsed(text, collection, bounds) : undefined
    // An empty filter would restrict nothing, which cannot be what its author intended.
    if (filter?.ok === true && filter.value !== undefined) return filter
    return notApplicable("The caller's filter cannot be applied to the collection.")
  }
  #parsed(text: string, collection: CollectionInfo, { fields, mayJoin }: Bounds): Result<Filter | undefined> {
    const { limits, namespace, resources } = this.#context
    return parseFilter(
      text,
      fieldContextOf(
        collection,
        {
          collectionOf: (name) => this.#joinable(name, mayJoin ?? (() => true)),
          limits,
          ...(fields === undefined ? {} : { fields }),
          resources: searchResourcesOf(resources, namespace)
        },
        true,
        4
      )
    )
  }
}
