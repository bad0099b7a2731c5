/**
 * Normalizes addresses, so that two spellings of one page are one address: case of the host, default ports, dots, the
 * fragment after `#`, and parameters that only record where a visitor came from make no difference. Pure.
 */
import { createHash } from "node:crypto"
import { URL_LENGTH_MAX } from "./limits.ts"

/** Parameters of advertising and mail systems, by exact name or prefix; the list is the program's own. */
const TRACKING =
  /^(utm_|mc_|pk_|hsa_|_hs)|^(gclid|gclsrc|dclid|fbclid|msclkid|yclid|ysclid|twclid|igshid|_ga|_gl|phpsessid|jsessionid|sid)$/i
/** A path that repeats a segment is a trap: a site that answers every path links to ever longer ones. */
const SAME_SEGMENTS_MAX = 3
const SEGMENTS_MAX = 20

const isTrap = (path: string): boolean => {
  const segments = path.split("/").filter((segment) => segment !== "")
  if (segments.length > SEGMENTS_MAX) return true
  const counts = new Map<string, number>()
  for (const segment of segments) counts.set(segment, (counts.get(segment) ?? 0) + 1)
  return [...counts.values()].some((count) => count > SAME_SEGMENTS_MAX)
}

/** The normalized address; undefined if it cannot be crawled. */
export const pageUrl = (text: string, base?: string): URL | undefined => {
  if (text.length > 2 * URL_LENGTH_MAX) return undefined
  const url = URL.parse(text.trim(), base)
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) return undefined
  if (url.username !== "" || url.password !== "" || url.hostname === "") return undefined
  url.hash = ""
  if (url.search !== "") {
    const kept = url.search
      .slice(1)
      .split("&")
      .filter((pair) => pair !== "" && !TRACKING.test(pair.split("=", 1)[0]!))
    url.search = kept.length === 0 ? "" : `?${kept.join("&")}`
  }
  url.pathname = url.pathname.replace(/;jsessionid=[^/;]*/i, "")
  return url.href.length > URL_LENGTH_MAX || isTrap(url.pathname) ? undefined : url
}

/** Removes a leading `www.`, which does not make a different host, neither to people nor to us. */
export const bareHost = (host: string): string => host.replace(/^www\./, "")

/** The id of a page's document: 32 characters of the address's SHA-256, the same in every crawl. */
export const pageId = (url: string): string => createHash("sha256").update(url).digest("hex").slice(0, 32)
/** The id of a section: from the second section on, with a number. */
export const sectionId = (id: string, section: number): string => (section === 0 ? id : `${id}-${section + 1}`)
