/** One engine for several processes: the one that has it shares it, others connect. */
export { connectEngine } from "./remote-engine.ts"
export { shareEngine, type SharedEngine } from "./share-engine.ts"
