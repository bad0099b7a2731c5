/** Several searches as one ranked list (`docs/contract/search.md#union`). */
import { fail, notFound, ok, type Result } from "../../errors.ts"
import type { Hit, UnionAnswer, UnionPlan } from "../../plan.ts"
import { Allowance, Cutoff, LateQuantum, sortSpending, spend, within } from "../../budget/cutoff.ts"
import { execute, type Execution } from "../execution/execution.ts"
import { fixedPlace, organicPlace, type Placed } from "../execution/placed.ts"
import { interleave, settlePositions } from "../rank/placement.ts"
import type { SearchScope } from "../scope.ts"
import { cutoffOf, withinBudget } from "./answer.ts"
import { HitRenderer } from "./hit-renderer.ts"
import { RenderedWindow, type WindowEntry } from "./rendered-window.ts"

/** Minimum time for merging the lists and making hits, granted even after the deadline. */
const UNION_MIN_MS = 10
/** Minimum number of hits that a union checks for duplicates. */
const UNION_WINDOW = 250

/**
 * Executes several plans as one ranked list; ties are broken by plan, then newest first. Otherwise like
 * `executeSearch`; the time limit is the longest of the plans' limits.
 */
export const executeUnion = (
  scope: SearchScope,
  union: UnionPlan,
  allowance = new Allowance(),
  left_ms = Infinity
): Result<UnionAnswer> => withinBudget(union.plans, () => unionOf(scope, union, allowance, left_ms))
const unionOf = (scope: SearchScope, union: UnionPlan, allowance: Allowance, left_ms: number): Result<UnionAnswer> => {
  const executions: Execution[] = []
  try {
    return unionOver(executions, scope, union, allowance, left_ms)
  } finally {
    for (const execution of executions) execution.release()
  }
}
/** Adds each execution to `executions` as soon as it exists; the caller releases them. */
const unionOver = (
  executions: Execution[],
  scope: SearchScope,
  union: UnionPlan,
  allowance: Allowance,
  left_ms: number
): Result<UnionAnswer> => {
  const most_ms = union.plans.reduce((most, { cutoff_ms }) => Math.max(most, cutoff_ms), 0)
  const started = performance.now()
  const end = Math.min(union.offset + union.limit, union.hits_max)
  const begun_ms = allowance.used_ms()
  for (const plan of union.plans) {
    const reader = scope.collection(plan.collection)
    if (reader === undefined) return fail(notFound(`\`${plan.collection}\` collection not found.`))
    executions.push(
      execute(scope, reader, plan, Infinity, cutoffOf(allowance, plan, Math.min(left_ms, most_ms + begun_ms)))
    )
  }
  // All lists are complete, so merging them gets its few milliseconds in any case.
  const cutoff = new Cutoff(allowance, Math.min(begun_ms + most_ms, left_ms)).atLeast(UNION_MIN_MS)
  const answer = within(cutoff, () => mergedUnion(executions, union, end, started))
  if (cutoff.isPast) answer.search_cutoff = true
  return ok(answer)
}
/** A document found by one of the searches; `at` is the index of the search. */
interface UnionPlaced {
  readonly at: number
  readonly placed: Placed
}
interface Merged {
  /** Ranked documents of all searches in one order. */ readonly ranked: ReadonlyArray<UnionPlaced>
  readonly fixed: ReadonlyArray<UnionPlaced & { readonly position: number }>
  /** Number of duplicates that `found` does not count. */ readonly removed: number
}

