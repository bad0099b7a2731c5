/**
 * How many deliveries of one endpoint may be on their way at once. Pure. A receiver that answers quickly earns more,
 * one that hangs or asks for rest is left with one, so that what the slow hold is small whatever waits for them.
 */
export const WINDOW_FIRST = 4
export const WINDOW_MAX = 64
/** An attempt that took longer is slow, whatever was answered. */
const SLOW_MS = 2_000

export interface Pace {
  readonly duration_ms: number
  /** Time-out, refused connection, 408, 429 or 5xx. */ readonly isOverload: boolean
}

export const nextWindow = (window: number, { duration_ms, isOverload }: Pace): number =>
  isOverload || duration_ms > SLOW_MS ? Math.max(1, window >> 1) : Math.min(WINDOW_MAX, window * 2)

/**
 * Deliveries on their way in one process, and how many of them endpoints with a window of one may hold: the others
 * always find a place.
 */
export const IN_FLIGHT_MAX = 1_024
export const SLOW_IN_FLIGHT_MAX = 512

interface Occupied {
  readonly all: number
  readonly slow: number
}
/** Free places of one endpoint. */
export const freePlaces = (window: number, inFlight: number, occupied: Occupied): number =>
  Math.max(
    0,
    Math.min(
      window - inFlight,
      IN_FLIGHT_MAX - occupied.all,
      window === 1 ? SLOW_IN_FLIGHT_MAX - occupied.slow : IN_FLIGHT_MAX
    )
  )
