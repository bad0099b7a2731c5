/**
 * Processes a collection's events in order, as the live state would have: for each judged event, the model is first
 * queried with everything known until then, and learns it afterwards. The first three fifths only teach, the fourth
 * chooses parameters, the last measures the chosen ones. The same events give the same figures.
 */
import { givingWay } from "@dowser/engine-sdk/host"
import { CollectionModel, KINDS, LIMITS, type ModelEvent, Workbench } from "@dowser/engine-sdk/recommend"
import { listParameters, type ModelType, type Params } from "../recommendation-models/params.ts"
import type { Metrics } from "../recommendation-models/schema.ts"
import { Judged } from "./judged.ts"
import { candidatesFor } from "./tuning.ts"

const LEARNED_SHARE = 0.6
const VALIDATED_SHARE = 0.8
/** If there are more cases, every second, third, … is used. */
const VALIDATION_CASES_MAX = 1_500
const CASES_MAX = 5_000
/** With fewer cases, figures reflect chance more than the model. */
const CASES_MIN = 200
/** A smaller gain may be chance, and would change answers for no reason. */
const LEAST_GAIN = 1.01
const TOP = 20
const LISTS_FOR_MS = 3_600_000
const BASKET_IDLE_MS = 1_800_000
const PURCHASE = KINDS.indexOf("purchase")
/** Seeds from a basket: items that are already in it. */
const SEEDS_MAX = 5

interface Case {
  /** The items of the visit, or the basket, so far; newest last. */ readonly recent: ReadonlyArray<string>
  readonly target: string
  readonly event: ModelEvent
}

/** What a model of the type answers, without items of the visit. */
const recommended = (
  model: CollectionModel,
  type: ModelType,
  params: Params,
  { event: { at, person, visitor }, recent }: Case
): ReadonlyArray<string> => {
  const p = listParameters(params, type)
  const most = TOP + recent.length
  const lists = {
    also_viewed: () => model.next(recent, visitor, at, most, p.next),
    similar: () => model.next(recent, visitor, at, most),
    personalized: () => model.taste(person === "" ? recent : model.history(person), visitor, at, most, p.taste),
    frequently_bought_together: () =>
      model.together(recent.slice(-SEEDS_MAX), most, { popularityBias: p.popularity_bias, minSupport: p.min_support }),
    trending: () => model.trending(at, most, { windowHours: p.window_hours, baselineDays: p.baseline_days }),
    popular: () => model.popular(at, most, { halfLifeDays: p.half_life_days, kind: p.kind })
  }
  const seen = new Set(recent)
  return lists[type]()
    .filter(({ id }) => !seen.has(id))
    .slice(0, TOP)
    .map(({ id }) => id)
}

/** Open baskets: purchases within half an hour. */
class Baskets {
  readonly #open = new Map<string, { readonly items: Array<string>; at: number }>()
  of(visitor: string, at: number): Array<string> {
    const known = this.#open.get(visitor)
    if (known !== undefined && at - known.at <= BASKET_IDLE_MS) {
      known.at = at
      return known.items
    }
    const items: Array<string> = []
    this.#open.set(visitor, { items, at })
    return items
  }
}

/** Cases of one event: its items that the model knows and that its visit did not have. */
const casesOf = function* (model: CollectionModel, baskets: Baskets | undefined, event: ModelEvent): Generator<Case> {
  const { at, documents, kind, visitor } = event
  if (visitor === "" || (baskets !== undefined && kind !== PURCHASE)) return
  const own = baskets?.of(visitor, at)
  const recent = own ?? [...model.visit(visitor, at)]
  for (const target of documents) {
    if (recent.includes(target)) continue
    if (recent.length > 0 && model.numberOf(target) !== undefined) yield { recent: [...recent], target, event }
    recent.push(target)
  }
}

/** Every how many cases one is used, so that they are spread over the entire period. */
const strideOf = (events: ReadonlyArray<ModelEvent>, most: number): number =>
  Math.max(1, Math.ceil(events.reduce((sum, { documents }) => sum + documents.length, 0) / most))

