/**
 * The smallest processor that has everything that can go wrong: two topics that refer to each other in either order,
 * retractions, ids that must count once, state that expires, and entries that break the step, are refused by Postgres,
 * are abandoned or passed on. Its oracle is a loop.
 */
import { type Effect } from "effect"
import type { SqlError } from "effect/sql"
import { deadLetter, drop, OK } from "../../../streams/processor/outcome.ts"
import { listed, type Processor } from "../../../streams/processor/processor.ts"
import { encodeRecord } from "../../../log/record.ts"
import { type Form, KeyedState } from "../../../streams/state/state.ts"
import type { Topic } from "../../../log/topics.ts"
import type { Draws } from "./random.ts"

/** Longer than the workload's state lives. */
export const RETENTION_MS = 70_000
const topicOf = (name: string): Topic => ({
  name,
  partitioning: "visitor",
  retentionHours: RETENTION_MS / 3_600_000,
  compaction: false,
  waitsForConsumers: true,
  writtenBy: "the simulation"
})
export const NAMED = topicOf("named")
export const COUNTED = topicOf("counted")
export const REDIRECTED = "redirected"

type Fault = "throws" | "refused" | "given_up" | "sent_on"
export type Entry =
  | { readonly kind: "name"; readonly order: string; readonly name: string }
  | {
      readonly kind: "count"
      readonly id: string
      readonly order: string
      readonly amount: number
      readonly fault?: Fault
    }

interface Order {
  name: string | undefined
  amount: number
}
interface State {
  readonly orders: KeyedState<Order>
  readonly seen: KeyedState<number>
  expiryAt: { orders: string; seen: string }
}
const same = <A>(value: A): A => value
const ORDER_FORM: Form<Order> = {
  write: (to, { amount, name }) => {
    to.text(name ?? "")
    to.whole(amount)
  },
  read: (from) => ({ name: from.text() || undefined, amount: from.whole() }),
  decode: same
}
const NUMBER_FORM: Form<number> = { write: (to, value) => to.whole(value), read: (from) => from.whole(), decode: same }
type Sums = Map<string, number>
/** Copies and joins of the workload are never further apart than this, in the log's time. */
export const TTL_MS = 60_000
const UNNAMED = "unnamed"

const add = (sums: Sums, key: string, amount: number): void => {
  sums.set(key, (sums.get(key) ?? 0) + amount)
}

/** What a processor's run reports to the simulation, in addition to what it writes. */
export interface Watched {
  /** Maximum entries that were read and not stepped yet. */
  waitingMax: number
  /** Maximum size of a flush. */
  emittedMax: number
  waiting: number
}

