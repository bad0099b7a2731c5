/**
 * Whose the entries of a record are, for every topic that holds what visitors did. A topic that is absent here holds
 * nothing personal. Pure; never called, and so free, while nobody was erased.
 */
import type { BehaviouralEvent, ServedSearch } from "@dowser/log/event-schema"
import type { KeptRejection } from "@dowser/log/rejection"
import type { Envelope } from "@dowser/log/record"
import { BEHAVIOUR_EVENTS, BEHAVIOUR_REJECTED, SEARCH_SERVED } from "@dowser/log/topics"

/** What an entry says about its person. */
export interface Subject {
  readonly users: ReadonlyArray<string>
  readonly sessions: ReadonlyArray<string>
  readonly anonymous: ReadonlyArray<string>
  /** Searches that it names. */ readonly queries: ReadonlyArray<string>
  /** The search that it is. */ readonly makes: string | undefined
  /** When it happened (ms), where our own clock said so. */ readonly at: number | undefined
}

interface Contents {
  /** Where the payload keeps its entries. An erased entry is null, so that the others keep their indexes. */
  readonly list: string
  readonly organizationOf: (entry: never, envelope: Envelope<unknown>) => string
  readonly subjectOf: (entry: never) => Subject
}

const some = (id: string | undefined): ReadonlyArray<string> => (id === undefined || id === "" ? [] : [id])

const ofEvent = ({ anonymous_id, query_id, session_id, type, user_id }: BehaviouralEvent): Subject => ({
  users: some(user_id),
  sessions: some(session_id),
  anonymous: some(anonymous_id),
  queries: some(query_id),
  makes: type === "search" ? query_id : undefined,
  at: undefined
})
const ofServed = ({ anonymous_id, at, query_id, session_id, user_id }: ServedSearch): Subject => ({
  users: some(user_id),
  sessions: some(session_id),
  anonymous: some(anonymous_id),
  queries: [],
  makes: query_id,
  at
})

/** Found by their keys and not by reading JSON: the text may be cut, or no JSON at all. */
const idsIn = (text: string, key: string): ReadonlyArray<string> =>
  [...text.matchAll(new RegExp(`"${key}"\\s*:\\s*("(?:[^"\\\\]|\\\\.)*"|-?\\d+)`, "g"))].flatMap(([, value]) => {
    try {
      return some(String(JSON.parse(value!)).toWellFormed())
    } catch {
      return []
    }
  })
/** Whose any text is that holds an event as it was sent. */
export const subjectOfText = (text: string): Subject => ({
  users: idsIn(text, "user_id"),
  sessions: idsIn(text, "session_id"),
  anonymous: idsIn(text, "anonymous_id"),
  queries: idsIn(text, "query_id"),
  makes: undefined,
  at: undefined
})

const ofEnvelope = (_entry: never, { organization_id }: Envelope<unknown>): string => organization_id
export const CONTENTS: ReadonlyMap<string, Contents> = new Map<string, Contents>([
  [BEHAVIOUR_EVENTS.name, { list: "events", organizationOf: ofEnvelope, subjectOf: ofEvent as Contents["subjectOf"] }],
  [
    SEARCH_SERVED.name,
    {
      list: "served",
      organizationOf: ((served: ServedSearch) => served.organization_id) as Contents["organizationOf"],
      subjectOf: ofServed as Contents["subjectOf"]
    }
  ],
  [
    BEHAVIOUR_REJECTED.name,
    {
      list: "rejections",
      organizationOf: ofEnvelope,
      subjectOf: ((rejection: KeptRejection) => subjectOfText(rejection.entry)) as Contents["subjectOf"]
    }
  ]
])

/** Entries of a record as they lie in it, erased ones as null; undefined for a topic or payload that holds none. */
export const entriesIn = (topic: string, { payload }: Envelope<unknown>): ReadonlyArray<unknown> | undefined => {
  const contents = CONTENTS.get(topic)
  const entries =
    contents === undefined || typeof payload !== "object" || payload === null
      ? undefined
      : (payload as Readonly<Record<string, unknown>>)[contents.list]
  return Array.isArray(entries) ? entries : undefined
}
