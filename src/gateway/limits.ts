/** Limits of the search gateway. */

/** A longer search gets a 504. */
export const SEARCH_TIME_MAX_MS = 10_000
export const SEARCHES_MAX = 50
/** Documents or ids per request. */
export const DOCUMENTS_MAX = 1_000
/** Length of a scoped token's filter. */
export const FILTER_CHARACTERS_MAX = 4_000
/** A day: scoped tokens are short-lived. */
export const EXPIRES_IN_MAX_S = 86_400
