/**
 * What a site's robots.txt says to us (RFC 9309). A missing one allows everything; an unreachable one forbids
 * everything, because an overloaded site must not be crawled freely. `robots-parser` reads the rules. Pure.
 */
import robotsParser from "robots-parser"
import { ROBOTS_BYTES_MAX, ROBOTS_LOOK_MAX, ROBOTS_WILD_LENGTH_MAX } from "./limits.ts"

/** Our product token, which sites name in `User-agent`. */
export const PRODUCT_TOKEN = "DowserBot"
const CRAWL_DELAY_MAX_S = 30

/** The module itself is the function, although its types declare it as a member. */
const parse = robotsParser as unknown as typeof robotsParser.default

export interface Robots {
  readonly isAllowed: (url: string) => boolean
  /** Why nothing on the host is allowed, if so. */ readonly refusal?: string | undefined
  readonly delay_ms?: number | undefined
  readonly sitemaps: ReadonlyArray<string>
  /** Approximate size in memory. */ readonly bytes: number
}
const closed = (refusal: string): Robots => ({ isAllowed: () => false, refusal, sitemaps: [], bytes: 500 })
const OPEN: Robots = { isAllowed: () => true, sitemaps: [], bytes: 500 }

/** The outcome of the request: a status with as much of the text as is read, or the reason why there is no text. */
export type RobotsAnswer = { readonly status: number; readonly text: string } | { readonly failure: string }

/** Number of characters in rules with a wildcard. */
const wildLengthOf = (text: string): number => {
  let sum = 0
  for (const [line] of text.matchAll(/^[ \t]*(?:dis)?allow[ \t]*:[^\n\r]*/gim))
    if (line.includes("*")) sum += line.length
  return sum
}

/** `url` is the address of the robots.txt. */
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
    // Undefined means another host, which the file does not cover. Pages whose check would be too costly are forbidden.
    isAllowed: (page) => wildLength * page.length <= ROBOTS_LOOK_MAX && rules.isAllowed(page, PRODUCT_TOKEN) !== false,
    ...(delay_s !== undefined && delay_s > 0 ? { delay_ms: Math.ceil(delay_s * 1_000) } : {}),
    sitemaps: rules.getSitemaps().slice(0, 20),
    // Estimate for the lines, their objects and texts.
    bytes: 1_000 + 6 * text.length
  }
}
