/** What the searching thread and a thread that searches for it tell each other. */
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
  /** Where the other thread does not have the segment yet. */ readonly segment?: {
    readonly meta: SegmentMeta
    readonly buffer: SharedArrayBuffer
    readonly offset: number
    readonly length: number
    readonly outside?: string
  }
  /** Where it changed since the other thread was told: a copy. */ readonly deleted?: {
    readonly bits: ArrayBuffer
    readonly count: number
  }
  /** All of them; those that the other thread has already, too. */ readonly graphs: ReadonlyArray<{
    readonly record: GraphRecord
    readonly region: Region
  }>
  /** All that is derived from it, where that changed. */ readonly sections?: ReadonlyArray<DerivedSection>
}
/** A collection as it is at this moment, where the other thread does not know it so. */
export interface SharedCollection {
  readonly key: number
  /** Nothing of what the thread may have of it is of use: it was opened again. */ readonly isNew: boolean
  readonly schema?: CollectionSchema
  readonly views: ReadonlyArray<SharedView>
  readonly early: EarlyTexts["texts"]
}
/** What a thread is told before it begins, as far as it does not know it. */
export interface Shared {
  readonly collections: ReadonlyArray<SharedCollection>
  /** Keys of collections whose room is wanted. */ readonly forgotten: ReadonlyArray<number>
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
  /** A few milliseconds of making ready what searches of the collection would derive first. */
  | { readonly kind: "prepare"; readonly collection: string }
export interface Task {
  readonly id: number
  readonly namespace: string
  /** Collections that are searched, all of which the thread knows by then. */ readonly names: ReadonlyArray<
    readonly [name: string, key: number]
  >
  readonly work: Work
  /** Of the thread's time, for all of it. */ readonly left_ms: number
  /** Beyond it the work is broken off and answered `gave_way`. */ readonly quantum_ms?: number
  /** What the answer may weigh, and what the request holds already. */ readonly answer?: {
    readonly bytes_max: number
    readonly held: number
  }
}
/** Only the text of a task where there is nothing else to tell. */
export type ToLane = string | TaskMessage
export interface TaskMessage {
  readonly task: Sealed<Task>
  readonly shared?: Shared
  /** 1 once nobody waits for it any more. */ readonly givenUp?: SharedArrayBuffer
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
  /** The quantum is used: the first searches that were done, the others are to be asked again. */
  | { readonly kind: "gave_way"; readonly answers: ReadonlyArray<PortableResult<SearchAnswer>> }
export interface Finished {
  readonly id: number
  readonly done: Done
  readonly used_ms: number
  readonly held: number
  readonly refusal?: EngineError
  /** Keys of collections of which something is to be made ready: others search meanwhile what is. */
  readonly wants?: ReadonlyArray<number>
  /** What this thread has for itself beside the shared index; told now and then. */ readonly own_bytes?: number
}
/** What was finished and the texts of its pages one behind the other; joined in one text where that says all. */
export type FromLane =
  | string
  | { readonly kind: "ready" }
  | { readonly kind: "done"; readonly finished: Finished; readonly texts: string }
  | { readonly kind: "failed"; readonly id: number; readonly message: string; readonly stack?: string }
