/** Messages between the main thread and a thread that searches for it. */
import type { ScanPage, ScanRequest } from "../engine.ts"
import type { EngineError } from "../errors.ts"
import type { DerivedSection } from "../index/derived-sections.ts"
import type { EarlyTexts } from "../index/reader.ts"
import type { Region, SegmentMeta } from "../index/sections.ts"
import type { GraphRecord } from "../index/vector-graph.ts"
import type { SearchAnswer, SearchPlan, UnionAnswer, UnionPlan } from "../plan.ts"
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
  /** Sent if it changed since the last message: a copy. */ readonly deleted?: {
    readonly bits: ArrayBuffer
    readonly count: number
  }
  /** All of them, including those that the other thread has already. */ readonly graphs: ReadonlyArray<{
    readonly record: GraphRecord
    readonly region: Region
  }>
  /** Everything derived from it, if that changed. */ readonly sections?: ReadonlyArray<DerivedSection>
}
/** The current state of a collection, if the other thread does not have it. */
export interface SharedCollection {
  readonly key: number
  /** Whatever the thread has of it is obsolete: it was reopened. */ readonly isNew: boolean
  readonly schema?: CollectionSchema
  readonly views: ReadonlyArray<SharedView>
  readonly early: EarlyTexts["texts"]
}
/** What a thread needs before it begins and does not have yet. */
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
  /** A few milliseconds of preparing what searches of the collection would otherwise derive on first use. */
  | { readonly kind: "prepare"; readonly collection: string }
export interface Task {
  readonly id: number
  readonly namespace: string
  /** Collections to be searched; the thread has received all of them. */ readonly names: ReadonlyArray<
    readonly [name: string, key: number]
  >
  readonly work: Work
  /** Time left on the thread for the whole job. */ readonly left_ms: number
  /** Beyond it the work is interrupted and answered `gave_way`. */ readonly quantum_ms?: number
  /** The bound of the answer, and what the request already holds. */ readonly answer?: {
    readonly bytes_max: number
    readonly held: number
  }
}
/** Only the text of a task, if nothing else is to be sent. */
export type ToLane = string | TaskMessage
export interface TaskMessage {
  readonly task: Sealed<Task>
  readonly shared?: Shared
  /** Set to 1 once the caller has disconnected. */ readonly givenUp?: SharedArrayBuffer
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
  /** The quantum is used up: the first searches that were done; the others must be requested again. */
  | { readonly kind: "gave_way"; readonly answers: ReadonlyArray<PortableResult<SearchAnswer>> }
export interface Finished {
  readonly id: number
  readonly done: Done
  readonly used_ms: number
  readonly held: number
  readonly refusal?: EngineError
  /** Keys of collections with something to prepare: others search what is ready in the meantime. */
  readonly wants?: ReadonlyArray<number>
  /** Memory of this thread, excluding the shared index, reported occasionally. */ readonly own_bytes?: number
}
/** The finished answers and the texts of their pages in sequence; a single text if that suffices. */
export type FromLane =
  | string
  | { readonly kind: "ready" }
  | { readonly kind: "done"; readonly finished: Finished; readonly texts: string }
  | { readonly kind: "failed"; readonly id: number; readonly message: string; readonly stack?: string }
