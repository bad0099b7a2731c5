/** What a host around the engine shares with it: bounded memory, giving way to others, texts for errors. No engine. */
export { BoundedMap } from "../bounded-map.ts"
export { boundedText } from "../error-text.ts"
export { givingWay } from "../turns.ts"
