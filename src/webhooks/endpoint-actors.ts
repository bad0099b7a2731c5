/**
 * The actors of one process: one for each endpoint that has something due or on its way, in memory only. An actor knows
 * when its endpoint is due next, how much is on its way, and how much may be (`window.ts`); it is dropped when it has
 * neither. What it must not forget stands in the queue's table.
 */
import { freePlaces, IN_FLIGHT_MAX, nextWindow, type Pace, WINDOW_FIRST } from "./window.ts"

interface Actor {
  window: number
  inFlight: number
  /** Infinity: nothing known. */ dueAt: number
  isFailing: boolean
}
export interface Wanted {
  readonly endpointId: string
  readonly places: number
}

/** Endpoints in one claim. */
const ENDPOINTS_PER_CLAIM = 256

export const makeEndpointActors = () => {
  const actors = new Map<string, Actor>()
  let all = 0
  let slow = 0
  const actorOf = (endpointId: string): Actor => {
    let actor = actors.get(endpointId)
    if (actor === undefined)
      actors.set(endpointId, (actor = { window: WINDOW_FIRST, inFlight: 0, dueAt: Infinity, isFailing: false }))
    return actor
  }
  /** What the slow hold is kept as a sum: an actor's share changes with its window and with what is on its way. */
  const change = (actor: Actor, apply: () => void) => {
    if (actor.window === 1) slow -= actor.inFlight
    all -= actor.inFlight
    apply()
    all += actor.inFlight
    if (actor.window === 1) slow += actor.inFlight
  }
  const dropIfIdle = (endpointId: string, actor: Actor) => {
    if (actor.inFlight === 0 && actor.dueAt === Infinity) actors.delete(endpointId)
  }

  return {
    /** Something is due then, or earlier. */
    dueBy: (endpointId: string, at: number) => {
      const actor = actorOf(endpointId)
      actor.dueAt = Math.min(actor.dueAt, at)
    },
    /** A claim found less than it had room for: an actor with nothing on its way and nothing due is dropped. */
    emptied: (endpointId: string) => dropIfIdle(endpointId, actorOf(endpointId)),
    /**
     * Endpoints that are due and have room. Their due time is taken with them: who claims says when they are due again,
     * and a call in between is not lost. Those served now stand behind the others next time. O(actors).
     */
    wanted: (now: number): ReadonlyArray<Wanted> => {
      const found: Array<Wanted> = []
      let reserved = 0
      for (const [endpointId, actor] of actors) {
        if (actor.dueAt > now) continue
        const places = freePlaces(actor.window, actor.inFlight, {
          all: all + reserved,
          slow: slow + (actor.window === 1 ? reserved : 0)
        })
        if (places === 0) continue
        found.push({ endpointId, places })
        reserved += places
        if (found.length === ENDPOINTS_PER_CLAIM || all + reserved >= IN_FLIGHT_MAX) break
      }
      for (const { endpointId } of found) {
        const actor = actorOf(endpointId)
        actor.dueAt = Infinity
        actors.delete(endpointId)
        actors.set(endpointId, actor)
      }
      return found
    },
    /** The earliest time at which an endpoint with room is due; Infinity when there is none. O(actors). */
    wakeAt: (): number => {
      let earliest = Infinity
      for (const actor of actors.values())
        if (actor.dueAt < earliest && freePlaces(actor.window, actor.inFlight, { all, slow }) > 0)
          earliest = actor.dueAt
      return earliest
    },
    started: (endpointId: string) => {
      const actor = actorOf(endpointId)
      change(actor, () => {
        actor.inFlight++
      })
    },
    /** After the result is recorded; until then the place is held, which bounds what waits for recording. */
    ended: (endpointId: string, pace: Pace) => {
      const actor = actorOf(endpointId)
      change(actor, () => {
        actor.inFlight--
        actor.window = nextWindow(actor.window, pace)
      })
      dropIfIdle(endpointId, actor)
    },
    isFailing: (endpointId: string): boolean => actors.get(endpointId)?.isFailing === true,
    setFailing: (endpointId: string, isFailing: boolean) => {
      const actor = actors.get(endpointId)
      if (actor !== undefined) actor.isFailing = isFailing
    },
    inFlight: (): number => all,
    size: (): number => actors.size
  }
}
