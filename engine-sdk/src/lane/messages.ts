/** What the searching thread and a thread of its lane tell each other. */
import type { ScanPage, ScanRequest } from "../engine.ts"
import type { EngineError } from "../errors.ts"
import type { EarlyTexts } from "../index/reader.ts"
import type { SegmentMeta } from "../index/sections.ts"
import type { GraphRecord } from "../index/vector-graph.ts"
import type { SearchAnswer, SearchPlan, UnionAnswer, UnionPlan } from "../plan.ts"
import type { CollectionSchema } from "../schema.ts"
import type { PortableResult } from "./portable.ts"

export interface SharedView {
  readonly id: number
  /** Where the other thread does not have the segment yet. */ readonly segment?: {
    readonly meta: SegmentMeta
    readonly buffer: SharedArrayBuffer
    readonly offset: number
    readonly length: number
  }
  /** Where it changed since the other thread was told: a copy. */ readonly deleted?: {
    readonly bits: Uint32Array
    readonly count: number
  }
  readonly graphs: ReadonlyArray<{ readonly record: GraphRecord; readonly file: string }>
}
/** A collection as it is at this moment, as far as the other thread does not know it. */
export interface SharedCollection {
  readonly key: number
  readonly name: string
  readonly schema?: CollectionSchema
  readonly views: ReadonlyArray<SharedView>
  readonly early: EarlyTexts["texts"]
}
export type Work =
  | { readonly kind: "search"; readonly plans: ReadonlyArray<SearchPlan> }
  | { readonly kind: "union"; readonly plan: UnionPlan }
  | { readonly kind: "scan"; readonly request: ScanRequest }
export interface ToLane {
  readonly kind: "work"
  readonly id: number
  readonly namespace: string
  readonly collections: ReadonlyArray<SharedCollection>
  /** Keys of collections whose room is wanted. */ readonly forgotten: ReadonlyArray<number>
  readonly dictionaries: ReadonlyArray<{
    readonly name: string
    readonly words: ReadonlyMap<string, string> | undefined
  }>
  readonly work: Work
  /** Of the thread's time, for all of it. */ readonly left_ms: number
  /** What the answer may weigh, and what the request holds already. */ readonly answer?: {
    readonly bytes_max: number
    readonly held: number
  }
  /** 1 once nobody waits for it any more. */ readonly givenUp: SharedArrayBuffer
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
export type FromLane =
  | { readonly kind: "ready" }
  | {
      readonly kind: "done"
      readonly id: number
      readonly done: Done
      readonly used_ms: number
      readonly held: number
      readonly refusal?: EngineError
    }
  | { readonly kind: "failed"; readonly id?: number; readonly message: string; readonly stack?: string }
