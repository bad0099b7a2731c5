/**
 * Who made a query: signed like every figure here, so that a keystroke that was taken back was made by nobody. Pure.
 *
 * A visitor is the user, else the anonymous id, else the session. One person may come as all three, so what is counted
 * in the end (`popularity.ts`) is no more than the different sessions, nor the different anonymous ids, among them, nor
 * the networks that they asked from: whoever writes ids down can invent them. So only searches that were answered have
 * makers; a `search` event may say who made one that was.
 */
import type { DeltaRow } from "../rollups/rollups.ts"

/** Fingerprints of user, anonymous id and session, 0 = not said; and of the network that was answered, 0 = none was. */
export type Who = readonly [user: number, anonymous: number, session: number, network: number]
export const NOBODY: Who = [0, 0, 0, 0]

export const personOf = (who: Who): number => who[0] || who[1] || who[2]

/** What the answer says, and the event where the answer is silent. */
export const together = (a: Who, b: Who): Who => (b === NOBODY ? a : [a[0] || b[0], a[1] || b[1], a[2] || b[2], a[3]])

/**
 * Who made a query, or takes it back, as it comes: most of it is never asked for, since enough visitors made most
 * queries.
 */
export class Makers {
  readonly #rows: Array<number> = []
  readonly #who: Array<Who> = []
  readonly #signs: Array<number> = []

  /** `row` is the query's; `sign` 1, or -1 for one taken back. */
  add(row: DeltaRow, who: Who, sign: number): void {
    if (personOf(who) === 0 || who[3] === 0) return
    this.#rows.push(row.at)
    this.#who.push(who)
    this.#signs.push(sign)
  }

  /** `row` is a number of the queries' rows. */
  each(each: (row: number, who: Who, sign: number) => void): void {
    for (let i = 0; i < this.#rows.length; i++) each(this.#rows[i]!, this.#who[i]!, this.#signs[i]!)
  }
}
