/**
 * Whom a write waits for, as properties over random schedules: a lease never ends for others before it has ended for
 * its holder.
 */
import { describe, expect, it } from "vitest"
import { makeRandom } from "../../../fixtures/random.ts"
import { type Change, subjectsByKind } from "../../../src/configuration/change.ts"
import {
  ended,
  leaseEnd,
  type LeaseRow,
  mayRenew,
  type Observed,
  observe,
  unconfirmed
} from "../../../src/configuration/leases.ts"

const LEASE = 1_000

describe("leases of configuration", () => {
  it("end for waiting writers after they have ended for their holder, whatever delays and clocks there are", () => {
    const random = makeRandom("leases")
    for (let round = 0; round < 2_000; round++) {
      // True time in ms; the clocks of the holder and of the waiter run 1 % apart and started at different moments.
      const rates = { holder: 0.995 + random.next() * 0.01, waiter: 0.995 + random.next() * 0.01 }
      const origins = { holder: random.below(1e6), waiter: random.below(1e6) }
      const on = (who: "holder" | "waiter", t: number) => origins[who] + t * rates[who]
      const renewals: Array<{ readonly sentAt: number; readonly storedAt: number }> = []
      for (let t = 0; t < 5_000; t += random.below(1_500)) {
        const storedAt = Math.max(t, renewals.at(-1)?.storedAt ?? 0) + random.below(400)
        renewals.push({ sentAt: t, storedAt })
      }
      let known: ReadonlyMap<string, Observed> = new Map()
      for (let t = 0; t < 9_000; t += 1 + random.below(300)) {
        // The row as it was at t, read by the waiter a while later.
        const stored = renewals.filter(({ storedAt }) => storedAt <= t).length
        if (stored === 0) continue
        const at = t + random.below(200)
        known = observe(known, [{ process: "p", confirmed: 0, renewals: stored }], on("waiter", at))
        if (ended(known, on("waiter", at), LEASE).length === 0) continue
        // The waiter ends the lease only if the row is still as it saw it.
        if (renewals.filter(({ storedAt }) => storedAt <= at).length !== stored) continue
        const holderBelieves = leaseEnd(on("holder", renewals[stored - 1]!.sentAt), LEASE)
        expect(on("holder", at)).toBeGreaterThanOrEqual(holderBelieves)
        break
      }
    }
  })
  it("are waited for until their row or a notification has the version, and forgotten with their row", () => {
    const random = makeRandom("unconfirmed")
    for (let round = 0; round < 500; round++) {
      const rows: Array<LeaseRow> = Array.from({ length: random.below(8) }, (_, i) => ({
        process: `p${i}`,
        confirmed: random.below(20),
        renewals: random.below(5)
      }))
      const heard = new Map(
        rows
          .filter(() => random.chance(0.5))
          .map(({ process }) => [process, random.chance(0.1) ? Infinity : random.below(20)])
      )
      const version = random.below(20)
      const observed = observe(observe(new Map(), rows, 1), rows, 5)
      expect([...observed.values()].every(({ seenAt }) => seenAt === 1)).toBe(true)
      const missing = unconfirmed(observed, heard, version).map(({ process }) => process)
      for (const { confirmed, process } of rows)
        expect(missing.includes(process)).toBe(confirmed < version && (heard.get(process) ?? -1) < version)
      expect(unconfirmed(observe(observed, rows.slice(1), 9), heard, version).map(({ process }) => process)).toEqual(
        missing.filter((process) => process !== rows[0]?.process)
      )
    }
  })
  it("are not renewed by a process that knows of a change for a lease but cannot read it", () => {
    expect(mayRenew(undefined, 5_000, LEASE)).toBe(true)
    expect(mayRenew(4_001, 5_000, LEASE)).toBe(true)
    expect(mayRenew(4_000, 5_000, LEASE)).toBe(false)
  })
  it("changes are read once for each row, for each organization", () => {
    const change = (organizationId: string, id: string): Change => ({ kind: "api_key", organizationId, id })
    const found = subjectsByKind([
      change("a", "1"),
      change("a", "1"),
      { kind: "organization", organizationId: "a", id: "a" },
      change("b", "1"),
      change("a", "2")
    ])
    expect([...found]).toEqual([
      [
        "api_key",
        [
          { organizationId: "a", id: "1" },
          { organizationId: "b", id: "1" },
          { organizationId: "a", id: "2" }
        ]
      ],
      ["organization", [{ organizationId: "a", id: "a" }]]
    ])
  })
})
