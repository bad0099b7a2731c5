/** Decides for each hit whether it has the same picture or only a similar one. */
import { ok, type Result, type SearchEngine } from "@dowser/engine-sdk"
import { parseJson, stringifyJson } from "@dowser/engine-sdk/documents"
import { isObject } from "../http/json-fields.ts"

interface Comparison {
  readonly field: string
  readonly vector: Float32Array
  readonly stored: (ids: ReadonlyArray<string>) => ReturnType<SearchEngine["get"]>
  readonly isSame: (a: ArrayLike<number>, b: ArrayLike<number>) => boolean
}
interface Hit {
  readonly document?: { readonly id?: unknown }
  readonly vector_distance?: number
  match?: "same_image" | "look_alike"
}
/** Largest distance that counts as the same picture, for a hit whose id the caller may not see. */
const SAME_DISTANCE_MAX = 0.02

const hitsIn = (answer: { readonly hits?: unknown; readonly grouped_hits?: unknown }): ReadonlyArray<Hit> => [
  ...(Array.isArray(answer.hits) ? (answer.hits as ReadonlyArray<Hit>) : []),
  ...(Array.isArray(answer.grouped_hits)
    ? (answer.grouped_hits as ReadonlyArray<{ readonly hits: ReadonlyArray<Hit> }>).flatMap(({ hits }) => hits)
    : [])
]

/** The response with marks; reads at most 250 hits from the engine by their ids. */
export const withMatches = async (
  text: string,
  { field, isSame, stored, vector }: Comparison
): Promise<Result<string>> => {
  const answer = parseJson(text)
  if (!isObject(answer)) return ok(text)
  const hits = hitsIn(answer)
  const ids = [...new Set(hits.map(({ document }) => document?.id).filter((id) => typeof id === "string"))]
  const found = ids.length === 0 ? ok([]) : await stored(ids)
  if (!found.ok) return found
  const vectors = new Map<unknown, unknown>(found.value.map((document, i) => [ids[i], document?.[field]]))
  for (const hit of hits) {
    const own = vectors.get(hit.document?.id)
    const same = Array.isArray(own)
      ? isSame(vector, own as ReadonlyArray<number>)
      : (hit.vector_distance ?? 1) <= SAME_DISTANCE_MAX
    hit.match = same ? "same_image" : "look_alike"
  }
  return ok(stringifyJson(answer))
}