const mergedUnion = (
  executions: ReadonlyArray<Execution>,
  union: UnionPlan,
  end: number,
  started: number
): UnionAnswer => {
  const isGrouped = executions.every(({ grouping }) => grouping !== undefined)
  const renderers = executions.map((execution) => new HitRenderer(execution))
  const merged = mergedLists(executions, union, end, isGrouped)
  const moreOf = (at: number): Pick<Hit, "search_index" | "collection"> => ({
    collection: executions[at].plan.collection,
    search_index: at
  })
  const show = ({ at, placed }: UnionPlaced): Hit[] => {
    const hit = renderers[at].hit(placed)
    return hit === undefined ? [] : [{ ...hit, ...moreOf(at) }]
  }
  const hits =
    isGrouped || union.window !== undefined
      ? []
      : interleave(merged.ranked, merged.fixed, end).slice(union.offset).flatMap(show)
  const answer = envelope(executions, union, merged.removed, isGrouped ? undefined : hits, started)
  if (!isGrouped && union.window !== undefined) {
    const entryOf = ({ at, placed }: UnionPlaced): WindowEntry => ({ placed, render: renderers[at], more: moreOf(at) })
    answer.window = new RenderedWindow(
      union.window.fields,
      new LateQuantum(executions[0].cutoff),
      merged.ranked.slice(0, union.window.size).map(entryOf),
      merged.fixed.map((one) => ({ ...entryOf(one), position: one.position }))
    )
  }
  if (isGrouped) {
    const groups = groupsOf(executions, renderers, interleave(merged.ranked, merged.fixed, Infinity))
    answer.found = groups.length
    answer.grouped_hits = groups
      .slice(union.offset, end)
      .map(({ key, members, found }) => ({ group_key: key, found, hits: members.flatMap(show) }))
  }
  return answer
}
const envelope = (
  executions: ReadonlyArray<Execution>,
  union: UnionPlan,
  removed: number,
  hits: Hit[] | undefined,
  started: number
): UnionAnswer => {
  const collections = new Map(executions.map(({ plan, reader }) => [plan.collection, reader.documentCount]))
  const answer: UnionAnswer = {
    found: executions.reduce((total, execution) => total + execution.foundDocuments, 0) - removed,
    ...(hits === undefined ? {} : { hits }),
    ...(union.echoOffset === undefined ? {} : { offset: union.echoOffset }),
    out_of: [...collections.values()].reduce((total, n) => total + n, 0),
    ...(union.page === undefined ? {} : { page: union.page }),
    search_cutoff: executions.some(({ isCutOff }) => isCutOff),
    search_time_ms: Math.round(performance.now() - started),
    union_request_params: executions.map((execution) => ({
      collection_name: execution.plan.collection,
      first_q: execution.plan.echo.q,
      found: execution.foundDocuments,
      per_page: execution.plan.echo.per_page,
      q: execution.plan.echo.q
    }))
  }
  if (executions.some(({ plan }) => plan.injected !== undefined))
    answer.organic = executions.map((execution) => execution.organicDocuments)
  return answer
}

interface UnionGroup {
  readonly key: unknown[]
  readonly members: UnionPlaced[]
  found: number
}
/** Groups of all searches, ordered by their first hits; groups with equal keys are merged. */
const groupsOf = (
  executions: ReadonlyArray<Execution>,
  renderers: ReadonlyArray<HitRenderer>,
  placed: ReadonlyArray<UnionPlaced>
): ReadonlyArray<UnionGroup> => {
  const groups = new Map<string, UnionGroup>()
  for (const one of placed) {
    spend(64)
    const key = renderers[one.at].groupKey(one.placed)
    const text = JSON.stringify(key)
    let group = groups.get(text)
    if (group === undefined) groups.set(text, (group = { key, members: [], found: 0 }))
    group.found++
    if (group.members.length < executions[one.at].plan.group!.limit) group.members.push(one)
  }
  return [...groups.values()]
}

