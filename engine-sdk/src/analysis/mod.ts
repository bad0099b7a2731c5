/** Exports of the analysis folder for engines, compilers and rules. */
export { analyzerOf, createAnalyzer } from "./analyzer.ts"
export { TRUNCATE_LENGTH } from "./tokens.ts"
export { sortKeyOfString } from "./sort-key.ts"
export type { Analyzer, AnalyzerOptions, Dictionaries } from "./tokens.ts"
export type { TokenSpan } from "./text-tokens.ts"
export { hasStemmer, stemmerMissing, stemmerOf } from "./stemmer.ts"
export { romanize } from "./transliterate.ts"
