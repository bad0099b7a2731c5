/** Answers as JSON text. `text_match` exceeds 2^53 and is a bigint here: it is written as plain digits. */
import { stringifyJson } from "../documents/mod.ts"
import type { SearchAnswer, UnionAnswer } from "../plan.ts"

/** Hits are written one by one, so the common answer (plain documents) takes the native writer for everything but the score. */
export const answerToJson = (answer: SearchAnswer | UnionAnswer): string => stringifyJson(answer)
