/**
 * The attribution rules of `docs/contract/events.md#attribution`, computed from all records at once in the simplest
 * way, as an oracle for the incremental step. Also a seeded generator of visits with retries, keystrokes and records
 * out of order.
 */
import type { BehaviouralEvent, ServedSearch } from "../../log/event-schema.ts"

export interface OracleRow {
  searches: number
  zero_results: number
  searches_with_click: number
  searches_with_purchase: number
  clicks: number
  add_to_carts: number
  purchases: number
  revenue: number
}
export interface OracleInput {
  readonly organizationId: string
  readonly served: ReadonlyArray<ServedSearch>
  readonly events: ReadonlyArray<BehaviouralEvent>
}

export const seeded = (seed: number) => () => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
  return seed / 2 ** 32
}

const normal = (q: string) => q.trim().toLowerCase().replace(/\s+/g, " ")

interface OracleSearch {
  id: string
  /** Set by the server, which knows that there was a caller. */ isAnswered: boolean
  at: number
  q: string
  collection: string
  visitor: string
  zero: boolean
  events: Array<BehaviouralEvent>
}

/** Rows by `collection|q`, over all time. `counted` is called with each search that counts. */
export const oracleRows = (
  { events, served }: OracleInput,
  counted: (key: string, visitor: string, isAnswered: boolean) => void = () => {}
): Map<string, OracleRow> => {
  const seen = new Set<string>()
  const unique = events.filter(
    ({ event_id }) => event_id === undefined || (!seen.has(event_id) && seen.add(event_id) !== undefined)
  )
  const searches: Array<OracleSearch> = []
  const byId = new Map<string, OracleSearch>()
  for (const s of served) {
    if (byId.has(s.query_id)) continue
    const search = {
      id: s.query_id,
      isAnswered: true,
      at: s.at,
      q: normal(s.q),
      collection: s.collection,
      visitor: s.session_id || s.user_id || "",
      zero: s.found === 0,
      events: []
    }
    byId.set(s.query_id, search)
    searches.push(search)
  }
  for (const e of unique.filter((event) => event.type === "search").sort((a, b) => a.timestamp - b.timestamp)) {
    const visitor = e.session_id || e.user_id || ""
    const known = e.query_id === undefined ? undefined : byId.get(e.query_id)
    if (known !== undefined) {
      known.visitor ||= visitor
      continue
    }
    const search = {
      id: e.query_id ?? e.event_id ?? "",
      isAnswered: false,
      at: e.timestamp,
      q: normal(e.q!),
      collection: e.collection,
      visitor,
      zero: e.results_found === 0,
      events: []
    }
    if (e.query_id !== undefined) byId.set(e.query_id, search)
    searches.push(search)
  }
  const visits = new Map<string, Array<OracleSearch>>()
  for (const search of searches) {
    const key = search.visitor === "" ? `lonely ${searches.indexOf(search)}` : `${search.visitor}|${search.collection}`
    visits.set(key, [...(visits.get(key) ?? []), search])
  }
  for (const visit of visits.values())
    visit.sort(
      (a, b) => a.at - b.at || a.q.length - b.q.length || (a.q < b.q ? -1 : a.q > b.q ? 1 : a.id < b.id ? -1 : 1)
    )
  for (const e of unique) {
    if (e.type !== "click" && e.type !== "add_to_cart" && e.type !== "purchase") continue
    const named = e.query_id === undefined ? undefined : byId.get(e.query_id)
    const visit = visits.get(`${e.session_id || e.user_id || "nobody"}|${e.collection}`) ?? []
    const last = visit.filter(({ at }) => at <= e.timestamp).at(-1)
    const owner = named ?? (last !== undefined && e.timestamp - last.at <= 30 * 60_000 ? last : undefined)
    owner?.events.push(e)
  }
  const rows = new Map<string, OracleRow>()
  for (const visit of visits.values()) {
    let carried: Array<BehaviouralEvent> = []
    visit.forEach((search, i) => {
      carried.push(...search.events)
      const next = visit[i + 1]
      if (next !== undefined && next.q.startsWith(search.q) && next.at - search.at < 4_000) return
      const key = `${search.collection}|${search.q}`
      const row = rows.get(key) ?? {
        searches: 0,
        zero_results: 0,
        searches_with_click: 0,
        searches_with_purchase: 0,
        clicks: 0,
        add_to_carts: 0,
        purchases: 0,
        revenue: 0
      }
      rows.set(key, row)
      counted(key, search.visitor, search.isAnswered)
      row.searches++
      if (search.zero) row.zero_results++
      if (carried.some(({ type }) => type === "click")) row.searches_with_click++
      if (carried.some(({ type }) => type === "purchase")) row.searches_with_purchase++
      for (const { revenue, type } of carried) {
        if (type === "click") row.clicks++
        if (type === "add_to_cart") row.add_to_carts++
        if (type === "purchase") {
          row.purchases++
          row.revenue = Math.round((row.revenue + revenue!) * 1e6) / 1e6
        }
      }
      carried = []
    })
  }
  return rows
}

