/**
 * Searches that visitors made, while clicks may still come: what was taken belongs to the search it names, else to the
 * visitor's last search of the collection within half an hour. Successive keystrokes, and pages of the same query, are
 * one search. Pure; bounded by the number of searches that are open, the oldest of which are told.
 */
import type { BehaviouralEvent, ServedSearch } from "@dowser/log/event-schema"
import { normalizeQuery } from "@dowser/log/normalize-query"
import { TAKEN_GAINS } from "@dowser/engine-sdk/judging"

/** A search that is over. */
export interface ClickedSearch {
  /** In its analytics form. */ readonly q: string
  /** What the client says that it showed; undefined where it says nothing. */
  readonly shown: ReadonlyArray<string> | undefined
  /** Gains by document. */ readonly taken: ReadonlyMap<string, number>
}
interface Open {
  readonly id: string
  readonly q: string
  readonly visitor: string
  readonly at: number
  shown: ReadonlyArray<string> | undefined
  readonly taken: Map<string, number>
}

const VISIT_MS = 30 * 60_000
const KEYSTROKE_MS = 4_000
const OPEN_MAX = 50_000
const SHOWN_MAX = 50
const NONE: ReadonlyArray<string> = []

const visitorOf = ({
  anonymous_id,
  session_id,
  user_id
}: Pick<ServedSearch, "session_id" | "user_id" | "anonymous_id">): string => session_id || user_id || anonymous_id || ""
const documentsOf = ({ document_id, items }: BehaviouralEvent): ReadonlyArray<string> =>
  items === undefined ? (document_id === undefined ? NONE : [document_id]) : items.map((item) => item.document_id)

export class OpenSearches {
  readonly #tell: (search: ClickedSearch) => void
  /** By query id, oldest first. */ readonly #open = new Map<string, Open>()
  /** The last of a visitor. */ readonly #last = new Map<string, Open>()
  /** Query ids of keystrokes and pages, which are part of another search. */ readonly #parts = new Map<
    string,
    string
  >()

  constructor(tell: (search: ClickedSearch) => void) {
    this.#tell = tell
  }

  answered(served: ServedSearch): void {
    const { at, filter_by, isRedirected, query_id: id } = served
    // A filtered list is another list than the query's.
    if (isRedirected === true || (filter_by ?? "") !== "" || this.#open.has(id) || this.#parts.has(id)) return
    const visitor = visitorOf(served)
    const q = normalizeQuery(served.q)
    if (q === "" || q === "*") return
    const last = visitor === "" ? undefined : this.#last.get(visitor)
    if (last !== undefined && last.q === q && at - last.at < VISIT_MS) return void this.#parts.set(id, last.id)
    if (last !== undefined && q.startsWith(last.q) && at - last.at < KEYSTROKE_MS && last.taken.size === 0)
      this.#open.delete(last.id)
    const search: Open = { id, q, visitor, at, shown: undefined, taken: new Map() }
    this.#open.set(id, search)
    if (visitor !== "") this.#last.set(visitor, search)
    this.#close(OPEN_MAX)
  }

  happened(event: BehaviouralEvent): void {
    const search = this.#searchOf(event)
    if (search === undefined) return
    if (event.type === "search") {
      search.shown ??= event.document_ids?.slice(0, SHOWN_MAX)
      return
    }
    if (event.type !== "click" && event.type !== "add_to_cart" && event.type !== "purchase") return
    const gain = TAKEN_GAINS[event.type]
    for (const id of documentsOf(event)) search.taken.set(id, Math.max(gain, search.taken.get(id) ?? 0))
  }

  /** Tells what is open. */
  end(): void {
    this.#close(0)
  }

  #searchOf(event: BehaviouralEvent): Open | undefined {
    const { query_id, timestamp } = event
    if (query_id !== undefined) return this.#open.get(this.#parts.get(query_id) ?? query_id)
    const last = this.#last.get(visitorOf(event))
    return last !== undefined && timestamp >= last.at && timestamp - last.at < VISIT_MS ? last : undefined
  }
  #close(max: number): void {
    for (const [id, search] of this.#open) {
      if (this.#open.size <= max) break
      this.#open.delete(id)
      if (this.#last.get(search.visitor) === search) this.#last.delete(search.visitor)
      this.#tell(search)
    }
    // Parts, and keystrokes that were passed over, leave with what they were part of.
    if (this.#parts.size > OPEN_MAX || max === 0) this.#parts.clear()
    if (this.#last.size > 2 * OPEN_MAX || max === 0) this.#last.clear()
  }
}