const mergedLists = (
  executions: ReadonlyArray<Execution>,
  union: UnionPlan,
  end: number,
  isGrouped: boolean
): Merged => {
  const reach = Math.max(end, union.window?.size ?? 0)
  // Removing duplicates needs the entire list of each plan, because duplicates reduce `found`.
  const isWhole = union.removeDuplicates || isGrouped
  const lists = executions.map((execution, at) => {
    const size = Math.max(1, isWhole ? execution.foundDocuments : Math.min(execution.foundDocuments, reach))
    return execution.rank(size).map((ranked): UnionPlaced => ({ at, placed: organicPlace(ranked) }))
  })
  const keyOf = ({ at, placed }: UnionPlaced): string =>
    `${executions[at].plan.collection}\n${executions[at].reader.views[placed.s].segment.seqs[placed.doc]}`
  const { fixed, repeated } = fixedOf(executions, keyOf)
  const ranked = mergeLists(executions, lists)
  if (!union.removeDuplicates || isGrouped) return { ranked, fixed, removed: repeated }
  const injected = fixed.filter(({ placed }) => placed.injection !== undefined).map(keyOf)
  const { removed, unique } = withoutRepetitions(ranked, keyOf, injected, Math.max(UNION_WINDOW, end))
  return { ranked: unique, fixed, removed: repeated + removed }
}
/** `known`: documents that are shown in any case. `window`: how many leading documents are checked for duplicates. */
const withoutRepetitions = (
  ranked: ReadonlyArray<UnionPlaced>,
  keyOf: (one: UnionPlaced) => string,
  known: ReadonlyArray<string>,
  window: number
): { readonly unique: ReadonlyArray<UnionPlaced>; readonly removed: number } => {
  const seen = new Set(known)
  const counted = new Set(known)
  let removed = 0
  const unique = ranked.filter((one) => {
    spend(16)
    const key = keyOf(one)
    if (seen.has(key)) {
      // Decision: `found` is reduced only by duplicates among the best hits, as recorded.
      if (counted.has(key)) removed++
      return false
    }
    if (seen.size < window) counted.add(key)
    seen.add(key)
    return true
  })
  return { unique, removed }
}
/**
 * Documents that are placed regardless of rank: injected hits at their positions, those of the first plan first; then
 * curated hits before everything else, as recorded. A document injected by several plans is shown and counted once
 * (`repeated`: number of hits that are not shown).
 */
const fixedOf = (
  executions: ReadonlyArray<Execution>,
  keyOf: (one: UnionPlaced) => string
): { readonly fixed: ReadonlyArray<UnionPlaced & { readonly position: number }>; readonly repeated: number } => {
  const all = executions.flatMap((execution, at) =>
    execution.pinned.map((pin) => ({ at, placed: fixedPlace(pin), position: pin.position }))
  )
  const shown = new Set<string>()
  const injected = all.filter((one) => one.placed.injection !== undefined)
  const once = injected.filter((one) => !shown.has(keyOf(one)) && shown.add(keyOf(one)).size > 0)
  const curated = all.filter((one) => one.placed.injection === undefined).map((one, i) => ({ ...one, position: i + 1 }))
  return { fixed: settlePositions([...once, ...curated]), repeated: injected.length - once.length }
}
/** Merges the lists into one, in the order of the sort keys. */
const mergeLists = (
  executions: ReadonlyArray<Execution>,
  lists: ReadonlyArray<ReadonlyArray<UnionPlaced>>
): UnionPlaced[] => {
  const all = lists.flat()
  const keysOf = executions.map(({ plan }) => plan.sort)
  const texts = new Map<Placed, Array<string | undefined>>()
  for (const { at, placed } of all) {
    spend(16)
    texts.set(
      placed,
      executions[at].columns[placed.s].map((column) => column.text?.(placed.doc))
    )
  }
  return sortSpending(all, (a, b) => {
    const x = a.placed.ranked!,
      y = b.placed.ranked!
    let at = 0
    for (let k = 0; k < keysOf[a.at].length; k++) {
      const s = texts.get(a.placed)![k],
        t = texts.get(b.placed)![k]
      const { width } = executions[a.at].columns[x.s][k]
      if (s !== undefined && t !== undefined) {
        if (s !== t) return (s < t ? -1 : 1) * (keysOf[a.at][k].order === "desc" ? -1 : 1)
      } else for (let i = at; i < at + width; i++) if (x.keys[i] !== y.keys[i]) return y.keys[i] > x.keys[i] ? 1 : -1
      at += width
    }
    return a.at - b.at || y.seq - x.seq
  })
}
