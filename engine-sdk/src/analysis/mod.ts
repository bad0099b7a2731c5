/** Names of the analysis folder that engines, compilers and rules use. */
export { analyzerOf, createAnalyzer, sortKeyOfString, TRUNCATE_LENGTH } from "./analyzer.ts"
export type { Analyzer, AnalyzerOptions, Dictionaries, TokenSpan } from "./analyzer.ts"
export { hasStemmer, stemmerMissing, stemmerOf } from "./stemmer.ts"
export { romanize } from "./transliterate.ts"
