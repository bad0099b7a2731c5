/** An engine backed by an OpenSearch cluster. */
export { OpensearchEngine } from "./opensearch-engine.ts"
export { OPENSEARCH } from "./capabilities.ts"
export type { OpensearchOptions } from "./options.ts"
