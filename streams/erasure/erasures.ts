/**
 * Tombstones in memory: which entries of the log must no longer be read. A person is a user id. An entry with that id
 * is erased; one without a user id is erased if its session or anonymous id was seen together with that id, or if it
 * names one of the person's searches. An entry with another user id belongs to somebody else. Ids are kept as keyed
 * fingerprints. A tombstone hides what was appended before it (by offset, so that no clock decides), and searches
 * that were answered before it and appended a moment later. Somebody who returns is a new person.
 *
 * Cost: nothing without tombstones. With them, a look-up of the organization for each record, and fingerprints of an
 * entry's ids only in an organization that has tombstones, and only below their offsets.
 */
import { FINGERPRINT_WORDS, fingerprintInto, type FingerprintKey, narrowKey } from "@dowser/log/fingerprint"
import type { Envelope } from "@dowser/log/record"
import { CONTENTS, entriesIn, type Subject } from "./subjects.ts"

export interface Tombstone {
  readonly organizationId: string
  /** The job that created the tombstone. */ readonly jobId: string
  /** Unix milliseconds. */ readonly erasedAt: number
  /** `printOf` each: the user first, then ids found to belong to the user. */ readonly prints: ReadonlyArray<string>
  /** End offsets by `topic/partition` when it was created. */ readonly ends: Readonly<Record<string, number>>
}

export type PrintKind = "user" | "session" | "anonymous" | "query"
const PRINT_BYTES = 4 * FINGERPRINT_WORDS
/** `key` is narrowed to the organization. 32 hexadecimal digits; the words are those of `AttributionState.who`. */
export const printOf = (key: FingerprintKey, kind: PrintKind, id: string): string => {
  const words = new Uint32Array(FINGERPRINT_WORDS)
  fingerprintInto(key, `${kind} ${id}`, words, 0)
  return Array.from(words, (word) => word.toString(16).padStart(8, "0")).join("")
}
export const packPrints = (prints: Iterable<string>): string => [...prints].join("")
export const unpackPrints = (packed: string): ReadonlyArray<string> =>
  packed.match(new RegExp(`.{${2 * PRINT_BYTES}}`, "g")) ?? []
/** The 53 bits of a print that `query_makers` stores. */
export const makerOf = (print: string): number =>
  Number.parseInt(print.slice(0, 8), 16) * 0x20_0000 + (Number.parseInt(print.slice(8, 16), 16) >>> 11) || 1

interface Erased {
  readonly key: FingerprintKey
  readonly tombstones: Map<string, Array<Tombstone>>
  /** By `topic/partition`: the highest offset that any tombstone covers. */ readonly ends: Map<string, number>
  newestAt: number
}

export class Erasures {
  readonly #organizations = new Map<string, Erased>()

  constructor(tombstones: ReadonlyArray<Tombstone>, key: FingerprintKey) {
    for (const tombstone of tombstones) {
      const { ends, erasedAt, organizationId, prints } = tombstone
      let erased = this.#organizations.get(organizationId)
      if (erased === undefined)
        this.#organizations.set(
          organizationId,
          (erased = { key: narrowKey(key, organizationId), tombstones: new Map(), ends: new Map(), newestAt: 0 })
        )
      for (const print of prints) {
        const known = erased.tombstones.get(print)
        if (known === undefined) erased.tombstones.set(print, [tombstone])
        else known.push(tombstone)
      }
      for (const [place, end] of Object.entries(ends))
        erased.ends.set(place, Math.max(end, erased.ends.get(place) ?? 0))
      erased.newestAt = Math.max(erased.newestAt, erasedAt)
    }
  }

  get isEmpty(): boolean {
    return this.#organizations.size === 0
  }

  hides(organizationId: string, topic: string, partition: number, offset: number, subject: Subject): boolean {
    const erased = this.#organizations.get(organizationId)
    if (erased === undefined) return false
    const place = `${topic}/${partition}`
    if (offset >= (erased.ends.get(place) ?? 0) && (subject.at === undefined || subject.at > erased.newestAt))
      return false
    const isHidden = (kind: PrintKind, ids: ReadonlyArray<string>) =>
      ids.some(
        (id) =>
          erased.tombstones
            .get(printOf(erased.key, kind, id))
            ?.some(
              ({ ends, erasedAt }) =>
                offset < (ends[place] ?? 0) || (subject.at !== undefined && subject.at <= erasedAt)
            ) === true
      )
    return subject.users.length > 0
      ? isHidden("user", subject.users)
      : isHidden("session", subject.sessions) ||
          isHidden("anonymous", subject.anonymous) ||
          isHidden("query", subject.queries)
  }

  /** Indexes of a record's entries that must be hidden; undefined if none. */
  hiddenIn(
    topic: string,
    partition: number,
    offset: number,
    envelope: Envelope<unknown>
  ): ReadonlySet<number> | undefined {
    if (this.#organizations.size === 0) return undefined
    // One look-up decides for a record of one organization; in a mixed record, each entry names its organization.
    if (envelope.organization_id !== "" && !this.#organizations.has(envelope.organization_id)) return undefined
    const contents = CONTENTS.get(topic)
    const entries = contents === undefined ? undefined : entriesIn(topic, envelope)
    if (contents === undefined || entries === undefined) return undefined
    let hidden: Set<number> | undefined
    for (let index = 0; index < entries.length; index++) {
      const entry = entries[index] as never
      if (entry === null || !this.#organizations.has(contents.organizationOf(entry, envelope))) continue
      if (this.hides(contents.organizationOf(entry, envelope), topic, partition, offset, contents.subjectOf(entry)))
        (hidden ??= new Set()).add(index)
    }
    return hidden
  }
}
