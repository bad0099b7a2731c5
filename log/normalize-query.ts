/**
 * Queries are compared trimmed, case-folded and with single spaces. The normal form is also what rows display and the
 * key of tables, so it is bounded: Postgres refuses index entries beyond about 2,700 bytes.
 */

/** Maximum size of a query in analytics; longer ones are cut between characters and counted together. */
const ANALYTICS_QUERY_BYTES_MAX = 1_024

/** Longest prefix of at most `bytes_max` UTF-8 bytes that ends between code points. */
export const cutBytes = (text: string, bytes_max: number): string => {
  if (text.length * 3 <= bytes_max) return text
  const bytes = Buffer.from(text, "utf8")
  if (bytes.length <= bytes_max) return text
  let end = bytes_max
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end--
  return bytes.toString("utf8", 0, end)
}

/** Text that Postgres can store: no NUL, no lone surrogates. */
export const storable = (text: string): string =>
  (text.includes("\u0000") ? text.replaceAll("\u0000", " ") : text).toWellFormed()

export const normalizeQuery = (q: string): string =>
  cutBytes(storable(q).toLowerCase().replace(/\s+/gu, " ").trim(), ANALYTICS_QUERY_BYTES_MAX)
