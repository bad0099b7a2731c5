/**
 * How many deliveries of one endpoint may be in progress at the same time. Pure. A receiver that answers quickly gets
 * more, one that hangs or asks for a pause is limited to one, so that slow receivers occupy little however much waits.
 */
export const WINDOW_FIRST = 4
export const WINDOW_MAX = 64
/** An attempt that took longer is slow, whatever the answer. */
const SLOW_MS = 2_000

export interface Pace {
  readonly duration_ms: number
  /** Time-out, refused connection, 408, 429 or 5xx. */ readonly isOverload: boolean
}

export const nextWindow = (window: number, { duration_ms, isOverload }: Pace): number =>
  isOverload || duration_ms > SLOW_MS ? Math.max(1, window >> 1) : Math.min(WINDOW_MAX, window * 2)

/**
 * Maximum number of deliveries in progress in one process, and how many of them endpoints with a window of one may
 * have, so that the others always find a slot.
 */
export const IN_FLIGHT_MAX = 1_024
export const SLOW_IN_FLIGHT_MAX = 512

interface Occupied {
  readonly all: number
  readonly slow: number
}
/** Free slots of one endpoint. */
export const freePlaces = (window: number, inFlight: number, occupied: Occupied): number =>
  Math.max(
    0,
    Math.min(
      window - inFlight,
      IN_FLIGHT_MAX - occupied.all,
      window === 1 ? SLOW_IN_FLIGHT_MAX - occupied.slow : IN_FLIGHT_MAX
    )
  )
