/** An engine over a cluster of OpenSearch. */
export { OpensearchEngine } from "./opensearch-engine.ts"
export { OPENSEARCH } from "./capabilities.ts"
export type { OpensearchOptions } from "./options.ts"
