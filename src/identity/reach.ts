/**
 * Which collections an operation affects, and which a key may access: this is how a key with a list of collections is
 * restricted in every operation. Each room declares it (`reaches` in `room.ts`); an operation that takes a key and
 * has no declaration is refused when routes are built.
 *
 * Decision: what belongs to no collection but affects searches of all (synonyms, curations, presets, stopwords,
 * dictionaries), or reveals something about all (the audit log, webhooks, replays, erasure), requires a key for all
 * collections; so does naming a set of synonyms or curations in a collection's schema, because searches would show
 * what the set says about others.
 */
import { collectionMatches } from "@dowser/engine-sdk/operations"
import { CollectionNotAllowed } from "../http/errors.ts"
import type { KeyRecord } from "./key-record.ts"

/** The parts of a request that may name collections; `body` is undefined if it is not JSON. */
interface Asked {
  readonly search: Readonly<Record<string, string>>
  readonly body: unknown
}
/**
 * Every collection that a request names besides its path, determined before anything is looked up; or `organization`
 * if the request concerns all of them.
 */
export type NamesOf = (asked: Asked) => ReadonlyArray<string> | "organization"
/**
 * - `path`: the collection in the path, and each that a filter, a selection or a sort of the request joins
 *   (`Reach`);
 * - a function: what the request names, including the path's collection if there is one;
 * - `each`: judged one by one where they occur: searches of a multi-search, events of a batch, what a new key may
 *   access;
 * - `filtered`: lists and ids show only what the key may access; everything else does not exist for it;
 * - `organization`: only keys for all collections;
 * - `session`: what visitors keep: only that of its session with a search key, and with a full key `organization`;
 * - `none`: affects no collection and reveals nothing about any.
 */
export type Reach = "path" | "each" | "filtered" | "organization" | "session" | "none" | NamesOf

/** Whether a key may access a collection with this name; an alias is a separate name. */
export const reachesCollection = (
  { index, key }: { readonly key: Pick<KeyRecord, "collections">; readonly index?: string | undefined },
  name: string
): boolean => (index === undefined || index === name) && collectionMatches(name, key.collections)

/** Whether the key may access all current and future collections of the organization. */
export const reachesEverything = ({
  index,
  key
}: {
  readonly key: Pick<KeyRecord, "collections">
  readonly index?: string | undefined
}): boolean => index === undefined && (key.collections.includes("*") || key.collections.includes(".*"))

export const collectionClosed = (): CollectionNotAllowed =>
  new CollectionNotAllowed({ message: "This key does not reach the collection." })
