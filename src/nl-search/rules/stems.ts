/** Removes the endings of words. Pure; the library of a language is loaded at its first word. */
import { stemmerOf } from "@dowser/engine-sdk/analysis"
import { folded } from "./tokens.ts"

/** A shorter stem is too ambiguous. */
const STEM_MIN = 3

/** A word's stem in a language (ISO 639-1), without accents. */
export const stemOf = (word: string, language: string): string => {
  const stem = folded(stemmerOf(language)(word))
  return stem.length < STEM_MIN ? word : stem
}
