/** Messages between a process without an engine and the process that has it. */
import type { Capabilities } from "../capabilities.ts"
import type { CollectionUsage, ScanRequest, SchemaChange, WordsRequest, WordUse } from "../engine.ts"
import type { EngineError, Result } from "../errors.ts"
import type { KeepLimits } from "../keep-limits.ts"
import type { PortableResult } from "../lane/portable.ts"
import type { SearchAnswer, SearchPlan, Selection, UnionAnswer, UnionPlan } from "../plan.ts"
import type { CollectionInfo, CollectionSchema, DirtyValues, WriteAction } from "../schema.ts"

/** Other versions are refused, because all processes of an installation have the same version. */
export const PROTOCOL = 1

/** A document is sent as the bytes of its JSON, so that no member name has a meaning on the way. */
export type PortableWrite =
  | {
      readonly kind: "put"
      readonly action: WriteAction
      readonly dirtyValues: DirtyValues | undefined
      readonly document: string | Uint8Array
      /** The document has been parsed, so the answer need not report whether it can be. */ readonly isParsed: boolean
      readonly id?: string
      readonly rewrite?: boolean
    }
  | { readonly kind: "delete"; readonly id: string }
interface PortableWritten {
  readonly id: string
  readonly changed: boolean
  readonly document?: string
}
export interface PortableVerdict {
  readonly id?: string
  readonly result: Result<PortableWritten>
}
interface PortablePage {
  readonly documents: ReadonlyArray<string>
  readonly ids: ReadonlyArray<string>
  readonly next: number | undefined
}
interface Timed {
  readonly left_ms: number
  /** The size limit of the answer, and what the request already holds. */ readonly answer?: {
    readonly bytes_max: number
    readonly held: number
  }
}

export type Call =
  | {
      readonly method: "create"
      readonly schema: CollectionSchema
      readonly created_at_s: number
      readonly keeps?: KeepLimits
    }
  | { readonly method: "alter"; readonly name: string; readonly change: SchemaChange; readonly keeps?: KeepLimits }
  | { readonly method: "drop"; readonly name: string }
  | {
      readonly method: "write"
      readonly collection: string
      readonly operations: ReadonlyArray<PortableWrite>
      readonly returnDocuments?: boolean
      readonly keeps?: KeepLimits
    }
  | ({ readonly method: "search"; readonly plans: ReadonlyArray<SearchPlan> } & Timed)
  | ({ readonly method: "union"; readonly plan: UnionPlan } & Timed)
  | { readonly method: "scan"; readonly request: ScanRequest }
  | {
      readonly method: "get"
      readonly collection: string
      readonly ids: ReadonlyArray<string>
      readonly selection?: Selection
    }
  | { readonly method: "words"; readonly request: WordsRequest }
  | { readonly method: "usage"; readonly name: string }

/** By method. */
export interface Replies {
  readonly create: Result<CollectionInfo>
  readonly alter: Result<CollectionInfo>
  readonly drop: Result<CollectionInfo>
  readonly write: Result<ReadonlyArray<PortableVerdict>>
  readonly search: Result<Searched<ReadonlyArray<PortableResult<SearchAnswer>>>>
  readonly union: Result<Searched<PortableResult<UnionAnswer>>>
  readonly scan: Result<PortablePage>
  readonly get: Result<ReadonlyArray<string | undefined>>
  readonly words: Result<ReadonlyArray<WordUse>>
  readonly usage: Result<CollectionUsage | undefined>
}
export interface Searched<Answer> {
  readonly answer: Answer
  readonly used_ms: number
  readonly isSlow: boolean
  readonly held: number
  readonly refusal?: EngineError
}

export interface RemoteCollection {
  readonly namespace: string
  readonly info: CollectionInfo
  readonly usage: CollectionUsage | undefined
}
/** The state of a collection; `known` is absent if it no longer exists. */
export interface Change {
  readonly namespace: string
  readonly name: string
  readonly known?: RemoteCollection
  /** Documents, or the collection, were removed. */ readonly isRemoval: boolean
}

export type ToOwner =
  | { readonly kind: "hello"; readonly protocol: number; readonly token: string }
  | { readonly kind: "call"; readonly id: number; readonly namespace: string; readonly call: Call }
  /** The caller has disconnected. */
  | { readonly kind: "give_up"; readonly id: number }
  /** All changes up to this one are known. */
  | { readonly kind: "seen"; readonly version: number }
  | { readonly kind: "ping"; readonly id: number }
export type FromOwner =
  | {
      readonly kind: "welcome"
      readonly capabilities: Capabilities
      readonly lease_ms: number
    }
  /** A part of the catalogue; after the last one, changes follow. */
  | { readonly kind: "catalogue"; readonly known: ReadonlyArray<RemoteCollection>; readonly isLast: boolean }
  | { readonly kind: "changed"; readonly version: number; readonly change: Change }
  | { readonly kind: "reply"; readonly id: number; readonly reply: Replies[keyof Replies] }
  | { readonly kind: "pong"; readonly id: number }
  | { readonly kind: "refused"; readonly message: string }
