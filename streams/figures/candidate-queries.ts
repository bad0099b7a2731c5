/** Which queries of a collection are kept as suggestions for others. Pure. */
/** A query is shown only if at least this many visitors made it. */
export const VISITORS_MIN = 3
/** Visitors remembered per query, as keyed fingerprints; later ones are not needed. */
export const MAKERS_MAX = 8
export const QUERY_CHARACTERS_MAX = 100
/** Maximum number of queries of one collection; each hourly sweep drops the least used ones beyond it. */
export const QUERIES_PER_COLLECTION_MAX = 100_000

/** Tags, invisible characters, and characters that change the direction of text. */
const MARKUP = /[<>\p{Cc}\u00ad\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/u
const WEB_ADDRESS =
  /:\/\/|\bwww\.|\b(?:javascript|data|mailto|tel|https?|ftp):|[\p{L}\p{N}-]\.\p{L}{2,}\/|[\p{L}\p{N}-]\.(?:com|net|org|info|biz|io|app|dev|shop|store|online|site|xyz|club|top|link|click|live|pro|me|tv|co|cc|ly|gg|to|eu|us|uk|de|at|ch|fr|it|es|nl|be|pl|cz|se|no|fi|dk|ru|ua|by|kz|cn|jp|kr|in|br|mx|ar|au|ca|рф)(?![\p{L}\p{N}-])/iu
const MAIL_ADDRESS = /[^\s@]@[^\s@]/
/** Seven digits or more, with at most one separator between two of them. */
const PHONE = /\d(?:[\s().+/-]?[\s().-]?\d){6,}/

/**
 * Whether a query, in its analytics form, may become a candidate at all: queries that could contain an address or
 * identify a person are excluded.
 */
export const isCandidate = (q: string): boolean =>
  q.length > 0 &&
  q.length <= QUERY_CHARACTERS_MAX &&
  q !== "*" &&
  !MARKUP.test(q) &&
  !((q.includes(".") || q.includes(":")) && WEB_ADDRESS.test(q)) &&
  !MAIL_ADDRESS.test(q) &&
  !PHONE.test(q)
