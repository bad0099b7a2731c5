/** Answers from another thread, as the engine returns them. Kept separate, as not every engine starts threads. */
import type { Result } from "../errors.ts"
import type { SearchAnswer } from "../plan.ts"
import type { LaneDone } from "./job.ts"
import { unpacked } from "./portable.ts"

/** Answers of the searches that a thread ran, in order. */
export const answersOf = ({ done, texts }: LaneDone): Array<Result<SearchAnswer>> =>
  done.kind === "search" || done.kind === "gave_way" ? done.answers.map((answer) => unpacked(answer, texts)) : []
