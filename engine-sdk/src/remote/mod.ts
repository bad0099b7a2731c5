/** One engine for several processes: the process that has it shares it, and others connect. */
export { connectEngine } from "./remote-engine.ts"
export { shareEngine, type SharedEngine } from "./share-engine.ts"
