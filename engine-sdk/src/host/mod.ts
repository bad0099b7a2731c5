/** Utilities that a host shares with the engine: bounded memory, hash slots, yielding to other work, error texts. */
export { BoundedMap } from "../bounded-map.ts"
export { boundedText } from "../error-text.ts"
export { freeSlot, slotOf } from "../slots.ts"
export { givingWay } from "../turns.ts"
