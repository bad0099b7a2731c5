/** Length limit of a guide query, separate because the contract does not depend on the site. */
export const QUERY_CHARACTERS_MAX = 100