/** Index of the best: a model's own parameters stay if none are clearly better. */
const bestOf = ([own, ...others]: ReadonlyArray<Judged>): number => {
  if (own === undefined || own.cases < CASES_MIN) return 0
  let best = 0,
    bar = own.figures.mrr_at_20 * LEAST_GAIN
  for (const [i, { figures }] of others.entries())
    if (figures.mrr_at_20 > bar) {
      best = i + 1
      bar = figures.mrr_at_20
    }
  return best
}

/** One model while it processes the events. */
class Trial {
  readonly model = new CollectionModel(LIMITS, new Workbench({ listsFor_ms: LISTS_FOR_MS }))
  readonly #type: ModelType
  readonly #candidates: ReadonlyArray<Params>
  readonly #baskets: Baskets | undefined
  readonly #tried: ReadonlyArray<Judged>
  readonly #own = new Judged()
  readonly #untuned = new Judged()
  readonly #popular = new Judged()
  readonly #give = givingWay()

  constructor(type: ModelType, params: Params) {
    this.#type = type
    this.#candidates = candidatesFor(type, params)
    this.#tried = this.#candidates.map(() => new Judged())
    this.#baskets = type === "frequently_bought_together" ? new Baskets() : undefined
  }
  async learn(events: ReadonlyArray<ModelEvent>): Promise<void> {
    for (const event of events) {
      this.model.add(event)
      await this.#turn()
    }
  }
  /** Queries the model with each candidate's parameters before each event is learned. */
  validate(events: ReadonlyArray<ModelEvent>): Promise<void> {
    return this.#judged(events, VALIDATION_CASES_MAX, async (one) => {
      for (const [i, params] of this.#candidates.entries()) {
        this.#judge(this.#tried[i]!, this.#type, params, one)
        await this.#turn()
      }
    })
  }
  /** Likewise for the best candidate, compared with the model as it was and with the popular items. */
  async measure(events: ReadonlyArray<ModelEvent>): Promise<Metrics> {
    const [untuned, ...others] = this.#candidates
    const chosen = bestOf(this.#tried)
    const params = [untuned!, ...others][chosen]!
    await this.#judged(events, CASES_MAX, async (one) => {
      this.#judge(this.#own, this.#type, params, one)
      this.#judge(this.#untuned, this.#type, untuned!, one)
      this.#judge(this.#popular, "popular", {}, one)
    })
    const own = this.#own
    return {
      ...own.figures,
      coverage: Math.round((1_000 * own.shown.size) / Math.max(1, this.model.items)) / 1_000,
      test_cases: own.cases,
      confidence: own.cases < CASES_MIN ? "low" : "ok",
      baseline: { popular: this.#popular.figures },
      parameters: params,
      untuned: this.#untuned.figures,
      validation: {
        test_cases: this.#tried[0]!.cases,
        mrr_at_20: this.#tried[chosen]!.figures.mrr_at_20,
        untuned_mrr_at_20: this.#tried[0]!.figures.mrr_at_20
      }
    }
  }
  async #judged(events: ReadonlyArray<ModelEvent>, most: number, judge: (one: Case) => Promise<void>): Promise<void> {
    const stride = strideOf(events, most)
    let seen = 0
    for (const event of events) {
      for (const one of casesOf(this.model, this.#baskets, event)) if (seen++ % stride === 0) await judge(one)
      this.model.add(event)
      await this.#turn()
    }
  }
  #judge(judged: Judged, type: ModelType, params: Params, one: Case): void {
    judged.add(recommended(this.model, type, params, one), one.target)
  }
  async #turn(): Promise<void> {
    const way = this.#give()
    if (way !== undefined) await way
  }
}

/** Events are sorted oldest first. Pure except that it yields to others. */
export const measured = async (
  events: ReadonlyArray<ModelEvent>,
  type: ModelType,
  params: Params
): Promise<Metrics> => {
  const learned = Math.floor(events.length * LEARNED_SHARE),
    validated = Math.floor(events.length * VALIDATED_SHARE)
  const trial = new Trial(type, params)
  await trial.learn(events.slice(0, learned))
  await trial.validate(events.slice(learned, validated))
  return trial.measure(events.slice(validated))
}
