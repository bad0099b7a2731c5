/**
 * The models of all organizations, by the collection names in their events: the thread's work, without the thread.
 * Records go in, candidates come out. Memory is bounded; the least recently used collection is evicted.
 *
 * Cost: some 1 µs an event, one look-up and one `next` (0.1 ms p50) an answer.
 */
import {
  CollectionModel,
  KINDS,
  LIMITS,
  type ModelImage,
  type Recommended,
  Workbench
} from "@dowser/engine-sdk/recommend"
import { EventColumns } from "@dowser/log/columns/decode"
import type { BehaviouralEvent } from "@dowser/log/event-schema"
import { type Envelope, openRecord } from "@dowser/log/record"
import { BEHAVIOUR_EVENTS } from "@dowser/log/topics"
import type { Erasures } from "@dowser/streams/erasure/erasures"
import type { Ask, Candidate, Link, LiveFigures, Position } from "./messages.ts"

const NONE: ReadonlyArray<string> = []
/** How many recreated collections are remembered; for one that is not, the models are rebuilt once more. */
const FLOORS_MAX = 10_000
/** Records between two checks of the memory. */
const BYTES_LOOKED_AT_EVERY = 256

interface LiveModel {
  readonly organizationId: string
  readonly collection: string
  readonly model: CollectionModel
  /** When the first of its records was appended, Unix milliseconds. */ readonly firstAt: number
}
export interface StoredModel {
  readonly organizationId: string
  readonly collection: string
  readonly firstAt: number
  readonly image: ModelImage
}
interface TakenRecord {
  readonly partition: number
  readonly offset: number
  readonly appendedAt: number
  readonly value: Uint8Array
}

const keyOf = (organizationId: string, collection: string): string => `${organizationId}\n${collection}`
const kindOf = (type: string): number => (KINDS as ReadonlyArray<string>).indexOf(type)
const documentsOf = ({ document_id, items }: BehaviouralEvent): ReadonlyArray<string> =>
  items === undefined ? (document_id === undefined ? NONE : [document_id]) : items.map((item) => item.document_id)

