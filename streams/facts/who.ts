/**
 * Who made a search, as fingerprints: user, anonymous id, session, and the network of the address. A visitor is the
 * user, else the anonymous id, else the session; one person may appear as all three. Pure.
 */

/** Fingerprints of user, anonymous id and session (0 if absent), and of the answer's network (0 if unknown). */
export type Who = readonly [user: number, anonymous: number, session: number, network: number]
export const NOBODY: Who = [0, 0, 0, 0]

export const personOf = (who: Who): number => who[0] || who[1] || who[2]

/** The ids from the answer, completed by those from the event. */
export const together = (a: Who, b: Who): Who => (b === NOBODY ? a : [a[0] || b[0], a[1] || b[1], a[2] || b[2], a[3]])
