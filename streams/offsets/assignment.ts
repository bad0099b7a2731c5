/**
 * Which partitions a process should release and which it should take, computed from the table that all processes read.
 * Pure. Each process decides for itself; leases (`leases.ts`) make sure that no two run the same partition, so a stale
 * view costs a moment but no exactness.
 */

/** A partition of a processor. */
export interface Unit {
  readonly group: string
  readonly partition: number
}
export interface UnitLease extends Unit {
  /** The member that holds it; undefined when its lease has ended. */
  readonly owner: string | undefined
}
export interface Member {
  readonly member: string
  /** Processors that the member runs. */ readonly processors: ReadonlyArray<string>
}

export const unitKey = ({ group, partition }: Unit): string => `${group}/${partition}`

/**
 * Shares each processor's partitions evenly among the live members that run it. Members that hold more keep the larger
 * share, so that as few partitions as possible move when members join or leave: a moved partition rebuilds its state.
 */
export const assign = (
  me: string,
  members: ReadonlyArray<Member>,
  units: ReadonlyArray<UnitLease>
): { readonly release: ReadonlyArray<Unit>; readonly claim: ReadonlyArray<Unit> } => {
  const release: Array<Unit> = []
  const claim: Array<Unit> = []
  const groups = members.find(({ member }) => member === me)?.processors ?? []
  for (const group of groups) {
    const ofGroup = units.filter((unit) => unit.group === group)
    const counts = new Map(
      members
        .filter(({ processors }) => processors.includes(group))
        .map(({ member }) => [member, ofGroup.filter(({ owner }) => owner === member).length])
    )
    const rank = [...counts]
      .sort(([a, heldByA], [b, heldByB]) => heldByB - heldByA || (a < b ? -1 : 1))
      .findIndex(([member]) => member === me)
    const share = Math.floor(ofGroup.length / counts.size) + (rank < ofGroup.length % counts.size ? 1 : 0)
    const mine = ofGroup.filter(({ owner }) => owner === me)
    release.push(...mine.slice(share))
    // A unit whose owner no longer takes part stays with it until its lease ends.
    claim.push(...ofGroup.filter(({ owner }) => owner === undefined).slice(0, Math.max(0, share - mine.length)))
  }
  return { release, claim }
}

/** The last progress that a watchdog saw of a partition, and since when. It must change while records wait. */
export interface Standing {
  readonly mark: string
  readonly since: number
}

/** The new standing, and whether it has lasted too long. `mark` is any text that changes with progress. */
export const standing = (
  before: Standing | undefined,
  mark: string,
  lag: number,
  now: number,
  stalledAfter_ms: number
): { readonly standing: Standing; readonly isStalled: boolean } => {
  const kept = before !== undefined && before.mark === mark && lag > 0 ? before : { mark, since: now }
  return { standing: kept, isStalled: now - kept.since >= stalledAfter_ms }
}