export const makeOrders = (
  name: string,
  hotMax: number,
  watched: Watched,
  write: (sums: Sums) => Effect.Effect<void, SqlError.SqlError>
): Processor<{ readonly organization: string; readonly entry: Entry }, State, Sums, never> => ({
  name,
  inputs: [NAMED, COUNTED],
  entriesOf: (_topic, { organization_id, payload }) => {
    const entries = payload as ReadonlyArray<Entry>
    watched.waiting += entries.length
    watched.waitingMax = Math.max(watched.waitingMax, watched.waiting)
    return listed(entries.map((entry) => ({ key: organization_id, body: { organization: organization_id, entry } })))
  },
  open: (store) => {
    watched.waiting = 0
    return {
      orders: new KeyedState<Order>(store, { prefix: "o", ttl_ms: TTL_MS, hotMax, form: ORDER_FORM }),
      seen: new KeyedState<number>(store, { prefix: "s", ttl_ms: TTL_MS, hotMax, form: NUMBER_FORM }),
      expiryAt: { orders: "", seen: "" }
    }
  },
  step: ({ orders, seen }, { entry, organization }, { appendedAt }, sums) => {
    watched.waiting--
    const key = `${organization}|${entry.order}`
    const order = orders.get(key, appendedAt) ?? { name: undefined, amount: 0 }
    if (entry.kind === "name") {
      if (order.name !== undefined) return drop("named already")
      order.name = entry.name
      orders.put(key, order, appendedAt)
      if (order.amount === 0) return OK
      add(sums, `${organization}|${UNNAMED}`, -order.amount)
      add(sums, `${organization}|${entry.name}`, order.amount)
      return OK
    }
    if (entry.fault === "throws") throw new Error(`${entry.id} breaks the step`)
    if (entry.fault === "given_up") return deadLetter("given up")
    if (entry.fault === "sent_on")
      return {
        kind: "redirect",
        topic: REDIRECTED,
        partition: 0,
        value: encodeRecord({ schema_version: 1, organization_id: organization, occurred_at: 0, payload: [entry.id] })
      }
    const id = `${organization}|${entry.id}`
    if (seen.get(id, appendedAt) !== undefined) return drop("counted already")
    seen.put(id, 1, appendedAt)
    order.amount += entry.amount
    orders.put(key, order, appendedAt)
    add(sums, `${organization}|${order.name ?? UNNAMED}`, entry.amount)
    if (entry.fault === "refused") add(sums, `refused ${id}`, 1)
    return OK
  },
  newEmitted: () => new Map(),
  sizeOf: ({ size }) => {
    watched.emittedMax = Math.max(watched.emittedMax, size)
    return size
  },
  write,
  snapshot: (state, watermark) => {
    const writes = [...state.orders.takeWrites(), ...state.seen.takeWrites()]
    const orders = state.orders.expired(watermark, state.expiryAt.orders, 20)
    const seen = state.seen.expired(watermark, state.expiryAt.seen, 20)
    state.expiryAt = { orders: orders.last, seen: seen.last }
    return {
      writes: [...writes, ...orders.writes, ...seen.writes],
      stored: () => {
        state.orders.passivate()
        state.seen.passivate()
      }
    }
  }
})

/** What must be counted of these entries, however often and in whatever order they were stored. */
export const expectedSums = (stored: ReadonlyArray<{ readonly organization: string; readonly entry: Entry }>): Sums => {
  const sums: Sums = new Map()
  const names = new Map<string, string>()
  const seen = new Set<string>()
  for (const { entry, organization } of stored)
    if (entry.kind === "name") names.set(`${organization}|${entry.order}`, entry.name)
  for (const { entry, organization } of stored) {
    if (entry.kind === "name" || entry.fault !== undefined || seen.has(`${organization}|${entry.id}`)) continue
    seen.add(`${organization}|${entry.id}`)
    add(sums, `${organization}|${names.get(`${organization}|${entry.order}`) ?? UNNAMED}`, entry.amount)
  }
  return sums
}

/** One record of the workload: entries of one organization, by topic. */
interface Batch {
  readonly topic: Topic
  readonly organization: string
  readonly entries: ReadonlyArray<Entry>
}

/** A few orders of a few organizations, named before or after they are counted; some entries are poison. */
export const drawBatches = (draws: Draws, size: number, poison: number, prefix: string): ReadonlyArray<Batch> => {
  const batches: Array<Batch> = []
  const faults: ReadonlyArray<Fault> = ["throws", "refused", "given_up", "sent_on"]
  for (let i = 0; i < size; i++) {
    const organization = draws.pick(["a", "a", "a", "b", "c"])
    if (draws.chance(0.3)) {
      const order = `${prefix}${draws.whole(0, 5)}`
      batches.push({ topic: NAMED, organization, entries: [{ kind: "name", order, name: `n${order}` }] })
      continue
    }
    const entries = Array.from({ length: draws.whole(1, 4) }, (_, k): Entry => ({
      kind: "count",
      id: `${prefix}${i}.${k}`,
      order: `${prefix}${draws.whole(0, 5)}`,
      amount: draws.whole(1, 9),
      ...(draws.chance(poison) ? { fault: draws.pick(faults) } : {})
    }))
    batches.push({ topic: COUNTED, organization, entries })
  }
  return batches
}
