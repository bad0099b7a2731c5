/** What a crawl may cost, in one place: the documents and the tests name these numbers. */

/** Pages of a job where it does not say, and at most. */
export const PAGES_BY_DEFAULT = 1_000,
  PAGES_MAX = 10_000
/** Links from a start address. */
export const DEPTH_BY_DEFAULT = 3,
  DEPTH_MAX = 5
export const START_URLS_MAX = 100
/** Globs of a job, each way, and characters of one. */
export const GLOBS_MAX = 20,
  GLOB_LENGTH_MAX = 200
export const URL_LENGTH_MAX = 2_048

/** Of a page, as it is sent and unpacked. */
export const PAGE_BYTES_MAX = 5_000_000
/** To the status line, to the last byte, and without a byte. */
export const PAGE_ANSWER_MS = 10_000,
  PAGE_TOTAL_MS = 30_000,
  PAGE_SILENCE_MS = 10_000

/** Addresses that a job keeps in all, found and done, for each page that it may read. */
export const KEPT_PER_PAGE = 2
export const LINKS_PER_PAGE_MAX = 500

export const ROBOTS_BYTES_MAX = 500 * 1_024
/** Of all rules with a wildcard, and that times the length of an address, which is what a look may cost. */
export const ROBOTS_WILD_LENGTH_MAX = 20_000,
  ROBOTS_LOOK_MAX = 3_000_000

export const SITEMAP_BYTES_MAX = 50_000_000
export const SITEMAP_URLS_MAX = 50_000
/** Sitemaps that an index may name, and indexes in one another. */
export const SITEMAPS_MAX = 500,
  SITEMAP_DEPTH_MAX = 2
