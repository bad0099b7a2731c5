/** All limits of a crawl; the documents and the tests refer to these constants. */

/** Pages of a job: the default and the maximum. */
export const PAGES_BY_DEFAULT = 1_000,
  PAGES_MAX = 10_000
/** Number of links from a start address. */
export const DEPTH_BY_DEFAULT = 3,
  DEPTH_MAX = 5
export const START_URLS_MAX = 100
/** Globs per job in each direction (include, exclude), and characters per glob. */
export const GLOBS_MAX = 20,
  GLOB_LENGTH_MAX = 200
export const URL_LENGTH_MAX = 2_048

/** Bytes of a page, as sent and also decompressed. */
export const PAGE_BYTES_MAX = 5_000_000
/** Time until the status line, until the last byte, and without any byte. */
export const PAGE_ANSWER_MS = 10_000,
  PAGE_TOTAL_MS = 30_000,
  PAGE_SILENCE_MS = 10_000

/** Addresses that a job stores in total, found and done, for each page that it may read. */
export const KEPT_PER_PAGE = 2
export const LINKS_PER_PAGE_MAX = 500

export const ROBOTS_BYTES_MAX = 500 * 1_024
/** Total length of rules with a wildcard, and that times an address's length, which bounds the cost of a check. */
export const ROBOTS_WILD_LENGTH_MAX = 20_000,
  ROBOTS_LOOK_MAX = 3_000_000

export const SITEMAP_BYTES_MAX = 50_000_000
export const SITEMAP_URLS_MAX = 50_000
/** Sitemaps that an index may name, and the nesting depth of indexes. */
export const SITEMAPS_MAX = 500,
  SITEMAP_DEPTH_MAX = 2
