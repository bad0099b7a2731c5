/** The recording of a run, from which it is replayed: clock readings and answers of stages (`stored-run.ts`). */
import type { StageResult } from "./stage-result.ts"

/** The part of a tape that the stages of one search use. */
export interface StageTape {
  /** The stage's result in the replayed run; undefined while recording, and for stages that were synchronous. */
  replayed(stage: number): StageResult | undefined
  record(stage: number, result: StageResult): StageResult
  /** The number of clock readings so far; `forget` discards later ones. */ mark(): number
  forget(mark: number): void
  /** The clock, without recording its reading. */ untaped(): number
}
/** Clock and stages of one search. */
export interface SearchTape extends StageTape {
  now_us(): number
}
/** Where a run is recorded to or replayed from. */
export interface Tape {
  search(number: number): SearchTape
}
