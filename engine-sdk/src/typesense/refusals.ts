/** Parts of a plan that the API cannot express. They are refused by name, never ignored. */
import type { Capability } from "../capabilities.ts"
import type { EngineError } from "../errors.ts"
import type { SearchPlan } from "../plan.ts"

export const missing = (capability: Capability, parameter: string, what: string): EngineError => ({
  kind: "CapabilityMissing",
  message: `The search engine of this installation (a server of the Typesense API) has no ${what}.`,
  capability,
  parameter
})
/** Thrown deep within a plan that is being printed; caught where printing begins. */
export class Unprintable extends Error {
  readonly error: EngineError
  constructor(capability: Capability, parameter: string, what: string) {
    const error = missing(capability, parameter, what)
    super(error.message)
    this.error = error
  }
}

/** Refuses parts of a plan that no parameter expresses and that are not added here either. */
export const planRefusal = (plan: SearchPlan): EngineError | undefined => {
  if (plan.text?.relevance !== undefined)
    return missing("text_score_values", "ranking", `ranking \`${plan.text.relevance.ranking}\``)
  if ((plan.text?.synonyms.length ?? 0) > 0)
    return missing("typo_candidates", "synonym_sets", "synonyms that a search brings along")
  if (plan.diversity !== undefined) return missing("exact_ties", "curation_tags", "diversity of curations")
  if (plan.vector?.embed !== undefined && plan.vector.vector === undefined)
    return missing("vector_index", "vector_query", "texts to embed")
  return undefined
}
