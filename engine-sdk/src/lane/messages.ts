/** Messages between the main thread and a thread that searches for it. */
import type { ScanPage, ScanRequest } from "../engine.ts"
import type { EngineError } from "../errors.ts"
import type { DerivedSection } from "../index/derived-sections.ts"
import type { EarlyTexts } from "../index/reader.ts"
import type { Region, SegmentMeta } from "../index/sections.ts"
import type { GraphRecord } from "../index/vector-graph.ts"
import type { SearchAnswer, SearchPlan, TextQuery, UnionAnswer, UnionPlan } from "../plan.ts"
import type { CollectionSchema } from "../schema.ts"
import type { PortableResult } from "./portable.ts"
import type { Sealed } from "./sealed.ts"

export interface SharedView {
  readonly id: number
  /** Sent if the other thread does not have the segment yet. */ readonly segment?: {
    readonly meta: SegmentMeta
    readonly buffer: SharedArrayBuffer
    readonly offset: number
    readonly length: number
    readonly outside?: string
  }
  /** A copy, sent if it changed since the last message. */ readonly deleted?: {
    readonly bits: ArrayBuffer
    readonly count: number
  }
  /** All graphs, including those that the other thread already has. */ readonly graphs: ReadonlyArray<{
    readonly record: GraphRecord
    readonly region: Region
  }>
  /** All sections derived from it, sent if they changed. */ readonly sections?: ReadonlyArray<DerivedSection>
}
/** The current state of a collection, sent if the other thread does not have it. */
export interface SharedCollection {
  readonly key: number
  /** The collection was reopened, so whatever the thread has of it is obsolete. */ readonly isNew: boolean
  readonly schema?: CollectionSchema
  readonly views: ReadonlyArray<SharedView>
  readonly early: EarlyTexts["texts"]
}
/** What a thread needs before it begins, and does not have yet. */
export interface Shared {
  readonly collections: ReadonlyArray<SharedCollection>
  /** Keys of collections whose memory is to be freed. */ readonly forgotten: ReadonlyArray<number>
  readonly dictionaries: ReadonlyArray<{
    readonly namespace: string
    readonly name: string
    readonly words: ReadonlyMap<string, string> | undefined
  }>
}
export type Work =
  | { readonly kind: "search"; readonly plans: ReadonlyArray<SearchPlan> }
  | { readonly kind: "union"; readonly plan: UnionPlan }
  | { readonly kind: "scan"; readonly request: ScanRequest }
  /** Prepares for a few milliseconds what searches of the collection would otherwise derive on first use. */
  | { readonly kind: "prepare"; readonly collection: string }
/** A plan from which later ones differ in a few members. */
export interface BasePlan {
  readonly number: number
  readonly plan: SearchPlan
}
export interface OutlinedPlan {
  /** Number of its base. */ readonly base: number
  /** Members that differ, except those of `text`. */ readonly changed: Partial<SearchPlan>
  readonly text?: Partial<TextQuery>
  /** Members that the base has and the plan does not. */ readonly absent?: ReadonlyArray<keyof SearchPlan>
}
export type SentPlan = SearchPlan | OutlinedPlan
/** Work as it is sent: its plans may be described by what differs from one that the thread has. */
export type SentWork =
  | { readonly kind: "search"; readonly plans: ReadonlyArray<SentPlan> }
  | { readonly kind: "union"; readonly plan: Omit<UnionPlan, "plans"> & { readonly plans: ReadonlyArray<SentPlan> } }
  | Extract<Work, { readonly kind: "scan" | "prepare" }>
export interface Task {
  readonly id: number
  readonly namespace: string
  /** Collections to be searched, all of which the thread has received. */ readonly names: ReadonlyArray<
    readonly [name: string, key: number]
  >
  readonly work: SentWork
  /** Plans that the thread does not have yet. When `basesFrom` changes, it drops all that it had before. */
  readonly bases?: ReadonlyArray<BasePlan>
  readonly basesFrom: number
  /** Time left on the thread for the entire job. */ readonly left_ms: number
  /** Time after which the work is interrupted and answered with `gave_way`. */ readonly quantum_ms?: number
  /** The bound of the answer, and what the request already holds. */ readonly answer?: {
    readonly bytes_max: number
    readonly held: number
  }
}
/** Just the text of a task, if nothing else has to be sent. */
export type ToLane = string | TaskMessage
export interface TaskMessage {
  readonly task: Sealed<Task>
  readonly shared?: Shared
  /** Set to 1 when the caller has disconnected. */ readonly givenUp?: SharedArrayBuffer
}
export type Done =
  | { readonly kind: "search"; readonly answers: ReadonlyArray<PortableResult<SearchAnswer>> }
  | { readonly kind: "union"; readonly answer: PortableResult<UnionAnswer> }
  | {
      readonly kind: "scan"
      readonly answer:
        | { readonly ok: true; readonly value: ScanPage }
        | { readonly ok: false; readonly error: EngineError }
    }
  | { readonly kind: "prepared"; readonly isDone: boolean }
  /** The quantum was used up: contains the first searches, which were done; the others must be requested again. */
  | { readonly kind: "gave_way"; readonly answers: ReadonlyArray<PortableResult<SearchAnswer>> }
export interface Finished {
  readonly id: number
  readonly done: Done
  readonly used_ms: number
  readonly held: number
  readonly refusal?: EngineError
  /** Keys of collections with something to prepare; meanwhile other threads search what is ready. */
  readonly wants?: ReadonlyArray<number>
  /** Memory of this thread, excluding the shared index, reported occasionally. */ readonly own_bytes?: number
}
/** The finished answers, and the texts of their pages in sequence; a single string if that suffices. */
export type FromLane =
  | string
  | { readonly kind: "ready" }
  | { readonly kind: "done"; readonly finished: Finished; readonly texts: string }
  | { readonly kind: "failed"; readonly id: number; readonly message: string; readonly stack?: string }
