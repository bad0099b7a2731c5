/** Ids of communities: inherited by greatest overlap, or derived from the members. Pure. */
import { createHash } from "node:crypto"

export interface KnownCommunity {
  readonly id: string
  readonly members: ReadonlyArray<string>
}
/** With less overlap, a community does not count as the successor of another. */
const OVERLAP_MIN = 0.3

export const hashed = (prefix: string, ...parts: ReadonlyArray<string>): string =>
  `${prefix}_${createHash("sha256").update(parts.join("\u0000")).digest("hex").slice(0, 26)}`

/** One id per community, in order. `communities` are ids of members. */
export const carriedIds = (
  collection: string,
  communities: ReadonlyArray<ReadonlyArray<string>>,
  known: ReadonlyArray<KnownCommunity>
): ReadonlyArray<string> => {
  const knownOf = new Map<string, Array<number>>()
  for (const [i, { members }] of known.entries())
    for (const member of members) {
      const own = knownOf.get(member)
      if (own === undefined) knownOf.set(member, [i])
      else own.push(i)
    }
  const pairs: Array<{ readonly place: number; readonly before: number; readonly overlap: number }> = []
  for (const [place, members] of communities.entries()) {
    const shared = new Map<number, number>()
    for (const member of members) for (const i of knownOf.get(member) ?? []) shared.set(i, (shared.get(i) ?? 0) + 1)
    for (const [before, both] of shared) {
      const overlap = both / (members.length + known[before]!.members.length - both)
      if (overlap >= OVERLAP_MIN) pairs.push({ place, before, overlap })
    }
  }
  pairs.sort((a, b) => b.overlap - a.overlap || a.place - b.place || a.before - b.before)
  const ids: Array<string | undefined> = communities.map(() => undefined)
  const taken = new Set<string>()
  for (const { before, place } of pairs) {
    const { id } = known[before]!
    if (ids[place] !== undefined || taken.has(id)) continue
    ids[place] = id
    taken.add(id)
  }
  return communities.map((members, place) => {
    const carried = ids[place]
    if (carried !== undefined) return carried
    // The id of these members may still be in use by another community.
    for (let again = 0; ; again++) {
      const id = hashed("com", collection, [...members].sort().join(" "), String(again))
      if (taken.has(id)) continue
      taken.add(id)
      return id
    }
  })
}
