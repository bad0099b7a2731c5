/**
 * Who made a query: signed like every figure here, so that a keystroke that was taken back was made by nobody. Pure.
 *
 * A visitor is the user, else the anonymous id, else the session. One person may come as all three, so what is counted
 * in the end (`popularity.ts`) is no more than the different sessions, nor the different anonymous ids, among them.
 */
import type { DeltaRow } from "./rollups.ts"

/** Fingerprints of user, anonymous id and session; 0 = not said. */
export type Who = readonly [user: number, anonymous: number, session: number]
export const NOBODY: Who = [0, 0, 0]

/** What the answer says, and the event where the answer is silent. */
export const together = (a: Who, b: Who): Who => b === NOBODY ? a : [a[0] || b[0], a[1] || b[1], a[2] || b[2]]

export interface Made {
  readonly who: Who
  /** Searches more, or fewer when negative. */
  searches: number
}

export class Makers {
  readonly #rows = new Map<DeltaRow, Map<number, Made>>()

  /** `row` is the query's. */
  add(row: DeltaRow, who: Who, sign: number): void {
    const person = who[0] || who[1] || who[2]
    if (person === 0) return
    let made = this.#rows.get(row)
    if (made === undefined) this.#rows.set(row, made = new Map())
    const known = made.get(person)
    if (known === undefined) made.set(person, { who, searches: sign })
    else known.searches += sign
  }

  /** Calls `each` with what did not cancel. */
  each(each: (row: DeltaRow, person: number, made: Made) => void): void {
    for (const [row, made] of this.#rows) for (const [person, one] of made) if (one.searches !== 0) each(row, person, one)
  }
}
