/** How many generated requests the embedded NL model reads exactly as intended. */
import { RuleFacts } from "../../src/nl-search/rules/facts.ts"
import { parseRules } from "../../src/nl-search/rules/parse-rules.ts"
import {
  generateRequests,
  type Request,
  requestLanguages,
  requestSchema,
  requestValues
} from "../../fixtures/requests/generate.ts"
import type { RequestLanguage } from "../../fixtures/requests/phrasings.ts"

/** The schema as written, with the defaults that a full definition adds. */
export const factsFor = (language: RequestLanguage): RuleFacts =>
  new RuleFacts(
    {
      fields: requestSchema("requests").fields.map(
        ({
          facet = false,
          name,
          type
        }: {
          readonly facet?: boolean
          readonly name: string
          readonly type: string
        }) => ({
          name,
          type: type as "string",
          facet,
          index: true,
          sort: type !== "string" && type !== "string[]",
          num_dim: 0
        })
      )
    },
    requestValues(language)
  )

export interface RequestReading {
  readonly request: Request
  readonly filter_by: string
  readonly sort_by: string
  readonly q: string
  readonly isExact: boolean
  /** Every word that is not a constraint is still searched for. */ readonly keepsRest: boolean
  readonly took_ms: number
}
/** Content words: five letters or more, which excludes articles and prepositions. */
const contentOf = (text: string): ReadonlyArray<string> => text.toLowerCase().match(/[\p{L}\p{N}]{5,}/gu) ?? []

export const readRequests = (seed: number, count: number): ReadonlyArray<RequestReading> => {
  const facts = new Map(requestLanguages.map((language) => [language, factsFor(language)]))
  return generateRequests(seed, count).map((request) => {
    const from = performance.now()
    const { filter_by, q, sort_by } = parseRules(request.q, facts.get(request.language)!)
    const took_ms = performance.now() - from
    const filters = filter_by === "" ? [] : filter_by.split(" && ")
    const isExact =
      sort_by === request.sort_by && filters.toSorted().join(" && ") === request.filters.toSorted().join(" && ")
    const left = contentOf(q)
    const keepsRest = contentOf(request.rest).every((word) => left.includes(word))
    return { request, filter_by, sort_by, q, isExact, keepsRest, took_ms }
  })
}
