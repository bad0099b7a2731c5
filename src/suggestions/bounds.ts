/** What is kept of the queries of a collection, and which of them may be shown. Pure. */

/** No query is shown that fewer visitors made. */
export const VISITORS_MIN = 3
/** Visitors of a query that are remembered, as keyed fingerprints; later ones are not needed any more. */
export const MAKERS_MAX = 8
export const QUERY_CHARACTERS_MAX = 100
/** Queries of one collection; at each hourly sweep the least used beyond it go. */
export const QUERIES_PER_COLLECTION_MAX = 100_000

/** Whether a query, in its analytics form, is kept as a candidate at all. */
export const isCandidate = (q: string): boolean => q.length > 0 && q.length <= QUERY_CHARACTERS_MAX && q !== "*"
