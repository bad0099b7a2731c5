/** What an answer reports about its query: `query_understanding` and `correction`, as members of its JSON text. */
import { analyzerOf } from "@dowser/engine-sdk/analysis"
import { fieldNamed } from "@dowser/engine-sdk/query"
import type { UnionAnswer } from "@dowser/engine-sdk"
import type { FoundAnswer } from "@dowser/engine-sdk/operations"
import { correctedQuery } from "@dowser/engine-sdk/understanding"
import { normalizeQuery } from "@dowser/log/normalize-query"
import type { Understood } from "../understanding/understanding.ts"
import type { Rewritten } from "./rewriting.ts"

/** A search, or a union, represented by its first search; in a union nothing is rewritten and nothing corrected. */
export interface MadeAnswer extends Pick<Rewritten, "search" | "tried" | "used" | "typed"> {
  readonly found: FoundAnswer | FoundAnswer<UnionAnswer>
}

/** `q=*` contains nothing to understand. */
export const isAsking = (q: string | undefined): q is string => q !== undefined && q.trim() !== "*"

/**
 * Decision: `original` and `normalized` are the query as typed; words, language and entities are those of the query
 * that was answered. Each member is preceded by a comma.
 */
export const understoodMembers = (made: MadeAnswer, understood: Understood): string => {
  const { entities, language, tokens } = understood
  const { tried, typed } = made
  const understanding = {
    original: typed,
    normalized: normalizeQuery(typed),
    tokens,
    ...(language === undefined ? {} : { language }),
    rewrites: tried,
    entities
  }
  return `,"query_understanding":${JSON.stringify(understanding)},"correction":${JSON.stringify(correctionOf(made))}`
}

const correctionOf = ({
  found,
  search,
  typed,
  used
}: MadeAnswer): { readonly q: string; readonly type: string } | null => {
  if (used !== undefined) return { q: used.q, type: used.kind }
  const { collection, plan } = search
  const field = plan.text === undefined ? undefined : fieldNamed(collection.schema, plan.text.fields[0]!.field)
  if (found.corrections === undefined || field === undefined) return null
  const q = correctedQuery(typed, found.corrections, analyzerOf(collection.schema, field))
  return q === undefined ? null : { q, type: "typo" }
}
