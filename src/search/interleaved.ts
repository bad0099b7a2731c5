/**
 * Merges two rankings of one search into one list (`teamDraft`), for experiments that compare them. The second search
 * runs after the first, only for first pages of at most 250 hits; everything but the hits is from the first. If there
 * is nothing to merge, the answer is the control's and is not counted. Pure, given its inputs.
 */
import type { Hit } from "@dowser/engine-sdk"
import { type Teams, teamDraft, teamsOf } from "@dowser/engine-sdk/experiments"
import type { FoundAnswer, PlannedSearch } from "@dowser/engine-sdk/operations"

/** Maximum number of hits in a merged list. */
const HITS_MAX = 250

/** A first page of hits with ids: no groups, no later page, no redirect. */
export const mayMerge = ({ plan }: PlannedSearch, { answer, asked }: FoundAnswer): boolean =>
  asked && plan.group === undefined && plan.offset === 0 && plan.limit <= HITS_MAX && idsOf(answer.hits) !== undefined

/** Undefined if a hit has no id (`exclude_fields`), or there are no hits. */
const idsOf = (hits: ReadonlyArray<Hit> | undefined): ReadonlyArray<string> | undefined => {
  const ids = (hits ?? []).map(({ document }) => document.id)
  return hits !== undefined && ids.every((id) => typeof id === "string") ? ids : undefined
}

/** Puts the merged hits into the first answer; undefined if that is impossible. The page length stays the same. */
export const mergeHits = (
  search: PlannedSearch,
  found: FoundAnswer,
  other: FoundAnswer,
  seed: string
): Teams | undefined => {
  const [a, b] = [idsOf(found.answer.hits), idsOf(other.answer.hits)]
  if (a === undefined || b === undefined || !other.asked) return undefined
  const drafted = teamDraft(a, b, seed, Math.min(search.plan.limit, HITS_MAX))
  const hits = new Map<string, Hit>()
  b.forEach((id, i) => hits.set(id, other.answer.hits![i]!))
  a.forEach((id, i) => hits.set(id, found.answer.hits![i]!))
  found.answer.hits = drafted.map(({ id }) => hits.get(id)!)
  return teamsOf(drafted)
}
