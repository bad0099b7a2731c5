/**
 * Texts waiting for the model. Organizations take turns, chunk by chunk, so that an organization with a single text
 * overtakes one with thousands. The bounds apply to all together, and one organization may use half of each, so that
 * none blocks the others. Pure.
 */
interface Waits {
  readonly organizationId: string
  readonly items: number
  readonly bytes: number
}
interface LineBounds {
  readonly items: number
  readonly bytes: number
}
interface Place<A> {
  readonly waiting: Array<A>
  items: number
  bytes: number
}

export class Line<A extends Waits> {
  readonly #bounds: LineBounds
  /** In the order of the organizations' turns. */
  readonly #places = new Map<string, Place<A>>()
  #items = 0
  #bytes = 0

  constructor(bounds: LineBounds) {
    this.#bounds = bounds
  }
  get items(): number {
    return this.#items
  }
  get bytes(): number {
    return this.#bytes
  }
  /** Whether there is room for this much. A request larger than a bound is admitted if nothing else waits. */
  hasRoom({ bytes, items, organizationId }: Waits): boolean {
    const own = this.#places.get(organizationId)
    const fits = (waiting: number, more: number, bound: number) => waiting === 0 || waiting + more <= bound
    return (
      fits(this.#items, items, this.#bounds.items) &&
      fits(this.#bytes, bytes, this.#bounds.bytes) &&
      fits(own?.items ?? 0, items, this.#bounds.items / 2) &&
      fits(own?.bytes ?? 0, bytes, this.#bounds.bytes / 2)
    )
  }
  put(entry: A): void {
    this.#placeOf(entry).waiting.push(entry)
    this.#count(entry, 1)
  }
  /** For work that must be repeated: puts it before everything else of its organization, which gets the next turn. */
  putBack(entry: A): void {
    const place = this.#placeOf(entry)
    place.waiting.unshift(entry)
    this.#count(entry, 1)
    const others = [...this.#places].filter(([id]) => id !== entry.organizationId)
    this.#places.clear()
    this.#places.set(entry.organizationId, place)
    for (const [id, other] of others) this.#places.set(id, other)
  }
  take(): A | undefined {
    const [first] = this.#places
    if (first === undefined) return undefined
    const [organizationId, place] = first
    const entry = place.waiting.shift()!
    this.#count(entry, -1)
    this.#places.delete(organizationId)
    if (place.waiting.length > 0) this.#places.set(organizationId, place)
    return entry
  }
  /** Removes abandoned work. O(entries that its organization has waiting). */
  remove(entry: A): void {
    const place = this.#places.get(entry.organizationId)
    const at = place?.waiting.indexOf(entry) ?? -1
    if (place === undefined || at < 0) return
    place.waiting.splice(at, 1)
    this.#count(entry, -1)
    if (place.waiting.length === 0) this.#places.delete(entry.organizationId)
  }
  /** Takes everything that waits and leaves the queue empty. */
  takeAll(): ReadonlyArray<A> {
    const all = [...this.#places.values()].flatMap(({ waiting }) => waiting)
    this.#places.clear()
    this.#items = this.#bytes = 0
    return all
  }
  #placeOf({ organizationId }: A): Place<A> {
    let place = this.#places.get(organizationId)
    if (place === undefined) this.#places.set(organizationId, (place = { waiting: [], items: 0, bytes: 0 }))
    return place
  }
  #count({ bytes, items, organizationId }: A, sign: 1 | -1): void {
    this.#items += sign * items
    this.#bytes += sign * bytes
    const place = this.#places.get(organizationId)
    if (place === undefined) return
    place.items += sign * items
    place.bytes += sign * bytes
  }
}
