/**
 * What the histories of visitors keep of the facts of one flush: views, clicks, carts and purchases of documents, in
 * order of arrival, with their visitor. A visitor is the user, else the anonymous id, else the session; an event that
 * names none is dropped. An event that names a user together with another id shows that both are the same person.
 */
import type { BehaviouralEvent } from "@dowser/log/event-schema"
import type { FactSink } from "../../facts/facts.ts"
import { TAKE_KINDS, type Take, type TakeKind } from "../../figures/history.ts"

type VisitorKind = "user" | "anonymous" | "session"
export interface Visitor {
  readonly organizationId: string
  readonly collection: string
  readonly kind: VisitorKind
  readonly id: string
}
/** For one user: ids that occurred in an event together with the user id. */
interface Seen {
  readonly user: Visitor
  readonly anonymous_id: string
  readonly session_id: string
  at_s: number
}
/** Maximum number of documents taken from one event; a history holds no more. */
const DOCUMENTS_MAX = 24

const takeKindOf = (type: BehaviouralEvent["type"]): TakeKind | undefined =>
  TAKE_KINDS.find((kind) => (kind as string) === type)

export class Takes implements FactSink {
  /** By slot; those of one visitor are adjacent. */
  readonly #visitors: Array<Visitor> = []
  readonly #takes: Array<Take> = []
  #last: Visitor | undefined
  readonly #seen: Array<Seen> = []

  get size(): number {
    return this.#takes.length + this.#seen.length
  }
  #visitorOf(organizationId: string, collection: string, event: BehaviouralEvent): Visitor | undefined {
    const { anonymous_id = "", session_id = "", user_id = "" } = event
    const id = user_id || anonymous_id || session_id
    if (id === "") return undefined
    const kind = user_id !== "" ? "user" : anonymous_id !== "" ? "anonymous" : "session"
    const last = this.#last
    const isLast =
      last !== undefined &&
      last.id === id &&
      last.kind === kind &&
      last.collection === collection &&
      last.organizationId === organizationId
    return isLast ? last : (this.#last = { organizationId, collection, kind, id })
  }
  event(organizationId: string, collection: string, event: BehaviouralEvent): void {
    this.#see(organizationId, collection, event)
    const kind = takeKindOf(event.type)
    if (kind === undefined) return
    const { document_id, items, timestamp } = event
    if (document_id === undefined && items === undefined) return
    const visitor = this.#visitorOf(organizationId, collection, event)
    if (visitor === undefined) return
    const at_s = timestamp / 1_000
    if (items === undefined) return this.#add(visitor, { kind, at_s, document: document_id! })
    for (const item of items.slice(0, DOCUMENTS_MAX)) this.#add(visitor, { kind, at_s, document: item.document_id })
  }
  #see(organizationId: string, collection: string, event: BehaviouralEvent): void {
    const { anonymous_id = "", session_id = "", user_id = "" } = event
    if (user_id === "" || (anonymous_id === "" && session_id === "")) return
    const user = this.#visitorOf(organizationId, collection, event)!
    const at_s = event.timestamp / 1_000
    const last = this.#seen[this.#seen.length - 1]
    if (last?.user === user && last.anonymous_id === anonymous_id && last.session_id === session_id)
      last.at_s = Math.max(last.at_s, at_s)
    else this.#seen.push({ user, anonymous_id, session_id, at_s })
  }
  #add(visitor: Visitor, take: Take): void {
    this.#visitors.push(visitor)
    this.#takes.push(take)
  }
  each(each: (visitor: Visitor, take: Take) => void): void {
    for (let i = 0; i < this.#takes.length; i++) each(this.#visitors[i]!, this.#takes[i]!)
  }
  /** Each id that also belongs to a user, and when it was last seen. */
  eachSeen(each: (user: Visitor, as: Visitor, at_s: number) => void): void {
    for (const { anonymous_id, at_s, session_id, user } of this.#seen) {
      if (anonymous_id !== "") each(user, { ...user, kind: "anonymous", id: anonymous_id }, at_s)
      if (session_id !== "") each(user, { ...user, kind: "session", id: session_id }, at_s)
    }
  }
}
