/** Several searches as one ranked list: each is searched separately, and the results are merged here. */
import type { Dictionaries } from "../analysis/tokens.ts"
import { fail, notFound, ok, type Result } from "../errors.ts"
import type { CollectionReader } from "../index/reader.ts"
import type { SearchPlan, UnionAnswer, UnionPlan } from "../plan.ts"
import { executeUnion } from "../search/answer/union.ts"
import type { Entry } from "./directory.ts"
import { planWithFilterWords } from "./filter-words.ts"
import { findPlan, windowPlan, type SearchParts } from "./search.ts"
import { documentOf, type StoredForm } from "./stored-form.ts"
import type { Found } from "./trips.ts"
import { windowReader } from "./window.ts"

export const searchUnion = async (
  parts: SearchParts,
  union: UnionPlan,
  entryOf: (name: string) => Entry | undefined,
  dictionaries: Dictionaries,
  left_ms: number
): Promise<Result<UnionAnswer>> => {
  const started = performance.now()
  const reach = Math.min(union.offset + union.limit, union.hits_max)
  // Each list is fetched as far as the merged one is shown, because any of them may hold all of its first hits.
  const plans: SearchPlan[] = []
  for (const plan of union.plans) {
    const entry = entryOf(plan.collection)
    const chosen = entry === undefined ? ok(plan) : await planWithFilterWords(parts, entry, plan, left_ms)
    if (!chosen.ok) return chosen
    plans.push({ ...chosen.value, offset: 0, limit: reach, hits_max: reach })
  }
  const left = left_ms - (performance.now() - started)
  const answers = await Promise.all(
    plans.map((plan): Promise<Result<Found>> => {
      const entry = entryOf(plan.collection)
      return entry === undefined
        ? Promise.resolve(fail(notFound(`\`${plan.collection}\` collection not found.`)))
        : findPlan(parts, entry, plan, left)
    })
  )
  const found: Found[] = []
  for (const answer of answers) {
    if (!answer.ok) return answer
    found.push(answer.value)
  }
  const readers = readersOf(plans, found, entryOf, dictionaries)
  const own = plans.map((plan, i) => ({
    ...windowPlan(plan, found[i]),
    // All searches of a collection share one index of documents; each is restricted to the documents that it found.
    filter: { kind: "ids" as const, ids: found[i].documents.map((stored) => String(documentOf(stored).id)) }
  }))
  const merged = executeUnion(
    { collection: (name) => readers.get(name), names: () => [], dictionaries },
    { ...union, plans: own }
  )
  if (!merged.ok) return merged
  return ok(withCounts(merged.value, union, found, entryOf, started))
}
const readersOf = (
  plans: UnionPlan["plans"],
  found: ReadonlyArray<Found>,
  entryOf: (name: string) => Entry | undefined,
  dictionaries: Dictionaries
): ReadonlyMap<string, CollectionReader> => {
  const readers = new Map<string, CollectionReader>()
  for (const name of new Set(plans.map(({ collection }) => collection))) {
    const schema = entryOf(name)?.record.schema
    if (schema === undefined) continue
    const own = plans.flatMap((plan, i) => (plan.collection === name ? [{ plan, found: found[i] }] : []))
    const documents: StoredForm[] = own.flatMap((one) => [...one.found.documents, ...one.found.placed])
    readers.set(
      name,
      windowReader(
        schema,
        documents,
        own.map(({ plan }) => plan),
        dictionaries
      )
    )
  }
  return readers
}
/** Replaces counts of fetched documents by the cluster's counts; duplicates that were found stay subtracted. */
const withCounts = (
  answer: UnionAnswer,
  { plans }: UnionPlan,
  found: ReadonlyArray<Found>,
  entryOf: (name: string) => Entry | undefined,
  started: number
): UnionAnswer => {
  const names = new Set(plans.map(({ collection }) => collection))
  const more = answer.union_request_params.reduce(
    (sum, { found: shown }, i) => sum + Math.max(0, found[i].total - shown),
    0
  )
  answer.found += plans.every(({ group }) => group === undefined) ? more : 0
  answer.out_of = [...names].reduce((sum, name) => sum + (entryOf(name)?.documents ?? 0), 0)
  answer.search_time_ms = Math.round(performance.now() - started)
  answer.search_cutoff ||= found.some(({ isCutOff }) => isCutOff)
  for (const [i, params] of answer.union_request_params.entries()) params.found = Math.max(params.found, found[i].total)
  if (answer.organic !== undefined) answer.organic = found.map(({ organic }) => organic)
  return answer
}
