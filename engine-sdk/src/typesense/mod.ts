/** An engine backed by a server of the Typesense API. */
export { TypesenseEngine } from "./typesense-engine.ts"
export { TYPESENSE } from "./capabilities.ts"
export type { TypesenseOptions } from "./options.ts"
