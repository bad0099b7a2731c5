/**
 * What a site's robots.txt says to us (RFC 9309): a missing one allows everything, an unreachable one forbids
 * everything, because an overloaded site is the last that should be read freely. `robots-parser` reads the rules. Pure.
 */
import robotsParser from "robots-parser"
import { ROBOTS_BYTES_MAX, ROBOTS_LOOK_MAX, ROBOTS_WILD_LENGTH_MAX } from "./limits.ts"

/** Our product token; sites name it in `User-agent`. */
export const PRODUCT_TOKEN = "DowserBot"
const CRAWL_DELAY_MAX_S = 30

/** The module is the function itself; its types say that it is inside. */
const parse = robotsParser as unknown as typeof robotsParser.default

export interface Robots {
  readonly isAllowed: (url: string) => boolean
  /** Why nothing is allowed, where that is so of the host as a whole. */ readonly refusal?: string | undefined
  readonly delay_ms?: number | undefined
  readonly sitemaps: ReadonlyArray<string>
  /** What it holds in memory, about. */ readonly bytes: number
}
const closed = (refusal: string): Robots => ({ isAllowed: () => false, refusal, sitemaps: [], bytes: 500 })
const OPEN: Robots = { isAllowed: () => true, sitemaps: [], bytes: 500 }

/** What came of asking for it: a status with as much of the text as is read, or why there is none. */
export type RobotsAnswer = { readonly status: number; readonly text: string } | { readonly failure: string }

/** Characters of rules that hold a wildcard. */
const wildLengthOf = (text: string): number => {
  let sum = 0
  for (const [line] of text.matchAll(/^[ \t]*(?:dis)?allow[ \t]*:[^\n\r]*/gim))
    if (line.includes("*")) sum += line.length
  return sum
}

/** `url`: of the robots.txt. */
export const robotsOf = (url: string, answer: RobotsAnswer): Robots => {
  if ("failure" in answer) return closed(`robots.txt could not be read: ${answer.failure}`)
  const { status } = answer
  if (status >= 400 && status <= 499) return status === 429 ? closed("robots.txt answered 429") : OPEN
  if (status < 200 || status > 299) return closed(`robots.txt answered ${status}`)
  const text = answer.text.slice(0, ROBOTS_BYTES_MAX)
  const wildLength = wildLengthOf(text)
  if (wildLength > ROBOTS_WILD_LENGTH_MAX)
    return closed(`robots.txt has more than ${ROBOTS_WILD_LENGTH_MAX} characters of rules with wildcards`)
  const rules = parse(url, text)
  const delay_s = rules.getCrawlDelay(PRODUCT_TOKEN)
  if (delay_s !== undefined && delay_s > CRAWL_DELAY_MAX_S)
    return closed(`robots.txt asks for ${delay_s} s between pages, and more than ${CRAWL_DELAY_MAX_S} s are not waited`)
  return {
    // Undefined stands for another host, of which the file says nothing. What would be costly to know is forbidden.
    isAllowed: (page) => wildLength * page.length <= ROBOTS_LOOK_MAX && rules.isAllowed(page, PRODUCT_TOKEN) !== false,
    ...(delay_s !== undefined && delay_s > 0 ? { delay_ms: Math.ceil(delay_s * 1_000) } : {}),
    sitemaps: rules.getSitemaps().slice(0, 20),
    // The lines, their objects and texts.
    bytes: 1_000 + 6 * text.length
  }
}
