/**
 * Question: how well, and how fast, does the streaming recommender predict what comes next? Workload: interactions from
 * files, the training part fed event by event in order of time, then the test part queried without learning from it.
 * Default parameters; nothing is tuned on the test part. Popularity and EASE run on the same data for comparison.
 *
 * - sessions: every prefix of a session predicts its next item, among all items, including those already
 *   seen (they are clicked again); `unseen` excludes items already seen, as a response of the service does.
 * - baskets: each item of a basket requests five others; a hit is one of the rest. Without a test part: the last fifth.
 * - ratings: of each user's later items, recall@20 (of at most 20) and nDCG@100, without the user's earlier items.
 *
 * Test items that do not occur in training are dropped.
 */
import { CollectionModel, LIMITS, NEXT_ITEMS, TASTE } from "../../engine-sdk/src/recommend/mod.ts"
import { machine, percentiles, report, round } from "../harness/harness.ts"
import { type Ease, trainEase } from "../inputs/ease.ts"
import { readBaskets, readRatings, readSessions, type Visit } from "../inputs/interactions.ts"

export interface RecommendationsOptions {
  readonly kind: "sessions" | "baskets" | "ratings"
  readonly train: string
  readonly test: string | undefined
  readonly ease: boolean
  readonly out: string | undefined
}
/** Item numbers, best first. */
type Recommend = (recent: ReadonlyArray<number>, now: number) => ReadonlyArray<number>
interface Case {
  readonly recent: ReadonlyArray<number>
  readonly targets: ReadonlyArray<number>
  readonly now: number
}
interface Protocol {
  readonly cases: ReadonlyArray<Case>
  readonly measure: (top: ReadonlyArray<number>, targets: ReadonlyArray<number>) => Readonly<Record<string, number>>
  /** Length of the list in which an item counts as shown. */ readonly shown: number
}

const RECENT_MAX = 40
const EASE_ITEMS_MAX = 5_000
const EASE_DECAY = 0.7
const EASE_LAMBDA = { sessions: 100, baskets: 100, ratings: 500 }

