/** Shares of partitions: even, complete, sticky; and the single rule of the watchdog. */
import { describe, expect, it } from "vitest"
import { assign, type UnitLease, type Member, standing, unitKey } from "../../streams/offsets/assignment.ts"
import { seeded } from "../support/attribution-oracle.ts"

const members = (...names: ReadonlyArray<string>): ReadonlyArray<Member> =>
  names.map((member) => ({ member, processors: ["p"] }))
const units = (...owners: ReadonlyArray<string | undefined>): ReadonlyArray<UnitLease> =>
  owners.map((owner, partition) => ({ group: "p", partition, owner }))
/** Every member acts once on the same view; a release ends a lease at once. */
const round = (live: ReadonlyArray<Member>, held: ReadonlyArray<UnitLease>): ReadonlyArray<UnitLease> => {
  const owners = new Map(held.map((unit) => [unitKey(unit), unit.owner]))
  for (const { member } of live) {
    const view = held.map((unit) => ({ ...unit, owner: owners.get(unitKey(unit)) }))
    const { claim, release } = assign(member, live, view)
    for (const unit of release) owners.set(unitKey(unit), undefined)
    for (const unit of claim) if (owners.get(unitKey(unit)) === undefined) owners.set(unitKey(unit), member)
  }
  return held.map((unit) => ({ ...unit, owner: owners.get(unitKey(unit)) }))
}
const counts = (held: ReadonlyArray<UnitLease>) =>
  [
    ...held
      .reduce((found, { owner = "nobody" }) => found.set(owner, (found.get(owner) ?? 0) + 1), new Map<string, number>())
      .values()
  ].sort()

describe("assignment", () => {
  it("gives a single member everything and an even share to each of several", () => {
    expect(assign("a", members("a"), units(undefined, undefined)).claim).toHaveLength(2)
    expect(assign("b", members("a", "b"), units("a", "a", "a", "a"))).toEqual({ release: [], claim: [] })
    expect(assign("a", members("a", "b"), units("a", "a", "a", "a")).release.map(({ partition }) => partition)).toEqual(
      [2, 3]
    )
  })
  it("moves nothing while shares are even, in whatever order members are listed", () => {
    for (const who of ["a", "b", "c"])
      expect(assign(who, members("a", "b", "c"), units("c", "c", "b", "a"))).toEqual({ release: [], claim: [] })
  })
  it("gives a member no partitions of processors that it does not run", () => {
    const mixed: ReadonlyArray<Member> = [
      { member: "a", processors: ["p"] },
      { member: "b", processors: ["other"] }
    ]
    expect(assign("a", mixed, units(undefined, undefined, undefined)).claim).toHaveLength(3)
    expect(assign("b", mixed, units(undefined, undefined, undefined)).claim).toEqual([])
  })
  it("settles within a few rounds after any joins and departures", () => {
    const random = seeded(7)
    for (let trial = 0; trial < 200; trial++) {
      let held = units(...Array.from({ length: 1 + Math.floor(random() * 12) }, () => undefined))
      let live: ReadonlyArray<Member> = []
      for (let change = 0; change < 6; change++) {
        live = members(...["a", "b", "c", "d", "e"].filter(() => random() < 0.6))
        if (live.length === 0) live = members("a")
        held = held.map((unit) =>
          live.some(({ member }) => member === unit.owner) ? unit : { ...unit, owner: undefined }
        )
        for (let i = 0; i < 4; i++) held = round(live, held)
        const settled = counts(held)
        expect(held.every(({ owner }) => owner !== undefined)).toBe(true)
        expect(Math.max(...settled) - Math.min(...settled)).toBeLessThanOrEqual(1)
        expect(round(live, held)).toEqual(held)
      }
    }
  })
})

describe("the watchdog", () => {
  it("reports a partition as stalled only when nothing moves while records wait", () => {
    const first = standing(undefined, "x", 5, 1_000, 100).standing
    expect(standing(first, "x", 5, 1_099, 100).isStalled).toBe(false)
    expect(standing(first, "x", 5, 1_100, 100).isStalled).toBe(true)
    expect(standing(first, "y", 5, 1_100, 100).isStalled).toBe(false)
    expect(standing(first, "x", 0, 1_100, 100).isStalled).toBe(false)
  })
})
