/** Merges readings into constraints: "black or white" is one of two values, "not black or white" neither. Pure. */
import type { Constraint } from "./constraints.ts"
import type { Reading } from "./reader.ts"
import type { Token } from "./tokens.ts"
import { andWords, orWords } from "./words.ts"

type Joint = "none" | "or" | "and" | "apart"
/** What connects two readings. */
const jointOf = (tokens: ReadonlyArray<Token>, from: number, to: number): Joint => {
  let joint: Joint = "none"
  for (let at = from; at < to; at++) {
    const { text } = tokens[at]!
    if (orWords.has(text)) joint = "or"
    else if (andWords.has(text) || text === ",") joint = joint === "or" ? joint : "and"
    else return "apart"
  }
  return joint
}

export const merged = (tokens: ReadonlyArray<Token>, readings: ReadonlyArray<Reading>): ReadonlyArray<Constraint> => {
  const constraints: Array<Constraint> = []
  let before: { readonly end: number; readonly isNot: boolean } | undefined
  for (const { constraint, end, start } of readings) {
    if (constraint === undefined) continue
    const joint = before === undefined ? "apart" : jointOf(tokens, before.end, start)
    const last = constraints.at(-1)
    if (constraint.kind !== "values") {
      constraints.push(constraint)
      before = undefined
      continue
    }
    const isNot = constraint.isNot || (before?.isNot === true && joint !== "apart" && joint !== "none")
    const own = { ...constraint, isNot }
    const isOne =
      last?.kind === "values" &&
      joint !== "apart" &&
      last.field === own.field &&
      last.isNot === isNot &&
      // In a list field both values can occur; a single-valued field has one or the other.
      (isNot || joint === "or" || !own.field.isList)
    if (isOne) constraints[constraints.length - 1] = { ...last, values: [...new Set([...last.values, ...own.values])] }
    else constraints.push(own)
    before = { end, isNot }
  }
  return constraints
}