const pick = <A>(random: () => number, from: ReadonlyArray<A>): A => from[Math.floor(random() * from.length)]!

/** A small shop's afternoon: few visitors, so that everything collides. About one event in eight is sent twice. */
export const generate = (seed: number, size: number, start: number): OracleInput => {
  const random = seeded(seed)
  const organizationId = "org_test"
  const words = ["shoe", "shoes", "red shoes", "hat", "Hat ", "hats", "s", "sh"]
  const served: Array<ServedSearch> = []
  const events: Array<BehaviouralEvent> = []
  const queryIds: Array<string> = ["never-answered"]
  for (let i = 0; i < size; i++) {
    const at = start + Math.floor(random() * 3_600_000 * (random() < 0.8 ? 0.02 : 1.5))
    const session =
      random() < 0.85 ? { session_id: `s${Math.floor(random() * 3)}` } : random() < 0.5 ? { user_id: "u1" } : {}
    const collection = pick(random, ["products", "articles"])
    const kind = random()
    const event_id = random() < 0.9 ? { event_id: `e${i}` } : {}
    const query = random() < 0.5 ? { query_id: pick(random, queryIds) } : {}
    if (kind < 0.35) {
      const query_id = `q${i}`
      queryIds.push(query_id)
      served.push({
        organization_id: organizationId,
        query_id,
        network: served.length + 1,
        collection,
        q: pick(random, words),
        found: random() < 0.2 ? 0 : 7,
        at,
        isCounted: true,
        ...session
      })
      if (random() < 0.3)
        events.push({
          type: "search",
          collection,
          q: pick(random, words),
          timestamp: at + 5,
          query_id,
          results_found: 3,
          event_id: `m${i}`,
          ...session
        })
    } else if (kind < 0.5) {
      // A foreign query id is used by only one event: of two with the same id the earlier counts, and both would need
      // the same visitor.
      const own = random() < 0.4 ? { query_id: `foreign${i}` } : {}
      if (own.query_id !== undefined) queryIds.push(own.query_id)
      events.push({
        type: "search",
        collection,
        q: pick(random, words),
        timestamp: at,
        results_found: random() < 0.2 ? 0 : 2,
        event_id: `e${i}`,
        ...own,
        ...session
      })
    } else if (kind < 0.8)
      events.push({ type: "click", collection, document_id: "d1", timestamp: at, ...event_id, ...query, ...session })
    else if (kind < 0.9)
      events.push({
        type: "add_to_cart",
        collection,
        document_id: "d1",
        revenue: 1.1,
        timestamp: at,
        ...event_id,
        ...query,
        ...session
      })
    else
      events.push({
        type: "purchase",
        collection,
        document_id: "d1",
        revenue: Math.round(random() * 10_000) / 100,
        timestamp: at,
        ...event_id,
        ...query,
        ...session
      })
  }
  for (const event of [...events]) if (event.event_id !== undefined && random() < 0.12) events.push(event)
  return { organizationId, served, events }
}
