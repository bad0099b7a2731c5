/**
 * Schedules organizations at a few workers, each organization with one task at a time: the next is the one whose work
 * took the least time since others began to wait. O(waiting organizations) per turn; an organization is remembered
 * while it waits, works, or is ahead of one that does.
 */
interface Member<A> {
  readonly waiting: Array<A>
  isAtWork: boolean
  /** Time that its work took, plus the floor when it arrived. */ used_ms: number
}
export class Turns<A> {
  readonly #members = new Map<string, Member<A>>()
  /** Minimum of `used_ms` when an organization begins to wait: unused time is not saved up. */ #floor_ms = 0
  size = 0

  put(organizationId: string, entry: A): void {
    let member = this.#members.get(organizationId)
    if (member === undefined)
      this.#members.set(organizationId, (member = { waiting: [], isAtWork: false, used_ms: this.#floor_ms }))
    if (member.waiting.length === 0 && !member.isAtWork) member.used_ms = Math.max(member.used_ms, this.#floor_ms)
    member.waiting.push(entry)
    this.size++
  }
  take(): { readonly organizationId: string; readonly entry: A } | undefined {
    let next: readonly [string, Member<A>] | undefined
    for (const one of this.#members)
      if (!one[1].isAtWork && one[1].waiting.length > 0 && (next === undefined || one[1].used_ms < next[1].used_ms))
        next = one
    if (next === undefined) return undefined
    const [organizationId, member] = next
    this.#floor_ms = Math.max(this.#floor_ms, member.used_ms)
    member.isAtWork = true
    this.size--
    return { organizationId, entry: member.waiting.shift()! }
  }
  done(organizationId: string, took_ms: number): void {
    const member = this.#members.get(organizationId)
    if (member === undefined) return
    member.isAtWork = false
    member.used_ms += took_ms
    for (const [id, { isAtWork, used_ms, waiting }] of this.#members)
      if (!isAtWork && waiting.length === 0 && (used_ms <= this.#floor_ms || this.size === 0)) this.#members.delete(id)
  }
}
