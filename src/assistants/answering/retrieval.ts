/**
 * Finds documents for a question: each collection is searched exactly as the key itself may search it, with its
 * profile, rules, forced filter and fields, and by meaning if it has vectors. There is no other access to documents.
 */
import { Effect } from "effect"
import type { CollectionInfo } from "@dowser/engine-sdk"
import { parseJson } from "@dowser/engine-sdk/documents"
import { resolveCollection } from "@dowser/engine-sdk/operations"
import { joinFilterTexts } from "@dowser/engine-sdk/query"
import { sourcesOf } from "../../embedding/own-field.ts"
import { makeContexts } from "../../engine-plane/engine-plane.ts"
import { type EngineRefusal, inputInvalid } from "../../http/errors.ts"
import { isObject } from "../../http/json-fields.ts"
import type { SearchRequest } from "../../search/request.ts"
import { Search } from "../../search/search.ts"
import { SemanticSearch } from "../../semantic-search/semantic-search.ts"
import type { Found } from "./extractive-answer.ts"
import { type FoundDocument, foundDocument, namedFields, vectorFields } from "./found-document.ts"

interface RetrievalAsked {
  readonly request: SearchRequest
  readonly collections: ReadonlyArray<string>
  readonly q: string
  /** The assistant's search parameters. */ readonly searchParams: Readonly<Record<string, string>>
  readonly templates: Readonly<Record<string, string>> | undefined
  /** The caller's filters, by collection. */ readonly filters: Readonly<Record<string, string>> | undefined
  readonly documentsMax: number
}
interface RetrievedDocuments {
  readonly count: number
  readonly documents: ReadonlyArray<FoundDocument>
  readonly constraint: Found["constraint"]
  readonly rest: string
}
const NOTHING: RetrievedDocuments = { count: 0, documents: [], constraint: undefined, rest: "" }
/** A comparison, a range or a number in a filter, outside of quoted values. */
const MEASURE = /:\s*!?=?\s*\[?\s*(?:[<>]|-?\d)/
const constraintOf = (filter_by: string, sort_by: string): Found["constraint"] =>
  sort_by !== "" || MEASURE.test(filter_by.replace(/`[^`]*`/g, "")) ? "measure" : filter_by === "" ? undefined : "value"

const AT_ONCE = 4
/** Minimum of `per_page`, even if `documentsMax` is lower. */
const DOCUMENTS_MIN = 3

const textOf = (value: unknown): string => (typeof value === "string" ? value : "")
const numberOf = (value: unknown): number => {
  const number = Number(value)
  return Number.isFinite(number) ? number : 0
}
/** The quality of a hit, on a scale specific to its search. */
const strengthOf = (hit: Readonly<Record<string, unknown>>): number => {
  const { hybrid_search_info: fused } = hit
  return isObject(fused) ? numberOf(fused.rank_fusion_score) : numberOf(hit.text_match)
}

/** The hits of a search as documents, best first. */
const documentsOf = (
  answer: unknown,
  { schema }: CollectionInfo,
  name: string,
  template: string | undefined
): RetrievedDocuments => {
  if (!isObject(answer)) return NOTHING
  const hits = (Array.isArray(answer.hits) ? answer.hits : []).filter(isObject)
  const parsed = isObject(answer.parsed_nl_query) ? answer.parsed_nl_query.generated_params : undefined
  const filter = isObject(parsed) ? textOf(parsed.filter_by) : "",
    order = isObject(parsed) ? textOf(parsed.sort_by) : "",
    rest = isObject(parsed) ? textOf(parsed.q) : ""
  const best = Math.max(...hits.map(strengthOf), 0)
  const isSorted = order !== "" || best === 0
  const isLabel = new Set(schema.fields.filter(({ facet }) => facet).map((field) => field.name))
  const all = sourcesOf(schema)
  const texts = all.filter((each) => !isLabel.has(each))
  const reading = {
    collection: name,
    sources: texts.length === 0 ? all : texts,
    labels: all.filter((each) => isLabel.has(each)),
    template,
    named: namedFields(filter, order)
  }
  return {
    count: numberOf(answer.found),
    constraint: constraintOf(filter, order),
    rest: rest === "*" ? "" : rest,
    documents: hits.flatMap((hit, place) =>
      isObject(hit.document)
        ? [foundDocument(hit.document, isSorted ? 1 / (1 + place) : strengthOf(hit) / best, reading)]
        : []
    )
  }
}

/** Merges all collections, best first. If one was searched by numbers or values, the others do not count as answers. */
const together = (answers: ReadonlyArray<RetrievedDocuments>, documentsMax: number): Found => {
  const constrained = answers.filter(({ constraint, documents }) => constraint !== undefined && documents.length > 0)
  const own = constrained.length > 0 ? constrained : answers
  return {
    constraint:
      constrained.find(({ constraint }) => constraint === "measure")?.constraint ?? constrained[0]?.constraint,
    rest: constrained[0]?.rest ?? "",
    count: own.reduce((sum, { count }) => sum + count, 0),
    documents: own
      .flatMap(({ documents }) => documents)
      .toSorted((a, b) => b.score - a.score)
      .slice(0, documentsMax)
  }
}

interface There {
  readonly name: string
  readonly collection: CollectionInfo
}

/** Searches one collection. */
const makeOne = Effect.gen(function* () {
  const search = yield* Search
  const semantic = yield* SemanticSearch
  const filterOf = ({ filters, searchParams }: RetrievalAsked, name: string) => {
    const own = filters === undefined ? undefined : Object.getOwnPropertyDescriptor(filters, name)?.value
    const joined = joinFilterTexts(searchParams.filter_by, typeof own === "string" ? own : undefined)
    return joined.ok
      ? Effect.succeed(joined.value)
      : Effect.fail(inputInvalid(`filter_by.${name}`, joined.error.message))
  }
  return Effect.fnUntraced(function* (asked: RetrievalAsked, { collection, name }: There, isInWords: boolean) {
    const { documentsMax, q, request, searchParams, templates } = asked
    const filter_by = yield* filterOf(asked, name)
    const hidden = vectorFields(collection.schema).join(",")
    const excluded = [searchParams.exclude_fields ?? "", hidden].filter((names) => names !== "").join(",")
    const { query_by, ...others } = searchParams
    const shared: Record<string, string> = {
      ...others,
      // Quotation marks and a minus are part of the text here, not query syntax.
      q: q.replace(/["“”„]|(?<=\s|^)-/g, " "),
      page: "1",
      per_page: String(Math.max(DOCUMENTS_MIN, documentsMax)),
      enable_analytics: "false",
      ...(query_by === undefined ? {} : { query_by }),
      ...(filter_by === undefined ? {} : { filter_by }),
      ...(excluded === "" ? {} : { exclude_fields: excluded }),
      ...(isInWords ? { nl_query: "true", nl_model_id: "dowser/rules" } : {})
    }
    const meant = yield* semantic.withMeaning({ ...request, shared, queryText: "", isPaid: true }, collection)
    const { text } = yield* search.searchCollection(meant, name)
    const template = templates === undefined ? undefined : Object.getOwnPropertyDescriptor(templates, name)?.value
    return documentsOf(parseJson(text), collection, name, typeof template === "string" ? template : undefined)
  })
})

export const makeRetrieval = Effect.gen(function* () {
  const one = yield* makeOne
  const contextOf = yield* makeContexts

  /** The collections that exist; the search itself decides whether the caller may access them. */
  const present = ({ collections, request: { caller } }: RetrievalAsked) => {
    const context = contextOf(caller.organizationId)
    return collections.flatMap((name) => {
      const collection = resolveCollection(context, name)
      return collection === undefined ? [] : [{ name, collection }]
    })
  }
  /** A collection deleted in the meantime yields nothing; a wrong filter is the caller's mistake. */
  const orRefused = (name: string, isFiltered: boolean) => (error: EngineRefusal) =>
    error.status === 404
      ? Effect.succeed(NOTHING)
      : Effect.fail(inputInvalid(isFiltered ? `filter_by.${name}` : "search_params", error.message))

  const all = (asked: RetrievalAsked, there: ReadonlyArray<There>, isInWords: boolean) =>
    Effect.map(
      Effect.forEach(
        there,
        (each) =>
          Effect.catchTag(
            one(asked, each, isInWords),
            "EngineRefusal",
            orRefused(each.name, asked.filters !== undefined && Object.hasOwn(asked.filters, each.name))
          ),
        { concurrency: AT_ONCE }
      ),
      (answers) => ({
        found: together(answers, asked.documentsMax),
        isConstrained: answers.some(({ constraint }) => constraint !== undefined)
      })
    )

  return {
    present,
    /** Searches with the question's constraints; if nothing matches, without them (`isNearest`: not an answer). */
    found: Effect.fnUntraced(function* (asked: RetrievalAsked, there: ReadonlyArray<There>) {
      const { found, isConstrained } = yield* all(asked, there, true)
      // Without a constraint, the second search would be the same.
      if (found.documents.length > 0 || !isConstrained) return { found, isNearest: false }
      const { found: nearest } = yield* all(asked, there, false)
      return { found: { ...nearest, constraint: undefined }, isNearest: nearest.documents.length > 0 }
    })
  }
})
