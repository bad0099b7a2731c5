/** What affects one search around the engine: the rules of its collection, and the request's own options. */
import type { Environment, SearchMerchandise } from "@dowser/engine-sdk/operations"
import { type SearchVisitor, WINDOW } from "@dowser/engine-sdk/pipeline"
import { type CompiledRules, defaultRerank, type RerankSettings } from "@dowser/engine-sdk/rules"
import type { PopularDocuments } from "../analytics/popular-documents.ts"
import type { FallbackMeanings } from "../embedding/fallback-meanings.ts"
import type { FallbackModels } from "../recommendation-models/fallback-models.ts"
import type { Rerankers } from "../rerankers/rerankers.ts"
import type { Visitor } from "../identity/visitor.ts"

type Parameters = Readonly<Record<string, string>>
export const isOn = (parameters: Parameters, name: string): boolean =>
  parameters[name] === "true" || parameters[name] === "1"

interface MerchandiseInput {
  readonly rules: CompiledRules | undefined
  readonly parameters: Parameters
  /** Evaluated only if something applies. */
  readonly visitor: () => Pick<Visitor, "device" | "language" | "country"> & Partial<Visitor>
  /** Whoever searches, histories of visitors do not affect this search. */ readonly isImpersonal?: boolean
  readonly now_ms: number
  /** `debug`, if the caller may use it. */ readonly explain: boolean
}

/** What the pipeline gets from this program: its clock, the most popular documents, and the organization's models. */
export const environmentOf = (
  organizationId: string,
  popular: PopularDocuments["Service"],
  models: Pick<Rerankers["Service"], "of">,
  fallbacks: FallbackModels["Service"],
  meanings: FallbackMeanings["Service"]
): Environment => ({
  reranker: (model, collection) => models.of(organizationId, collection, model),
  now_us: () => Math.round(performance.now() * 1_000),
  popular: (collection, limit) => popular.ids(organizationId, collection).slice(0, limit),
  recommended: (asked) => fallbacks.recommended(organizationId, asked),
  meaning: (asked) => meanings.meaning(organizationId, asked)
})

/** Undefined: the engine's answer passes unchanged, as in nearly every search without rules. */
export const searchMerchandise = ({
  explain,
  isImpersonal = false,
  now_ms,
  parameters,
  rules,
  visitor
}: MerchandiseInput): SearchMerchandise | undefined => {
  const reranks = isOn(parameters, "rerank")
  if (rules === undefined && !reranks && !explain) return undefined
  const who = visitor()
  const { country, device, language } = who
  // No parameter can switch off, or change, the reranking that active rules require.
  return {
    rules,
    request: { now_ms, device, language, country },
    explain,
    ...(isImpersonal || rules?.ruleSet.zero_hits_fallback !== "recommendations" ? {} : { visitor: recommendedTo(who) }),
    ...(reranks ? { rerank: askedRerank(parameters) } : {})
  }
}

const recommendedTo = ({ anonymous_id, session_id, user_id }: Partial<Visitor>): SearchVisitor => {
  const person = user_id ?? anonymous_id
  return {
    ...(session_id === undefined ? {} : { session: session_id }),
    ...(person === undefined ? {} : { person })
  }
}

/**
 * Decision: `rerank=true` reranks even without rules: the first `rerank_top_k` hits (50, at most the window of 250) by
 * `rerank_model` (`linear` by default) over the fields of `query_by`, within 50 ms. An unknown model leaves the
 * engine's order and is noted in `explain`, like an unknown preset: an answer is worth more than its last refinement.
 */
const askedRerank = (parameters: Parameters): RerankSettings => {
  const model = parameters.rerank_model ?? defaultRerank.model
  const top_k = Math.min(WINDOW, Number(parameters.rerank_top_k ?? defaultRerank.top_k))
  const fields = (parameters.query_by ?? "")
    .split(",")
    .map((field) => field.trim())
    .filter((field) => field !== "" && !field.includes("*"))
  return { ...defaultRerank, enabled: true, model, top_k, fields }
}

/** What a request asks for but does not get, without being refused: explained, so that nobody looks for it in vain. */
export const ignoredOf = (
  parameters: Parameters
): ReadonlyArray<{ readonly parameter: string; readonly value: string; readonly why: string }> => [
  ...((parameters.preset ?? "") === ""
    ? []
    : [{ parameter: "preset", value: String(parameters.preset), why: "there is no preset of this name" }]),
  ...(parameters.sort === undefined
    ? []
    : [{ parameter: "sort", value: parameters.sort, why: "sorts are picked by id from a profile, and none is named" }])
]
