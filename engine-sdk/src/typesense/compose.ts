/**
 * Composes a plan that a single search of the API cannot express from several: documents that rules place or that a
 * restricted caller pins, the count without them, and the window that stages reorder. A first request (`ask`)
 * determines which of the named documents exist and pass their filters; the rest is sent in one request.
 */
import { isSelected, select } from "../documents/select.ts"
import { fail, ok, type Result } from "../errors.ts"
import type { Hit, Injection, SearchAnswer, SearchPlan, Selection } from "../plan.ts"
import type { Filter } from "../filter.ts"
import { allOf } from "../query/mod.ts"
import type { CollectionSchema } from "../schema.ts"
import { settlePositions } from "../search/rank/placement.ts"
import { missing } from "./refusals.ts"
import { windowOf } from "./window.ts"

/** Maximum hits per search of a stock server. */
const PAGE_MAX = 250

/** A document and its position, from 1. */
interface Fixed {
  readonly id: string
  readonly position: number
  readonly injection?: Injection
}
export interface Composed {
  /** Plans that can each be printed; the answer is based on the first. */ readonly plans: ReadonlyArray<SearchPlan>
  readonly combine: (answers: ReadonlyArray<SearchAnswer>) => SearchAnswer
}
/** Returns the ids that pass each filter; all that exist for a filter that is undefined. */
type AskPassing = (
  filters: ReadonlyArray<Filter | undefined>,
  ids: ReadonlyArray<string>
) => Promise<Result<ReadonlyArray<ReadonlySet<string>>>>

const isPlain = ({ filterCuratedHits, injected, pinned, pinnedFilter, window }: SearchPlan): boolean => {
  if (window !== undefined || (injected?.length ?? 0) > 0) return false
  return pinned.length === 0 || (injected === undefined && (pinnedFilter === undefined || filterCuratedHits))
}

/** Most plans need a single search. O(number of placed documents + window). */
export const compose = async (
  plan: SearchPlan,
  schema: CollectionSchema,
  ask: AskPassing
): Promise<Result<Composed>> => {
  if (isPlain(plan)) return ok({ plans: [plan], combine: ([answer]) => withOrganic(plan, answer!, undefined) })
  const fixed = await fixedOf(plan, ask)
  if (!fixed.ok) return fixed
  const { injected, injectedFilter: _injected, pinnedFilter: _pinned, window, ...bare } = plan
  const isRead = window !== undefined || fixed.value.length > 0
  const shown = new Shown(plan, isRead ? ["id", ...(window?.fields ?? [])] : [])
  const base: SearchPlan = { ...bare, ...shown.asked, filterCuratedHits: false, pinned: [] }
  const ids = fixed.value.map(({ id }) => id)
  const named = new Set(ids)
  const plans: SearchPlan[] = [{ ...base, pinned: fixed.value, hidden: plan.hidden.filter((id) => !named.has(id)) }]
  const isCounted = injected !== undefined && ids.length > 0
  if (isCounted) plans.push(countOnly(base))
  const from = plans.length
  if (window !== undefined) plans.push(...windowPlans(base, window.size, ids))
  const combine = (answers: ReadonlyArray<SearchAnswer>): SearchAnswer => {
    const answer = withOrganic(plan, answers[0]!, isCounted ? answers[1]!.found : undefined)
    answer.search_cutoff ||= answers.some((one) => one.search_cutoff)
    for (const hits of [answer.hits ?? [], ...(answer.grouped_hits ?? []).map((group) => group.hits)])
      for (const hit of hits) markPlaced(hit, fixed.value)
    if (window !== undefined) {
      const [placed, ...pages] = answers.slice(from).map(({ hits = [] }) => hits)
      for (const hit of placed!) markPlaced(hit, fixed.value)
      answer.hits = []
      answer.window = windowOf(schema, pages.flat(), placed!, fixed.value, (hit) => shown.of(hit))
    } else {
      if (answer.hits !== undefined) answer.hits = answer.hits.map((hit) => shown.of(hit))
      for (const group of answer.grouped_hits ?? []) group.hits = group.hits.map((hit) => shown.of(hit))
    }
    return answer
  }
  return ok({ plans, combine })
}

