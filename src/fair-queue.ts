/**
 * The order of work on a thread that organizations share: start-time fair queueing by the time that each organization's
 * work took, divided by its weight. The organization that has used the least since others began to wait is next, so a
 * tenant with one search passes a tenant with fifty. Pure.
 *
 * Bound: the waiting work, and an entry for each organization that waits or has worked since the queue was last empty.
 */
interface Member<A> {
  readonly waiting: Array<A>
  /** Work done, in virtual milliseconds. */ finish: number
}
interface Taken<A> {
  readonly organizationId: string
  readonly entry: A
}

export const makeFairQueue = <A>(weightOf: (organizationId: string) => number) => {
  const members = new Map<string, Member<A>>()
  let virtual_ms = 0
  let size = 0
  return {
    size: (): number => size,
    put: (organizationId: string, entry: A): void => {
      let member = members.get(organizationId)
      if (member === undefined) members.set(organizationId, (member = { waiting: [], finish: virtual_ms }))
      // An idle organization accumulates no credit.
      if (member.waiting.length === 0) member.finish = Math.max(member.finish, virtual_ms)
      member.waiting.push(entry)
      size++
    },
    /** O(organizations that wait or have worked). */
    take: (): Taken<A> | undefined => {
      let next: readonly [string, Member<A>] | undefined
      for (const one of members)
        if (one[1].waiting.length > 0 && (next === undefined || one[1].finish < next[1].finish)) next = one
      if (next === undefined) return undefined
      virtual_ms = next[1].finish
      size--
      return { organizationId: next[0], entry: next[1].waiting.shift()! }
    },
    /** Call with the time that the entry took, or that work without waiting took. */
    worked: (organizationId: string, took_ms: number): void => {
      if (size === 0) return members.clear()
      const member = members.get(organizationId)
      if (member !== undefined) member.finish += took_ms / weightOf(organizationId)
      // Removes idle organizations that have used no more than the others, because they need no record.
      for (const [id, { finish, waiting }] of members)
        if (waiting.length === 0 && finish <= virtual_ms) members.delete(id)
    }
  }
}
