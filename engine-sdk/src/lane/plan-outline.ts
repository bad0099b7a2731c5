/**
 * Plans as they are sent to other threads. A front end sends the same parameters with every keystroke, and their plans
 * share the parts that do not depend on the words (`query/plan-templates.ts`). Such a plan is sent once, as a base; the
 * others as what differs from it, a tenth of the text. The thread restores them with the same objects, so what it has
 * cached by a part of one plan is found by the next.
 */
import type { SearchPlan } from "../plan.ts"
import { plain } from "../search/answer/page-text.ts"
import { collectionsIn } from "./collections-in.ts"
import type { BasePlan, OutlinedPlan, SentPlan, SentWork, Work } from "./messages.ts"

export interface WorkOutline {
  readonly work: SentWork
  /** Names of all collections that the work may read. */ readonly names: ReadonlySet<string>
  /** Plans that a thread must have received. */ readonly bases: ReadonlyArray<BasePlan>
  /** Changes whenever all bases are dropped. */ readonly basesFrom: number
}
/** What a thread has received of the bases. */
export interface KnownBases {
  readonly numbers: Set<number>
  from: number
}

interface Base extends BasePlan {
  readonly names: ReadonlySet<string>
}
interface Collected {
  readonly names: Set<string>
  readonly bases: Set<BasePlan>
}
const BYTES_A_CHARACTER = 2
/** Bound of the bases as text; every thread that searches has them, too. */
export const PLAN_BASES_BYTES_MAX = 2_000_000

export class PlanBases {
  readonly bytes_max: number
  /** By a part that all plans of the same parameters share. */ readonly #bases = new Map<object, Base>()
  readonly #seen = new WeakSet<object>()
  #bytes = 0
  #next = 1
  #from = 1
  constructor(bytes_max = PLAN_BASES_BYTES_MAX) {
    this.bytes_max = bytes_max
  }
  /** Size of the bases as text. */
  get bytes(): number {
    return this.#bytes
  }
  /** O(what differs from the bases); for plans without one, O(plan). */
  outline(work: Work): WorkOutline {
    const into: Collected = { names: new Set(), bases: new Set() }
    const sent = this.#sentWork(work, into)
    return { work: sent, names: into.names, bases: [...into.bases], basesFrom: this.#from }
  }
  #sentWork(work: Work, into: Collected): SentWork {
    switch (work.kind) {
      case "search":
        return { ...work, plans: work.plans.map((plan) => this.#sentPlan(plan, into)) }
      case "union":
        return {
          ...work,
          plan: { ...work.plan, plans: work.plan.plans.map((plan) => this.#sentPlan(plan, into)) }
        }
      case "scan":
      case "prepare":
        collectionsIn(work, into.names)
        return work
    }
  }
  #sentPlan(plan: SearchPlan, { bases, names }: Collected): SentPlan {
    const shared = plan.text?.fields ?? plan.highlight
    const base = this.#bases.get(shared) ?? this.#added(shared, plan)
    const outlined = base === undefined ? undefined : outlineOf(plan, base)
    if (base === undefined || outlined === undefined) {
      collectionsIn(plan, names)
      return plan
    }
    for (const name of base.names) names.add(name)
    collectionsIn(outlined.changed, names)
    bases.add(base)
    return outlined
  }
  /** undefined for the first plan of its parameters, which may remain the only one. */
  #added(shared: object, plan: SearchPlan): Base | undefined {
    if (!this.#seen.has(shared)) {
      this.#seen.add(shared)
      return undefined
    }
    const bytes = BYTES_A_CHARACTER * plain(plan).length
    // One that is too large alone must not push out the others.
    if (bytes > this.bytes_max) return undefined
    if (this.#bytes + bytes > this.bytes_max) {
      this.#bases.clear()
      this.#bytes = 0
      this.#from = this.#next
    }
    this.#bytes += bytes
    const base: Base = { number: this.#next++, plan, names: collectionsIn(plan) }
    this.#bases.set(shared, base)
    return base
  }
}

interface Difference<A> {
  readonly changed: Partial<A>
  readonly absent: ReadonlyArray<keyof A>
}
/** The members of `plan` that are not those of `base`; one that is undefined counts as absent. O(members). */
const difference = <A extends object>(plan: A, base: A, except?: keyof A): Difference<A> => {
  const changed: Partial<A> = {},
    absent: Array<keyof A> = []
  for (const key in plan)
    if (plan[key] !== base[key] && plan[key] !== undefined && key !== except) changed[key] = plan[key]
  for (const key in base) if (base[key] !== undefined && plan[key] === undefined) absent.push(key)
  return { changed, absent }
}
/** undefined if the plan is better sent whole. */
const outlineOf = (plan: SearchPlan, { number, plan: base }: BasePlan): OutlinedPlan | undefined => {
  if (plan.collection !== base.collection || (plan.text === undefined) !== (base.text === undefined)) return undefined
  const { absent, changed } = difference(plan, base, "text")
  if (plan.text === undefined || base.text === undefined) return { base: number, changed, ...ifAny(absent) }
  const text = difference(plan.text, base.text)
  return text.absent.length > 0 ? undefined : { base: number, changed, text: text.changed, ...ifAny(absent) }
}
const ifAny = (absent: ReadonlyArray<keyof SearchPlan>): Pick<OutlinedPlan, "absent"> =>
  absent.length === 0 ? {} : { absent }

/** The bases that the thread must be sent first; records them as sent. */
export const basesToSend = (
  { bases, basesFrom }: Pick<WorkOutline, "bases" | "basesFrom">,
  known: KnownBases
): ReadonlyArray<BasePlan> => {
  if (known.from !== basesFrom) {
    known.numbers.clear()
    known.from = basesFrom
  }
  const missing = bases.filter(({ number }) => !known.numbers.has(number))
  for (const { number } of missing) known.numbers.add(number)
  return missing.map(({ number, plan }) => ({ number, plan }))
}

/** The bases that a thread has received. */
export class ReceivedBases {
  #plans = new Map<number, SearchPlan>()
  #from = 1
  receive(from: number, bases: ReadonlyArray<BasePlan>): void {
    if (from !== this.#from) {
      this.#plans.clear()
      this.#from = from
    }
    for (const { number, plan } of bases) this.#plans.set(number, plan)
  }
  restored(sent: SentPlan): SearchPlan {
    if (!("base" in sent)) return sent
    const base = this.#plans.get(sent.base)
    if (base === undefined) throw new Error(`plan ${sent.base} was not received`)
    const plan = {
      ...base,
      ...sent.changed,
      ...(sent.text === undefined ? {} : { text: { ...base.text!, ...sent.text } })
    }
    for (const key of sent.absent ?? []) delete (plan as Partial<SearchPlan>)[key]
    return plan
  }
}
