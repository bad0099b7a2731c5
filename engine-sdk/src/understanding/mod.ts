/** Understanding queries: rewrites of one that finds nothing, corrections of typos, values that it names. */
export { correctedQuery } from "./correct.ts"
export { chosenEntities, EntityIndex, type Entity, type EntityCandidate, type FieldValues } from "./entity-index.ts"
export { layoutReadings, typedOn, type LayoutReading } from "./layout-readings.ts"
export { type LayoutName } from "./layouts.ts"
export {
  parseRewriteKinds,
  rewriteKinds,
  RewriteSearch,
  type KnownWords,
  type Rewrite,
  type RewriteKind
} from "./rewrites.ts"
export { spellingsOf, type Spellings, type SpellingTarget } from "./spellings.ts"
export { splitAtDigits } from "./splits.ts"
