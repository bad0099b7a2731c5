/**
 * Which collections an operation touches, and which a key reaches: how a key with a list of collections is held to it
 * in every operation. Each room declares it (`reaches` in `room.ts`); an operation that takes a key and has no line
 * there is refused when routes are built.
 *
 * Decision: what belongs to no collection but affects searches of all (synonyms, curations, presets, stopwords,
 * dictionaries), or reveals something about all (the audit log, webhooks, replays, erasure), requires a key that
 * reaches every collection; so does naming a set of synonyms or curations in a collection's schema, because searches
 * would show what the set says about others.
 */
import { collectionMatches } from "@dowser/engine-sdk/operations"
import { CollectionNotAllowed } from "../http/errors.ts"
import type { KeyRecord } from "./key-record.ts"

/** The parts of a request; `body` is undefined if it is not JSON. */
interface Asked {
  readonly search: Readonly<Record<string, string>>
  readonly body: unknown
}
/**
 * Every collection that a request names beside its path, determined before anything is looked up; or that it concerns
 * all of them.
 */
export type NamesOf = (asked: Asked) => ReadonlyArray<string> | "organization"
/**
 * - `path`: the collection in the path, and each that a filter, a selection or a sort of the request joins
 *   (`Reach`);
 * - a function: what the request names, the path's collection too where there is one;
 * - `each`: judged one by one where they are met: searches of a multi-search, events of a batch, what a new key may
 *   reach;
 * - `filtered`: lists show, and ids lead to, only what the key reaches; all else does not exist for it;
 * - `organization`: only keys that reach every collection;
 * - `session`: what visitors keep: those of its session with a search key, and with a full key `organization`;
 * - `none`: touches no collection and tells of none.
 */
export type Reach = "path" | "each" | "filtered" | "organization" | "session" | "none" | NamesOf

/** Whether a key may touch a collection of this name; an alias is a name of its own. */
export const reachesCollection = (
  { index, key }: { readonly key: Pick<KeyRecord, "collections">; readonly index?: string | undefined },
  name: string
): boolean => (index === undefined || index === name) && collectionMatches(name, key.collections)

/** Whether no collection of the organization, of today or of tomorrow, is closed to the key. */
export const reachesEverything = ({
  index,
  key
}: {
  readonly key: Pick<KeyRecord, "collections">
  readonly index?: string | undefined
}): boolean => index === undefined && (key.collections.includes("*") || key.collections.includes(".*"))

export const collectionClosed = (): CollectionNotAllowed =>
  new CollectionNotAllowed({ message: "This key does not reach the collection." })