/** Assigns numbers to items in the order in which training meets them. */
class Items {
  readonly #numbers = new Map<string, number>()
  readonly counts: Array<number> = []
  learn(ids: ReadonlyArray<string>): Array<number> {
    return ids.map((id) => {
      let number = this.#numbers.get(id)
      if (number === undefined) {
        number = this.#numbers.size
        this.#numbers.set(id, number)
        this.counts.push(0)
      }
      this.counts[number]++
      return number
    })
  }
  known(ids: ReadonlyArray<string>): Array<number> {
    return ids.flatMap((id) => this.#numbers.get(id) ?? [])
  }
}

const nextItem = (top: ReadonlyArray<number>, [target]: ReadonlyArray<number>) => {
  const rank = top.indexOf(target)
  return { hr_at_20: rank >= 0 ? 1 : 0, mrr_at_20: rank >= 0 ? 1 / (rank + 1) : 0 }
}
const anyOther = (top: ReadonlyArray<number>, targets: ReadonlyArray<number>) => ({
  hit_at_5: top.slice(0, 5).some((item) => targets.includes(item)) ? 1 : 0
})
const laterItems = (top: ReadonlyArray<number>, targets: ReadonlyArray<number>) => {
  const wanted = new Set(targets)
  const found = top.slice(0, 20).filter((item) => wanted.has(item)).length
  let gain = 0,
    ideal = 0
  top.slice(0, 100).forEach((item, i) => (gain += wanted.has(item) ? 1 / Math.log2(i + 2) : 0))
  for (let i = 0; i < Math.min(100, wanted.size); i++) ideal += 1 / Math.log2(i + 2)
  return { recall_at_20: found / Math.min(20, wanted.size), ndcg_at_100: gain / ideal }
}

const judged = (name: string, recommend: Recommend, { cases, measure, shown }: Protocol, items: number) => {
  const sums = new Map<string, number>()
  const seen = new Set<number>()
  const times: Array<number> = []
  for (const { now, recent, targets } of cases) {
    const began = performance.now()
    const top = recommend(recent, now)
    times.push(performance.now() - began)
    for (const item of top.slice(0, shown)) seen.add(item)
    for (const [figure, value] of Object.entries(measure(top, targets)))
      sums.set(figure, (sums.get(figure) ?? 0) + value)
  }
  const { p50_ms, p99_ms } = percentiles(times)
  const means = [...sums].map(([figure, sum]) => [figure, round(sum / cases.length, 4)])
  return {
    name,
    ...(Object.fromEntries(means) as Readonly<Record<string, number>>),
    coverage: round(seen.size / items, 4),
    distinct_items: seen.size,
    p50_ms,
    p99_ms
  }
}

const sorted = (counts: ReadonlyArray<number>) =>
  Array.from(counts.keys()).sort((a, b) => counts[b] - counts[a] || a - b)
/** The most frequent items, the same for everyone, optionally without those to be left out. */
const byPopularity =
  (counts: ReadonlyArray<number>, most: number, isLeftOut: boolean): Recommend =>
  (recent) => {
    const without = isLeftOut ? new Set(recent) : undefined
    const top: Array<number> = []
    for (const item of order(counts)) {
      if (top.length >= most) break
      if (without?.has(item) !== true) top.push(item)
    }
    return top
  }
const orders = new WeakMap<ReadonlyArray<number>, ReadonlyArray<number>>()
const order = (counts: ReadonlyArray<number>) => {
  const known = orders.get(counts) ?? sorted(counts)
  orders.set(counts, known)
  return known
}
const byEase =
  (ease: Ease, items: number, most: number, decay: number, isLeftOut: boolean): Recommend =>
  (recent) => {
    const scores = new Float64Array(items)
    for (let d = 0; d < recent.length; d++) ease.addTo(scores, recent[recent.length - 1 - d], decay ** d)
    if (isLeftOut) for (const item of recent) scores[item] = 0
    return Array.from(scores.keys())
      .filter((item) => scores[item] > 0)
      .sort((a, b) => scores[b] - scores[a])
      .slice(0, most)
  }

/** Feeds visits as they would have arrived: all events in order of time. */
const feed = (visits: ReadonlyArray<{ readonly visit: Visit; readonly who: string }>, model: CollectionModel) => {
  const events = visits.flatMap(({ visit, who }) =>
    visit.items.map((id, i) => ({ id, at: visit.times[i], who, documents: [id] }))
  )
  events.sort((a, b) => a.at - b.at)
  const began = performance.now()
  for (const { at, documents, who } of events) model.add({ kind: 0, documents, visitor: who, person: "", at })
  return (1_000 * events.length) / Math.max(1, performance.now() - began)
}
interface Prepared {
  readonly items: Items
  readonly lists: ReadonlyArray<ReadonlyArray<number>>
  readonly name: string
  readonly recommend: Recommend
  readonly protocol: Protocol
  readonly most: number
  readonly decay: number
  readonly isLeftOut: boolean
  readonly about: Readonly<Record<string, unknown>>
}

const sessions = async ({ test, train }: RecommendationsOptions): Promise<Prepared> => {
  const visits = await readSessions(train)
  const model = new CollectionModel()
  const rate = feed(
    visits.map((visit, i) => ({ visit, who: `s${i}` })),
    model
  )
  const items = new Items()
  const lists = visits.map((visit) => items.learn(visit.items))
  // The model numbers items in the order of their events; a table translates its numbers to ours.
  const own = numbersIn(model, visits)
  const cases: Array<Case> = []
  for (const visit of await readSessions(need(test))) {
    const known = items.known(visit.items)
    for (let i = 1; i < known.length; i++)
      cases.push({
        recent: known.slice(Math.max(0, i - RECENT_MAX), i),
        targets: [known[i]],
        now: visit.times[0]
      })
  }
  const ask =
    (keepsSeen: boolean): Recommend =>
    (recent, now) =>
      model
        .nextNumbers(
          recent.map((item) => own.to[item]),
          "",
          now,
          20,
          NEXT_ITEMS,
          keepsSeen
        )
        .map(({ item }) => own.from[item])
  const protocol = { cases, measure: nextItem, shown: 20 }
  const unseen = {
    ...protocol,
    cases: cases.filter(({ recent, targets }) => !recent.includes(targets[0]))
  }
  return {
    items,
    lists,
    name: "sessions: transitions and similar sessions, streamed",
    recommend: ask(true),
    protocol,
    most: 20,
    decay: EASE_DECAY,
    isLeftOut: false,
    about: { added_events_per_s: round(rate, 0), unseen: judged("unseen", ask(false), unseen, items.counts.length) }
  }
}
const need = (file: string | undefined): string => {
  if (file === undefined) throw new Error("Name a test part by --test.")
  return file
}
const numbersIn = (model: CollectionModel, visits: ReadonlyArray<Visit>) => {
  const to: Array<number> = [],
    from: Array<number> = []
  const numbers = new Map<string, number>()
  for (const { items } of visits)
    for (const id of items) {
      if (numbers.has(id)) continue
      const ours = numbers.size,
        theirs = model.numberOf(id) ?? -1
      numbers.set(id, ours)
      to[ours] = theirs
      if (theirs >= 0) from[theirs] = ours
    }
  return { to, from }
}

const baskets = async ({ test, train }: RecommendationsOptions): Promise<Prepared> => {
  const all = await readBaskets(train)
  const cut = test === undefined || test === train ? Math.floor(all.length * 0.8) : all.length
  const learned = all.slice(0, cut)
  const tested = cut === all.length ? await readBaskets(need(test)) : all.slice(cut)
  const model = new CollectionModel()
  const items = new Items()
  const began = performance.now()
  learned.forEach((documents, i) => model.add({ kind: 3, documents, visitor: `b${i}`, person: "", at: i * 1_000 }))
  const rate = (1_000 * learned.length) / (performance.now() - began)
  const lists = learned.map((basket) => items.learn(basket))
  const names = new Map(learned.flatMap((basket, i) => basket.map((id, j) => [lists[i][j], id] as const)))
  const cases = tested.flatMap((basket) => {
    const known = items.known(basket)
    return known.length < 2
      ? []
      : known.map((item) => ({ recent: [item], targets: known.filter((other) => other !== item), now: 0 }))
  })
  return {
    items,
    lists,
    name: "baskets: popularity exponent with a likelihood gate, streamed",
    recommend: ([seed]) => model.together([names.get(seed) ?? ""], 5).flatMap(({ id }) => items.known([id])),
    protocol: { cases, measure: anyOther, shown: 5 },
    most: 5,
    decay: 1,
    isLeftOut: true,
    about: { added_baskets_per_s: round(rate, 0) }
  }
}

/** Users with a list in training and later items in the test part. */
const ratings = async ({ test, train }: RecommendationsOptions): Promise<Prepared> => {
  const before = await readRatings(train)
  const model = new CollectionModel({ ...LIMITS, sessionEvents: RATED_MAX })
  const items = new Items()
  const visits = [...before]
  const began = performance.now()
  for (const [user, visit] of visits)
    // Ratings are not a visit: what somebody rated over years is one list.
    for (const id of visit.items)
      model.add({ kind: 0, documents: [id], visitor: user, person: user, at: visit.times.at(-1) ?? 0 })
  const events = visits.reduce((sum, [, visit]) => sum + visit.items.length, 0)
  const rate = (1_000 * events) / (performance.now() - began)
  const lists = visits.map(([, visit]) => items.learn(visit.items))
  const own = numbersIn(
    model,
    visits.map(([, visit]) => visit)
  )
  const histories = new Map(visits.map(([user], i) => [user, lists[i]]))
  const cases = [...(await readRatings(need(test)))].flatMap(([user, visit]) => {
    const recent = histories.get(user) ?? []
    const targets = items.known(visit.items).filter((item) => !recent.includes(item))
    return targets.length === 0 ? [] : [{ recent, targets, now: visit.times[0] }]
  })
  const popular = byPopularity(items.counts, 100, true)
  const recommend: Recommend = (recent, now) => {
    const top = model
      .nextNumbers(
        recent.map((item) => own.to[item]),
        "",
        now,
        100,
        TASTE,
        false
      )
      .map(({ item }) => own.from[item])
    return top.length >= 100 ? top : [...new Set([...top, ...popular(recent, now)])].slice(0, 100)
  }
  return {
    items,
    lists,
    name: "ratings: what people alike took, streamed",
    recommend,
    protocol: { cases, measure: laterItems, shown: 20 },
    most: 100,
    decay: 1,
    isLeftOut: true,
    about: { added_events_per_s: round(rate, 0) }
  }
}
const RATED_MAX = 10_000

export const benchRecommendations = async (options: RecommendationsOptions): Promise<void> => {
  if (options.train === "") throw new Error("Name a training part by --train.")
  const prepare = { sessions, baskets, ratings }[options.kind]
  const { about, decay, isLeftOut, items, lists, most, name, protocol, recommend } = await prepare(options)
  const count = items.counts.length
  const model = judged(name, recommend, protocol, count)
  const popularity = judged("popularity", byPopularity(items.counts, most, isLeftOut), protocol, count)
  const trained = options.ease ? trainEase(lists, count, EASE_LAMBDA[options.kind], EASE_ITEMS_MAX) : undefined
  const ease =
    trained === undefined
      ? undefined
      : {
          ...judged("EASE", byEase(trained, count, most, decay, isLeftOut), protocol, count),
          train_s: round(trained.train_s, 1),
          items: trained.items
        }
  report(
    `recommendations: ${options.kind}, ${count} items, ${protocol.cases.length} cases`,
    {
      kind: options.kind,
      items: count,
      cases: protocol.cases.length,
      model,
      baselines: { popularity, ...(ease === undefined ? {} : { ease }) },
      ...about,
      machine: machine()
    },
    options.out
  )
}
