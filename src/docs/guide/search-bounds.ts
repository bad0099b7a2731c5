/** How long a query of the guide may be: of its contract, which knows nothing of the site. */
export const QUERY_CHARACTERS_MAX = 100
