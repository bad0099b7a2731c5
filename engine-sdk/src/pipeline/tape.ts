/** What a run is recorded on, and replayed from: readings of the clock and answers of stages (`stored-run.ts`). */
import type { StageResult } from "./stage-result.ts"

/** The part of a tape that the stages of one search see. */
export interface StageTape {
  /**
   * What this stage answered in the run that is replayed; undefined while recording, and for stages that did not wait.
   */
  replayed(stage: number): StageResult | undefined
  record(stage: number, result: StageResult): StageResult
  /** Where the clock stands; `forget` takes back what was read since. */ mark(): number
  forget(mark: number): void
  /** The clock without the tape. */ untaped(): number
}
/** Clock and stages of one search. */
export interface SearchTape extends StageTape {
  now_us(): number
}
/** What a run is recorded on or replayed from. */
export interface Tape {
  search(number: number): SearchTape
}
