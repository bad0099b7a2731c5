/**
 * The actors of one process: one for each endpoint that has something due or in progress, in memory only. An actor
 * knows when its endpoint is due next, how many deliveries are in progress, and how many may be (`window.ts`); it is
 * dropped when nothing is due or in progress. What must not be forgotten is in the queue's table.
 */
import { freePlaces, IN_FLIGHT_MAX, nextWindow, type Pace, WINDOW_FIRST } from "./window.ts"

interface Actor {
  window: number
  inFlight: number
  /** When the next delivery is due; Infinity if unknown. */ dueAt: number
  isFailing: boolean
}
export interface Wanted {
  readonly endpointId: string
  readonly places: number
}

/** Maximum number of endpoints in one claim. */
const ENDPOINTS_PER_CLAIM = 256

class EndpointActors {
  readonly #actors = new Map<string, Actor>()
  #all = 0
  #slow = 0

  /** Notes that something is due at that time, or earlier. */
  dueBy(endpointId: string, at: number): void {
    const actor = this.#actorOf(endpointId)
    actor.dueAt = Math.min(actor.dueAt, at)
  }

  /** A claim found less than it had room for: an actor with nothing in progress and nothing due is dropped. */
  emptied(endpointId: string): void {
    this.#dropIfIdle(endpointId, this.#actorOf(endpointId))
  }

  /**
   * Endpoints that are due and have room. Their due time is cleared: the claimer reports when they are due again, and
   * a signal in between is not lost. Those served now come after the others next time. O(actors).
   */
  wanted(now: number): ReadonlyArray<Wanted> {
    const found: Array<Wanted> = []
    let reserved = 0
    for (const [endpointId, actor] of this.#actors) {
      if (actor.dueAt > now) continue
      const places = freePlaces(actor.window, actor.inFlight, {
        all: this.#all + reserved,
        slow: this.#slow + (actor.window === 1 ? reserved : 0)
      })
      if (places === 0) continue
      found.push({ endpointId, places })
      reserved += places
      if (found.length === ENDPOINTS_PER_CLAIM || this.#all + reserved >= IN_FLIGHT_MAX) break
    }
    for (const { endpointId } of found) {
      const actor = this.#actorOf(endpointId)
      actor.dueAt = Infinity
      this.#actors.delete(endpointId)
      this.#actors.set(endpointId, actor)
    }
    return found
  }

  /** The earliest time at which an endpoint with room is due; Infinity if there is none. O(actors). */
  wakeAt(): number {
    const held = { all: this.#all, slow: this.#slow }
    let earliest = Infinity
    for (const actor of this.#actors.values())
      if (actor.dueAt < earliest && freePlaces(actor.window, actor.inFlight, held) > 0) earliest = actor.dueAt
    return earliest
  }

  started(endpointId: string): void {
    const actor = this.#actorOf(endpointId)
    this.#change(actor, () => {
      actor.inFlight++
    })
  }

  /** Called after the result is recorded; until then the slot is occupied, which bounds what waits for recording. */
  ended(endpointId: string, pace: Pace): void {
    const actor = this.#actorOf(endpointId)
    this.#change(actor, () => {
      actor.inFlight--
      actor.window = nextWindow(actor.window, pace)
    })
    this.#dropIfIdle(endpointId, actor)
  }

  isFailing(endpointId: string): boolean {
    return this.#actors.get(endpointId)?.isFailing === true
  }
  setFailing(endpointId: string, isFailing: boolean): void {
    const actor = this.#actors.get(endpointId)
    if (actor !== undefined) actor.isFailing = isFailing
  }
  inFlight(): number {
    return this.#all
  }
  size(): number {
    return this.#actors.size
  }

  #actorOf(endpointId: string): Actor {
    let actor = this.#actors.get(endpointId)
    if (actor === undefined)
      this.#actors.set(endpointId, (actor = { window: WINDOW_FIRST, inFlight: 0, dueAt: Infinity, isFailing: false }))
    return actor
  }
  /** Keeps the totals up to date: what counts as slow changes with an actor's window and its deliveries. */
  #change(actor: Actor, apply: () => void): void {
    if (actor.window === 1) this.#slow -= actor.inFlight
    this.#all -= actor.inFlight
    apply()
    this.#all += actor.inFlight
    if (actor.window === 1) this.#slow += actor.inFlight
  }
  #dropIfIdle(endpointId: string, actor: Actor): void {
    if (actor.inFlight === 0 && actor.dueAt === Infinity) this.#actors.delete(endpointId)
  }
}

export const makeEndpointActors = () => new EndpointActors()
