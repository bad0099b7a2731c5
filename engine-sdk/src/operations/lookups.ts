/**
 * Engine lookups needed to plan a search: whether filters of curation rules match anything, and whether the caller may
 * know of a document.
 */
import { stringifyJson } from "../documents/json.ts"
import { fail, invalid, ok, type Result } from "../errors.ts"
import type { SearchPlan } from "../plan.ts"
import type { Filter } from "../filter.ts"
import { allOf } from "../query/filter-parser.ts"
import type { CollectionInfo } from "../schema.ts"
import type { OperationContext } from "./operation.ts"

/** Maximum engine queries that placeholders of curation rules cause in one search. */
const LOOKUPS_MAX = 64

const examplesOf = (plan: SearchPlan): ReadonlyArray<string> =>
  [plan.vector, ...plan.sort.map((key) => (key.kind === "vector_query" ? key.query : undefined))].flatMap(
    (query) => query?.likeId ?? []
  )
/** Whether the query uses the vector of a document, which is rare. */
export const hasExample = ({ sort, vector }: SearchPlan): boolean =>
  vector?.likeId !== undefined || sort.some((key) => key.kind === "vector_query" && key.query.likeId !== undefined)

/** Caches which filters match anything; pending queries count as "no" until they settle. */
export class Lookups {
  readonly #context: OperationContext
  readonly #collection: CollectionInfo
  readonly #forced: Filter | undefined
  readonly #known = new Map<string, boolean>()
  #open: Array<Promise<void>> = []
  constructor(context: OperationContext, collection: CollectionInfo, forced: Filter | undefined) {
    this.#context = context
    this.#collection = collection
    this.#forced = forced
  }
  matchesAny(asked: Filter): boolean {
    const filter = allOf(asked, this.#forced) ?? asked
    const key = stringifyJson(asked)
    const known = this.#known.get(key)
    if (known !== undefined) return known
    // Beyond the bound, filters are not looked up and count as matching nothing.
    if (this.#known.size + this.#open.length >= LOOKUPS_MAX) return false
    const page = this.#context.engine.scan(this.#context.namespace, {
      collection: this.#collection.schema.name,
      filter,
      limit: 1
    })
    if (page instanceof Promise) {
      this.#open.push(
        page.then((settled) => {
          this.#known.set(key, settled.ok && settled.value.ids.length > 0)
        })
      )
      return false
    }
    const matches = page.ok && page.value.ids.length > 0
    this.#known.set(key, matches)
    return matches
  }
  /** A document whose vector is the query must be one that the caller may find; for others it does not exist. */
  async knowsExample(plan: SearchPlan): Promise<Result<SearchPlan>> {
    for (const id of new Set(examplesOf(plan))) {
      if (this.#forced === undefined) break
      const page = await this.#context.engine.scan(this.#context.namespace, {
        collection: this.#collection.schema.name,
        filter: { kind: "and", left: { kind: "ids", ids: [id] }, right: this.#forced },
        limit: 1
      })
      if (!page.ok) return page
      if (page.value.ids.length === 0)
        return fail(invalid("Document id referenced in vector query is not found.", "vector_query"))
    }
    return ok(plan)
  }
  get isOpen(): boolean {
    return this.#open.length > 0
  }
  /** True if new results arrived since the last call. */
  async settle(): Promise<boolean> {
    if (this.#open.length === 0) return false
    const open = this.#open
    this.#open = []
    await Promise.all(open)
    return true
  }
}
