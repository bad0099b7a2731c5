/**
 * Which processes a write waits for, and how long. A lease is a row that its process renews. Wall clocks are never
 * compared: the holder counts its lease from the moment it sent the renewal, others count from the moment they first
 * saw that renewal, which is later; so a lease is over for its holder before anybody may end it.
 */

/** `process` names one holding of a lease: a process that lost its lease takes a new one under another name. */
export interface LeaseRow {
  readonly process: string
  /** Newest version up to which it has every change. */ readonly confirmed: number
  readonly renewals: number
}
export interface Observed extends LeaseRow {
  /** Monotonic ms: when this renewal was first seen. */ readonly seenAt: number
}

export const LEASE_MS = 1_000
/** Allowance for clocks of different speed: a twentieth, although quartz deviates by only a ten-thousandth. */
const CLOCK_SHARE = 0.05

/** Until when (monotonic ms) a holder may answer from memory. */
export const leaseEnd = (sentAt: number, lease_ms: number): number => sentAt + lease_ms * (1 - CLOCK_SHARE)

/** `now` is a time after the rows were read. Leases whose rows no longer exist are dropped. */
export const observe = (
  known: ReadonlyMap<string, Observed>,
  rows: ReadonlyArray<LeaseRow>,
  now: number
): ReadonlyMap<string, Observed> =>
  new Map(
    rows.map((row) => {
      const before = known.get(row.process)
      return [row.process, { ...row, seenAt: before?.renewals === row.renewals ? before.seenAt : now }]
    })
  )

/** Leases that have expired: nobody needs to wait for them. */
export const ended = (
  observed: ReadonlyMap<string, Observed>,
  now: number,
  lease_ms: number
): ReadonlyArray<Observed> => [...observed.values()].filter(({ seenAt }) => now - seenAt >= lease_ms)

/** Leases that do not have a version yet, according to their rows and to later notifications. */
export const unconfirmed = (
  observed: ReadonlyMap<string, Observed>,
  heard: ReadonlyMap<string, number>,
  version: number
): ReadonlyArray<Observed> =>
  [...observed.values()].filter(({ confirmed, process }) => Math.max(confirmed, heard.get(process) ?? 0) < version)

/** A process that knows of a change but cannot read it lets its lease end, because writes would wait for it forever. */
export const mayRenew = (behindSince: number | undefined, now: number, lease_ms: number): boolean =>
  behindSince === undefined || now - behindSince < lease_ms
