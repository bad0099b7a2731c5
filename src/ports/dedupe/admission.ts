/** The input and output of `admit`, and the fingerprints of one call. Shared by all adapters. */
import type { Effect } from "effect"
import { FINGERPRINT_WORDS, fingerprintInto, type FingerprintKey, narrowKey } from "@dowser/log/fingerprint"
import { beginSection, organizationTag } from "./block.ts"

/** The ids of one request of one organization, in order; repetitions within the list count as seen. */
export interface AdmitRequest {
  readonly organizationId: string
  readonly eventIds: ReadonlyArray<string>
}

export interface Admission {
  /** Per request and id: 1 if the window (or an earlier id of this call) already contained it. */
  readonly seen: ReadonlyArray<Uint8Array>
  /** Fingerprints of the new ids (`block.ts`), for the log and for `forget`. Empty if no id is new. */
  readonly block: Uint8Array
}

export interface DedupeWindowShape {
  /** Looks up all ids and remembers the new ones. One call covers everything that will be appended together. */
  readonly admit: (requests: ReadonlyArray<AdmitRequest>) => Effect.Effect<Admission>
  /** Undoes an admission whose events were not stored. */
  readonly forget: (admission: Admission) => Effect.Effect<void>
  readonly bytes: Effect.Effect<number>
}

export interface Asked {
  readonly requests: ReadonlyArray<AdmitRequest>
  /** By request. */ readonly tags: Uint32Array
  /** Fingerprints of all ids, request after request. */ readonly words: Uint32Array
  readonly total: number
}

/** O(ids), about 0.1 µs each. */
export const fingerprintsOf = (key: FingerprintKey, requests: ReadonlyArray<AdmitRequest>): Asked => {
  let total = 0
  for (const { eventIds } of requests) total += eventIds.length
  const words = new Uint32Array(total * FINGERPRINT_WORDS)
  const tags = new Uint32Array(requests.length)
  let at = 0
  for (let i = 0; i < requests.length; i++) {
    const { eventIds, organizationId } = requests[i]!
    const narrowed = narrowKey(key, organizationId)
    tags[i] = organizationTag(narrowed)
    for (let id = 0; id < eventIds.length; id++, at += FINGERPRINT_WORDS)
      fingerprintInto(narrowed, eventIds[id]!, words, at)
  }
  return { requests, tags, words, total }
}

/** Calls `isNew` for every id, in order, and writes the block of new ids. `isNew` remembers what it accepts. */
export const answerOf = (
  { requests, tags, total, words }: Asked,
  isNew: (words: Uint32Array, at: number, id: number) => boolean
): Admission => {
  const block = new Uint32Array((total + requests.length) * FINGERPRINT_WORDS)
  let end = 0
  let section = 0
  /** The section at the end of the block belongs to this organization. */
  let sectionTag: number | undefined
  let id = 0
  const seen = requests.map(({ eventIds }, i) => {
    const flags = new Uint8Array(eventIds.length)
    // Consecutive requests of one organization share a section.
    const begun = tags[i] === sectionTag ? section : end
    if (begun === end) end += FINGERPRINT_WORDS
    const before = end
    for (let k = 0; k < flags.length; k++, id++) {
      const at = id * FINGERPRINT_WORDS
      if (!isNew(words, at, id)) {
        flags[k] = 1
        continue
      }
      for (let word = 0; word < FINGERPRINT_WORDS; word++) block[end + word] = words[at + word]!
      end += FINGERPRINT_WORDS
    }
    if (end > before) {
      section = begun
      sectionTag = tags[i]!
      beginSection(block, section, sectionTag, (end - section) / FINGERPRINT_WORDS - 1)
    } else if (tags[i] !== sectionTag) end = begun
    return flags
  })
  return { seen, block: new Uint8Array(block.buffer, 0, end * 4) }
}
