/**
 * To whom the entries of a record belong, for every topic that contains what visitors did. A topic that is missing
 * here contains nothing personal. Pure; not called while there are no tombstones, and so without cost.
 */
import type { BehaviouralEvent, ServedSearch } from "@dowser/log/event-schema"
import type { KeptRejection } from "@dowser/log/rejection"
import type { Envelope } from "@dowser/log/record"
import { BEHAVIOUR_EVENTS, BEHAVIOUR_REJECTED, SEARCH_SERVED } from "@dowser/log/topics"

/** The ids by which an entry is attributed to a person. */
export interface Subject {
  readonly users: ReadonlyArray<string>
  readonly sessions: ReadonlyArray<string>
  readonly anonymous: ReadonlyArray<string>
  /** Query ids that the entry refers to. */ readonly queries: ReadonlyArray<string>
  /** The query id, if the entry is the search itself. */ readonly makes: string | undefined
  /** When it happened (ms), if it was stamped by our own clock. */ readonly at: number | undefined
}

interface Contents {
  /** Key of the entries in the payload. An erased entry is null, so that the others keep their indexes. */
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

/** Found by their keys without parsing JSON, because the text may be cut, or not JSON at all. */
const idsIn = (text: string, key: string): ReadonlyArray<string> =>
  [...text.matchAll(new RegExp(`"${key}"\\s*:\\s*("(?:[^"\\\\]|\\\\.)*"|-?\\d+)`, "g"))].flatMap(([, value]) => {
    try {
      return some(String(JSON.parse(value!)).toWellFormed())
    } catch {
      return []
    }
  })
/** The subject of any text that contains an event as it was sent. */
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

/** Entries of a record in stored order, erased ones as null; undefined for a topic or payload without entries. */
export const entriesIn = (topic: string, { payload }: Envelope<unknown>): ReadonlyArray<unknown> | undefined => {
  const contents = CONTENTS.get(topic)
  const entries =
    contents === undefined || typeof payload !== "object" || payload === null
      ? undefined
      : (payload as Readonly<Record<string, unknown>>)[contents.list]
  return Array.isArray(entries) ? entries : undefined
}
