/**
 * Searches of visitors for which clicks may still arrive: a click or a purchase belongs to the search that it names,
 * else to the visitor's last one of the collection within half an hour. Successive keystrokes, and pages of the same
 * query, count as one search. Pure; limited in the number of open searches and in their bytes, because senders of
 * events choose the ids: beyond that, the oldest are closed.
 */
import type { BehaviouralEvent, ServedSearch } from "@dowser/log/event-schema"
import { normalizeQuery } from "@dowser/log/normalize-query"
import { TAKEN_GAINS } from "@dowser/engine-sdk/judging"

/** A closed search. */
export interface ClickedSearch {
  /** In its analytics form. */ readonly q: string
  /** Empty if unknown. */ readonly visitor: string
  readonly at: number
  readonly found: number
  /** The documents that the client reports as shown; undefined without a report. */
  readonly shown: ReadonlyArray<string> | undefined
  /** Gains by chosen document. */ readonly taken: ReadonlyMap<string, number>
}
interface Open {
  readonly id: string
  readonly q: string
  readonly visitor: string
  readonly at: number
  readonly found: number
  shown: ReadonlyArray<string> | undefined
  readonly taken: Map<string, number>
  bytes: number
}

const VISIT_MS = 30 * 60_000
const KEYSTROKE_MS = 4_000
const OPEN_MAX = 50_000
const OPEN_BYTES_MAX = 64_000_000
const SEARCH_BYTES = 600,
  DOCUMENT_BYTES = 100
/** Limit of documents for one search; a visitor that takes more is not a person. */
const TAKEN_MAX = 200
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
  readonly #emit: (search: ClickedSearch) => void
  /** By query id, oldest first. */ readonly #open = new Map<string, Open>()
  /** The last search of each visitor. */ readonly #last = new Map<string, Open>()
  #bytes = 0
  /** Query ids of keystrokes and pages, which are part of another search. */ readonly #parts = new Map<
    string,
    string
  >()

  constructor(emit: (search: ClickedSearch) => void) {
    this.#emit = emit
  }

  answered(served: ServedSearch): void {
    const { at, filter_by, found, isRedirected, query_id: id } = served
    // A filtered list differs from the query's list.
    if (isRedirected === true || (filter_by ?? "") !== "" || this.#open.has(id) || this.#parts.has(id)) return
    const visitor = visitorOf(served)
    const q = normalizeQuery(served.q)
    if (q === "" || q === "*") return
    const last = visitor === "" ? undefined : this.#last.get(visitor)
    if (last !== undefined && last.q === q && at - last.at < VISIT_MS) return void this.#parts.set(id, last.id)
    if (last !== undefined && q.startsWith(last.q) && at - last.at < KEYSTROKE_MS && last.taken.size === 0)
      this.#drop(last)
    const search: Open = {
      id,
      q,
      visitor,
      at,
      found,
      shown: undefined,
      taken: new Map(),
      bytes: SEARCH_BYTES + 2 * q.length
    }
    this.#open.set(id, search)
    this.#bytes += search.bytes
    if (visitor !== "") this.#last.set(visitor, search)
    this.#close(OPEN_MAX)
  }

  happened(event: BehaviouralEvent): void {
    const search = this.#searchOf(event)
    if (search === undefined) return
    if (event.type === "search") {
      const shown = search.shown === undefined ? event.document_ids?.slice(0, SHOWN_MAX) : undefined
      if (shown === undefined) return
      search.shown = shown
      return this.#grew(search, shown)
    }
    if (event.type !== "click" && event.type !== "add_to_cart" && event.type !== "purchase") return
    const gain = TAKEN_GAINS[event.type]
    const more: Array<string> = []
    for (const id of documentsOf(event)) {
      const known = search.taken.get(id)
      if (known === undefined && search.taken.size >= TAKEN_MAX) continue
      if (known === undefined) more.push(id)
      search.taken.set(id, Math.max(gain, known ?? 0))
    }
    this.#grew(search, more)
  }

  /** Closes all open searches. */
  end(): void {
    this.#close(0)
  }

  /** Counts bytes for additional documents. */
  #grew(search: Open, documents: ReadonlyArray<string>): void {
    const bytes = documents.reduce((sum, id) => sum + DOCUMENT_BYTES + 2 * id.length, 0)
    search.bytes += bytes
    // The bytes of a search that was closed in the meantime are not counted.
    if (this.#open.get(search.id) !== search) return
    this.#bytes += bytes
    this.#close(OPEN_MAX)
  }
  #drop(search: Open): void {
    if (this.#open.delete(search.id)) this.#bytes -= search.bytes
  }
  #searchOf(event: BehaviouralEvent): Open | undefined {
    const { query_id, timestamp } = event
    if (query_id !== undefined) return this.#open.get(this.#parts.get(query_id) ?? query_id)
    const last = this.#last.get(visitorOf(event))
    return last !== undefined && timestamp >= last.at && timestamp - last.at < VISIT_MS ? last : undefined
  }
  #close(max: number): void {
    for (const search of this.#open.values()) {
      if (this.#open.size <= max && this.#bytes <= OPEN_BYTES_MAX) break
      this.#drop(search)
      if (this.#last.get(search.visitor) === search) this.#last.delete(search.visitor)
      this.#emit(search)
    }
    // Entries for parts and superseded keystrokes are removed all together.
    if (this.#parts.size > OPEN_MAX || max === 0) this.#parts.clear()
    if (this.#last.size > 2 * OPEN_MAX || max === 0) this.#last.clear()
  }
}
