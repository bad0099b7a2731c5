/** Utilities that a host shares with the engine: bounded memory, yielding to other work, error texts. No engine. */
export { BoundedMap } from "../bounded-map.ts"
export { boundedText } from "../error-text.ts"
export { givingWay } from "../turns.ts"
