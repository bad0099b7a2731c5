/** Messages between the front and the thread that keeps the models. Buffers of records are transferred. */
import type { NextItemsParameters } from "@dowser/engine-sdk/recommend"
import type { Tombstone } from "@dowser/streams/erasure/erasures"

/** Kinds of lists that the live state provides; the rest of a chain comes from the engine. */
export type Link = "personalized" | "also_viewed" | "frequently_bought_together" | "trending" | "popular"
export interface ListParameters {
  readonly popularity_bias: number
  readonly min_support: number
  readonly window_hours: number
  readonly baseline_days: number
  readonly half_life_days: number
  /** Index of the kind of events, undefined for all. */ readonly kind: number | undefined
  /** Parameters for a visit and for a person; absent if a training found none better than the defaults. */
  readonly next?: NextItemsParameters
  readonly taste?: NextItemsParameters
}
export interface Ask {
  readonly organizationId: string
  /** Names by which events refer to the collection: its own name first, then aliases. */
  readonly collections: ReadonlyArray<string>
  /** Unix milliseconds: earlier events belong to another collection of this name. */ readonly since: number
  /** In this order, until there are enough. */ readonly chain: ReadonlyArray<Link>
  /** Newest last. */ readonly seeds: ReadonlyArray<string>
  readonly visitor: string
  readonly person: string
  readonly now: number
  /** Candidates requested from each link. */ readonly most: number
  readonly parameters: ListParameters
}
export interface Candidate {
  readonly id: string
  readonly kind: Link
  readonly score: number
  readonly source?: string
  readonly support?: number
  readonly lift?: number
}
/** A record in a transferred buffer. */
export interface RecordPart {
  readonly offset: number
  /** Unix milliseconds. */ readonly appendedAt: number
  /** Length of the record in the buffer, in bytes. */ readonly length: number
}
export interface Position {
  readonly partition: number
  /** First offset that was not taken. */ readonly next: number
  /** Time of the record before it, by which another log is recognized. */ readonly appendedAt: number
}
export interface LiveFigures {
  readonly collections: number
  readonly events: number
  readonly bytes: number
  /** Collections evicted because others were used more recently. */ readonly dropped: number
  /** Records that could not be read. */ readonly unreadable: number
}

export interface ThreadSettings {
  readonly folder: string | undefined
  readonly bytesMax: number
  /** Words of the key for fingerprints. */ readonly key: unknown
}
export type ToThread =
  | {
      readonly kind: "records"
      readonly partition: number
      readonly next: number
      readonly buffer: ArrayBuffer
      readonly parts: ReadonlyArray<RecordPart>
      /** Only this organization's events, for a rebuild. */ readonly only: string | undefined
    }
  | { readonly kind: "ask"; readonly number: number; readonly ask: Ask }
  | { readonly kind: "tombstones"; readonly tombstones: ReadonlyArray<Tombstone> }
  /** Forget everything of an organization, before its records are sent again. */
  | { readonly kind: "forget"; readonly organizationId: string }
  /** Number of its events taken again, once everything sent before has been taken. */
  | { readonly kind: "count"; readonly organizationId: string }
  /** Discards the state: its snapshot is of another log. */
  | { readonly kind: "clear" }
  | { readonly kind: "snapshot" }
  | { readonly kind: "stop" }
export type FromThread =
  | { readonly kind: "opened"; readonly positions: ReadonlyArray<Position> }
  | { readonly kind: "took"; readonly bytes: number; readonly figures: LiveFigures }
  | {
      readonly kind: "answer"
      readonly number: number
      readonly candidates: ReadonlyArray<Candidate>
      /** The state knew an earlier collection of this name. */ readonly isStale: boolean
    }
  | { readonly kind: "stored" }
  | { readonly kind: "counted"; readonly events: number }
  | { readonly kind: "failed"; readonly message: string }
