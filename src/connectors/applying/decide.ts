/**
 * Decides what a batch of changes does, given what is known of each document: which changes are written, and what is
 * known afterwards. Changes arrive in log order. A change decided before (by its known position) is skipped, so that
 * reading the log again after a crash changes nothing; one older than the known version is ignored. Pure.
 */
import type { PushedChange } from "../push.ts"

/** The position of a change; positions within one partition are ordered. */
interface Place {
  readonly partition: number
  readonly offset: number
  readonly index: number
}
export interface DocumentVersion {
  /** The newest version seen; undefined if none was given. */ readonly version: number | undefined
  readonly deleted: boolean
  readonly place: Place
}
export interface Arrived {
  readonly connectorId: string
  readonly change: PushedChange
  readonly place: Place
}
type Fate = "write" | "skipped" | "ignored"
export interface Decided {
  /** For each change, in order. */ readonly fates: ReadonlyArray<Fate>
  /** For each document that the batch changed, by `documentKey`. */
  readonly known: ReadonlyMap<string, DocumentVersion>
}

export const documentKey = (connectorId: string, externalId: string): string => `${connectorId}\u0000${externalId}`
/** Positions of another partition, to which a document moves if their number changes, are not comparable. */
const isPassed = (known: Place, { index, offset, partition }: Place): boolean =>
  known.partition === partition && (offset < known.offset || (offset === known.offset && index <= known.index))
/**
 * Without a version, the order of arrival decides. A deleted document returns only with a newer version than its
 * deletion.
 */
const isOlder = ({ deleted, version }: DocumentVersion, { op, version: given }: PushedChange): boolean =>
  given !== undefined && version !== undefined && (given < version || (deleted && op === "upsert" && given === version))

export const decide = (changes: ReadonlyArray<Arrived>, before: ReadonlyMap<string, DocumentVersion>): Decided => {
  const known = new Map<string, DocumentVersion>()
  const fates = changes.map(({ change, connectorId, place }): Fate => {
    const key = documentKey(connectorId, change.external_id)
    const now = known.get(key) ?? before.get(key)
    if (now !== undefined && isPassed(now.place, place)) return "skipped"
    if (now !== undefined && isOlder(now, change)) {
      known.set(key, { ...now, place })
      return "ignored"
    }
    known.set(key, { version: change.version ?? now?.version, deleted: change.op === "delete", place })
    return "write"
  })
  return { fates, known }
}

/**
 * The same if nothing of the batch could be written: positions advance, but known versions do not, so that the same
 * versions may be pushed again.
 */
export const decideFailed = (
  changes: ReadonlyArray<Arrived>,
  { fates, known: decided }: Decided,
  before: ReadonlyMap<string, DocumentVersion>
): Decided => {
  const known = new Map<string, DocumentVersion>()
  for (const { change, connectorId } of changes) {
    const key = documentKey(connectorId, change.external_id)
    const now = decided.get(key)
    if (now !== undefined) known.set(key, { version: undefined, deleted: false, ...before.get(key), place: now.place })
  }
  return { fates, known }
}
