/** The parts of a text score as the wire shows them (`docs/contract/matching.md#score-parts`). */
import type { TextMatchInfo, TextQuery } from "../../plan.ts"

const TWO_8 = 0x100,
  TWO_11 = 0x800,
  TWO_19 = 0x80000,
  TWO_21 = 0x200000,
  TWO_24 = 0x1000000,
  TWO_27 = 0x8000000,
  TWO_29 = 0x20000000
/** The parts of a score, from its upper and lower half; only a sum needs more precision than a double has. */
export const textMatchInfo = (score: bigint, high: number, low: number, text: TextQuery | undefined): TextMatchInfo => {
  const tokens = Math.floor(high / TWO_27)
  const type = text?.textMatchType ?? "max_score"
  const best =
    type === "max_weight"
      ? (high % TWO_19) * TWO_29 + Math.floor(low / 8)
      : (high % TWO_27) * TWO_21 + Math.floor(low / TWO_11)
  const isNone = type === "sum_score" ? high % TWO_27 === 0 && low < 8 : best === 0
  const typos = type === "sum_score" ? Number((score >> 27n) & 0xffn) : Math.floor(best / TWO_24) % TWO_8
  return {
    best_field_score: type === "sum_score" ? ((score & ((1n << 59n) - 1n)) >> 3n).toString() : String(best),
    best_field_weight:
      type === "sum_score" ? 0 : type === "max_weight" ? Math.floor(high / TWO_19) % TWO_8 : (low >>> 3) % TWO_8,
    fields_matched: low & 7,
    num_tokens_dropped: Math.max(0, (text?.tokens.length ?? 0) - tokens),
    score: score.toString(),
    tokens_matched: tokens,
    typo_prefix_score: isNone ? 0 : 255 - typos
  }
}