/** Sets the number of matches; placed documents count only if they match. */
const withOrganic = ({ group, injected }: SearchPlan, answer: SearchAnswer, counted: number | undefined) => {
  if (injected !== undefined)
    answer.organic = counted ?? (group === undefined ? answer.found : (answer.found_docs ?? answer.found))
  return answer
}
const countOnly = (base: SearchPlan): SearchPlan => ({
  ...base,
  facets: [],
  facetQuery: undefined,
  group: undefined,
  // Sorting does not affect a count, and sorting by group size needs groups.
  sort: base.sort.filter(({ kind }) => kind !== "group_found"),
  offset: 0,
  limit: 0
})
/** The placed documents, followed by the other hits page by page. */
const windowPlans = (base: SearchPlan, size: number, ids: ReadonlyArray<string>): ReadonlyArray<SearchPlan> => {
  const bare: SearchPlan = { ...base, facets: [], facetQuery: undefined }
  const placed: SearchPlan = {
    ...bare,
    // Pinned in the same search, so that the words it found are highlighted.
    pinned: ids.map((id, i) => ({ id, position: i + 1 })),
    hidden: base.hidden.filter((id) => !ids.includes(id)),
    offset: 0,
    limit: ids.length
  }
  const hidden = [...new Set([...base.hidden, ...ids])]
  const pages = Array.from({ length: Math.ceil(size / PAGE_MAX) }, (_page, i): SearchPlan => ({
    ...bare,
    hidden,
    offset: i * PAGE_MAX,
    limit: Math.min(PAGE_MAX, size - i * PAGE_MAX)
  }))
  return [placed, ...pages]
}

/** Documents that are placed; those of rules come first, as in every engine. */
const fixedOf = async (plan: SearchPlan, ask: AskPassing): Promise<Result<ReadonlyArray<Fixed>>> => {
  const { filter, filterCuratedHits, injected = [], injectedFilter, pinned, pinnedFilter } = plan
  const hidden = new Set(plan.hidden)
  const wanted = injected.flatMap((injection) =>
    "id" in injection.target ? [{ id: injection.target.id, position: injection.position, injection }] : []
  )
  if (wanted.length < injected.length)
    return fail(missing("exact_ties", "rules", "sponsored places for the best of a filter"))
  const ids = [...new Set([...wanted, ...pinned].map(({ id }) => id))]
  if (ids.length > PAGE_MAX)
    return fail(missing("exact_ties", "rules", `room for more than ${PAGE_MAX} placed documents`))
  if (ids.length === 0) return ok([])
  const asked = await ask(
    [undefined, injectedFilter ?? filter, pinnedFilter, filterCuratedHits ? filter : pinnedFilter],
    ids
  )
  if (!asked.ok) return asked
  const [existing, passing, restricted, pinnable] = asked.value as ReadonlyArray<ReadonlySet<string>>
  const chosen: ReadonlyArray<Fixed> = wanted.filter(({ id, injection }) =>
    (injection.mustPassFilter ? passing! : restricted!).has(id)
  )
  const positions = new Set<number>(),
    seen = new Set<string>()
  const curated = pinned.filter(({ id, position }) => {
    if (hidden.has(id) || !existing!.has(id)) return false
    const isFirst = !positions.has(position) && !seen.has(id)
    positions.add(position)
    seen.add(id)
    return isFirst
  })
  // Documents that are filtered out leave their positions to those after them.
  const permitted = curated
    .filter(({ id }) => pinnable!.has(id))
    .map((pin, i): Fixed => ({ ...pin, position: curated[i]!.position }))
  const known = new Set<string>()
  const claims = [...chosen, ...permitted].filter(({ id }) => !known.has(id) && known.add(id))
  return ok(settlePositions(claims))
}
const markPlaced = (hit: Hit, fixed: ReadonlyArray<Fixed>): void => {
  if (hit.curated !== true) return
  const { injection } = fixed.find(({ id }) => id === hit.document.id) ?? {}
  if (injection?.kind === "pin") hit.pinned = true
  if (injection?.sponsored !== undefined) hit.sponsored = { ...injection.sponsored }
}

/** Fields that are needed here although the answer does not show them: they are requested, then removed again. */
class Shown {
  readonly #selection: Selection
  readonly #isWider: boolean
  readonly asked: Pick<SearchPlan, "highlight" | "selection">
  constructor({ highlight, selection }: SearchPlan, read: ReadonlyArray<string>) {
    const more = [...new Set(read)].filter((name) => !isSelected(selection, name))
    const { exclude: _exclude, include, joins } = selection
    this.#isWider = more.length > 0
    this.#selection = { ...selection, include: include.length === 0 ? [] : [...include, ...joins.map(joinedName)] }
    // Highlights are chosen by the fields that are shown.
    const marked = highlight.explicit
      ? highlight.fields
      : highlight.fields.filter((name) => isSelected(selection, name))
    this.asked = this.#isWider
      ? {
          highlight: { ...highlight, explicit: true, fields: marked },
          selection: { include: include.length === 0 ? [] : [...include, ...more], exclude: [], joins }
        }
      : { highlight, selection }
  }
  of(hit: Hit): Hit {
    return this.#isWider ? { ...hit, document: select(hit.document, this.#selection) } : hit
  }
}
const joinedName = ({ alias, collection }: Selection["joins"][number]): string => alias ?? collection

/** A filter for one list of ids, combined with `filter` if there is one. */
export const passingFilter = (ids: ReadonlyArray<string>, filter: Filter | undefined): Filter =>
  allOf({ kind: "ids", ids }, filter)!
