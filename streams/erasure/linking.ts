/**
 * Finds what belongs to a person: first the sessions and anonymous ids seen together with the user id, then the
 * searches of all of those. Only one step: a session shared with a third person proves nothing.
 */
import { Effect } from "effect"
import { type FingerprintKey, narrowKey } from "@dowser/log/fingerprint"
import { decodeRecord, type Envelope } from "@dowser/log/record"
import { Erasures, type PrintKind, printOf, type Tombstone } from "./erasures.ts"
import { CONTENTS, entriesIn, type Subject } from "./subjects.ts"
import { BEHAVIOUR_EVENTS, SEARCH_SERVED } from "@dowser/log/topics"
import { walk } from "./walk.ts"

/** Maximum number of ids of each kind that are followed. Only a user id shared by all anonymous visitors has more. */
const LINKED_MAX = 10_000

interface Links {
  readonly prints: ReadonlyArray<string>
  /** Number of hidden entries by topic. */ readonly entries: Readonly<Record<string, number>>
  readonly isCut: boolean
}

/**
 * Reads the log up to `reach` (offsets by topic/partition, not below the tombstone's), topics of answers twice and the
 * others three or four times; holds at most 30,000 fingerprints.
 */
export const linksOf = Effect.fnUntraced(function* (
  tombstone: Tombstone,
  reach: Readonly<Record<string, number>>,
  fingerprintKey: FingerprintKey
) {
  const {
    organizationId,
    prints: [user]
  } = tombstone
  const key = narrowKey(fingerprintKey, organizationId)
  const linked: Record<Exclude<PrintKind, "user">, Set<string>> = {
    session: new Set(),
    anonymous: new Set(),
    query: new Set()
  }
  const entries: Record<string, number> = {}
  let isCut = false
  const add = (kind: Exclude<PrintKind, "user">, ids: ReadonlyArray<string>) => {
    for (const id of ids) {
      if (linked[kind].size < LINKED_MAX) linked[kind].add(printOf(key, kind, id))
      else isCut = true
    }
  }
  const known = () => [user!, ...linked.session, ...linked.anonymous, ...linked.query]
  const eachHidden = (topics: ReadonlyArray<string>, each: (subject: Subject, topic: string) => void) =>
    Effect.gen(function* () {
      const erasures = new Erasures([{ ...tombstone, prints: known() }], fingerprintKey)
      for (const [place, end] of Object.entries(reach)) {
        const { partition, topic } = placeOf(place)
        const contents = CONTENTS.get(topic)
        if (contents === undefined || !topics.includes(topic)) continue
        yield* walk(topic, partition, end, (records) =>
          Effect.sync(() => {
            for (const { key: owner, offset, value } of records) {
              if (owner !== undefined && owner !== organizationId) continue
              const envelope = readable(value)
              if (envelope === undefined) continue
              const all = entriesIn(topic, envelope)
              for (const index of erasures.hiddenIn(topic, partition, offset, envelope) ?? [])
                each(contents.subjectOf(all![index] as never), topic)
            }
          })
        )
      }
    })
  const count = (topic: string) => {
    entries[topic] = (entries[topic] ?? 0) + 1
  }
  const others = [...CONTENTS.keys()].filter((topic) => topic !== SEARCH_SERVED.name)

  yield* eachHidden([...CONTENTS.keys()], ({ anonymous, sessions }) => {
    add("session", sessions)
    add("anonymous", anonymous)
  })
  yield* eachHidden([SEARCH_SERVED.name], ({ makes }, topic) => {
    count(topic)
    if (makes !== undefined) add("query", [makes])
  })
  yield* eachHidden([BEHAVIOUR_EVENTS.name], ({ makes }) => {
    if (makes !== undefined) add("query", [makes])
  })
  // Only after that pass is it known which of the other entries name a search of this person.
  yield* eachHidden(others, (_subject, topic) => count(topic))
  return { prints: known(), entries, isCut } satisfies Links
})

export const placeOf = (place: string): { readonly topic: string; readonly partition: number } => {
  const at = place.lastIndexOf("/")
  return { topic: place.slice(0, at), partition: Number(place.slice(at + 1)) }
}

/** Undefined for a record that became a dead letter when it was first read. */
const readable = (value: Uint8Array): Envelope<unknown> | undefined => {
  try {
    return decodeRecord(value)
  } catch {
    return undefined
  }
}