export class LiveModels {
  readonly #bytesMax: number
  readonly #workbench = new Workbench()
  /** Least recently used first. */ readonly #models = new Map<string, LiveModel>()
  readonly #positions = new Map<number, Position>()
  /** By organization and collection: earlier events do not belong to it (Unix milliseconds). */
  readonly #floors = new Map<string, number>()
  #erasures: Erasures | undefined
  /** By organization being rebuilt: number of its events taken since. */ readonly #again = new Map<string, number>()
  #dropped = 0
  #unreadable = 0
  #taken = 0
  #records = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get positions(): ReadonlyArray<Position> {
    return [...this.#positions.values()]
  }
  set erasures(erasures: Erasures) {
    this.#erasures = erasures
  }
  figures(): LiveFigures {
    let events = 0,
      bytes = 0
    for (const { model } of this.#models.values()) {
      events += model.events
      bytes += model.bytes
    }
    return { collections: this.#models.size, events, bytes, dropped: this.#dropped, unreadable: this.#unreadable }
  }

  /** Forgets everything known of the organization, before its records are sent again. */
  forget(organizationId: string): void {
    for (const [key, kept] of this.#models) if (kept.organizationId === organizationId) this.#models.delete(key)
    this.#again.set(organizationId, 0)
  }
  /** Number of the organization's events taken again since `forget`; called once, when all have been. */
  takenAgain(organizationId: string): number {
    const events = this.#again.get(organizationId) ?? 0
    this.#again.delete(organizationId)
    return events
  }
  clear(): void {
    this.#models.clear()
    this.#positions.clear()
  }
  /** Called when the partition has been read up to `next`. */
  passed(position: Position): void {
    this.#positions.set(position.partition, position)
  }

  /** `only`: takes only this organization's events, for a rebuild. */
  take(record: TakenRecord, only?: string): void {
    let envelope: Envelope<unknown>
    try {
      envelope = openRecord(record.value)
    } catch {
      // The processors have already logged unreadable records.
      this.#unreadable++
      return
    }
    if (only !== undefined && envelope.organization_id !== only) return
    const { payload } = envelope
    const before = this.#taken
    if (this.#erasures?.isEmpty === false) this.#takeVisible(record, envelope)
    else if (payload instanceof EventColumns) {
      for (let i = 0; i < payload.length; i++)
        if (!payload.isErased(i)) this.#add(envelope.organization_id, payload.at(i), record.appendedAt)
    } else for (const event of eventsOf(payload)) this.#add(envelope.organization_id, event, record.appendedAt)
    if (only !== undefined) this.#again.set(only, (this.#again.get(only) ?? 0) + this.#taken - before)
    if (++this.#records % BYTES_LOOKED_AT_EVERY === 0) this.#makeRoom()
  }
  #takeVisible({ appendedAt, offset, partition }: TakenRecord, envelope: Envelope<unknown>): void {
    const events = envelope.payload instanceof EventColumns ? envelope.payload.events : eventsOf(envelope.payload)
    const whole = { ...envelope, payload: { events } }
    const hidden = this.#erasures?.hiddenIn(BEHAVIOUR_EVENTS.name, partition, offset, whole)
    events.forEach((event, i) => {
      if (event !== null && hidden?.has(i) !== true) this.#add(envelope.organization_id, event, appendedAt)
    })
  }
  #add(organizationId: string, event: BehaviouralEvent, appendedAt: number): void {
    const kind = kindOf(event.type)
    if (kind < 0) return
    const documents = documentsOf(event)
    if (documents.length === 0) return
    const { anonymous_id, collection, session_id, timestamp, user_id } = event
    const key = keyOf(organizationId, collection)
    if (appendedAt < (this.#floors.get(key) ?? 0)) return
    const person = user_id || anonymous_id || ""
    const visitor = session_id || person
    this.#taken++
    this.#of(key, organizationId, collection, appendedAt).add({ kind, documents, visitor, person, at: timestamp })
  }
  #of(key: string, organizationId: string, collection: string, firstAt: number): CollectionModel {
    const known = this.#models.get(key)
    if (known !== undefined) return known.model
    const model = new CollectionModel(LIMITS, this.#workbench)
    this.#models.set(key, { organizationId, collection, model, firstAt })
    return model
  }
  #makeRoom(): void {
    let bytes = 0
    for (const { model } of this.#models.values()) bytes += model.bytes
    for (const [key, { model }] of this.#models) {
      if (bytes <= this.#bytesMax) break
      bytes -= model.bytes
      this.#models.delete(key)
      this.#dropped++
    }
  }

  /** Candidates of each link of the chain, in order, without duplicates. */
  answer(ask: Ask): { readonly candidates: ReadonlyArray<Candidate>; readonly isStale: boolean } {
    const isStale = this.#isOfBefore(ask)
    const model = isStale ? undefined : this.#modelOf(ask)
    if (model === undefined) return { candidates: [], isStale }
    const found = new Map<string, Candidate>()
    const left = new Set(ask.seeds)
    for (const link of ask.chain)
      for (const candidate of linkOf(model, link, ask))
        if (!left.has(candidate.id) && !found.has(candidate.id)) found.set(candidate.id, candidate)
    return { candidates: [...found.values()], isStale: false }
  }
  /** Whether the model stored under this name is older than the collection, and so belongs to an earlier one. */
  #isOfBefore({ collections, organizationId, since }: Ask): boolean {
    const key = keyOf(organizationId, collections[0] ?? "")
    const kept = this.#models.get(key)
    if (kept === undefined || kept.firstAt >= since) return false
    if ((this.#floors.get(key) ?? 0) >= since) return false
    for (const oldest of this.#floors.keys()) {
      if (this.#floors.size < FLOORS_MAX) break
      this.#floors.delete(oldest)
    }
    this.#floors.set(key, since)
    this.#models.delete(key)
    return true
  }
  /** Of the models under several names, the one that is used most. */
  #modelOf({ collections, organizationId }: Ask): CollectionModel | undefined {
    let best: CollectionModel | undefined, bestKey: string | undefined
    for (const name of collections) {
      const key = keyOf(organizationId, name)
      const kept = this.#models.get(key)
      if (kept !== undefined && (best === undefined || kept.model.events > best.events)) {
        best = kept.model
        bestKey = key
      }
    }
    if (bestKey !== undefined) {
      const kept = this.#models.get(bestKey)!
      this.#models.delete(bestKey)
      this.#models.set(bestKey, kept)
    }
    return best
  }

  *stored(): Generator<StoredModel> {
    for (const { collection, firstAt, model, organizationId } of this.#models.values())
      yield { organizationId, collection, firstAt, image: model.image() }
  }
  restore({ collection, firstAt, image, organizationId }: StoredModel): void {
    this.#models.set(keyOf(organizationId, collection), {
      organizationId,
      collection,
      firstAt,
      model: CollectionModel.of(image, LIMITS, this.#workbench)
    })
  }
}
const eventsOf = (payload: unknown): ReadonlyArray<BehaviouralEvent> => {
  const { events } = (payload ?? {}) as { readonly events?: ReadonlyArray<BehaviouralEvent | null> }
  return Array.isArray(events) ? events.filter((event): event is BehaviouralEvent => event !== null) : []
}

/** Candidates of one link of the chain. */
const linkOf = (model: CollectionModel, link: Link, ask: Ask): ReadonlyArray<Candidate> => {
  const { most, now, parameters: p, person, seeds, visitor } = ask
  const shown = (list: ReadonlyArray<Recommended>, source?: string): ReadonlyArray<Candidate> =>
    list.map((one) => ({
      ...one,
      kind: link,
      ...(source !== undefined && one.support !== undefined ? { source } : {})
    }))
  switch (link) {
    case "also_viewed": {
      const seen = new Set(seeds)
      const visit = model.visit(visitor, now).filter((id) => !seen.has(id))
      const recent = [...visit, ...seeds]
      return shown(model.next(recent, visitor, now, most, p.next), recent.at(-1))
    }
    case "personalized":
      return shown(model.taste([...model.history(person), ...seeds], visitor, now, most, p.taste))
    case "frequently_bought_together":
      return shown(
        model.together(seeds, most, { popularityBias: p.popularity_bias, minSupport: p.min_support }),
        seeds.length === 1 ? seeds[0] : undefined
      )
    case "trending":
      return shown(model.trending(now, most, { windowHours: p.window_hours, baselineDays: p.baseline_days }))
    case "popular":
      return shown(model.popular(now, most, { halfLifeDays: p.half_life_days, kind: p.kind }))
  }
}
