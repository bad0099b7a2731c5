/** The session's cookie, and whether a request with it comes from our own pages. Pure. */
import type { IncomingHttpHeaders } from "node:http"

const cookieName = "dowser_session"
/** Sent by clients other than browsers, which send no origin. A page elsewhere cannot send it without a preflight. */
const consoleHeader = "x-dowser-console"

export const sessionTokenOf = (cookies: string | undefined): string | undefined => {
  for (const part of (cookies ?? "").split(";")) {
    const at = part.indexOf("=")
    if (at > 0 && part.slice(0, at).trim() === cookieName) return part.slice(at + 1).trim()
  }
  return undefined
}

const firstOf = (header: string | ReadonlyArray<string> | undefined): string | undefined =>
  (typeof header === "string" ? header : header?.[0])?.split(",")[0]!.trim()

/** TLS on this connection, or according to a proxy in front of us. */
export const isOverTls = (headers: IncomingHttpHeaders, isEncrypted: boolean): boolean =>
  isEncrypted || firstOf(headers["x-forwarded-proto"]) === "https"

export const cookieText = (token: string, maxAge_s: number, isSecure: boolean): string =>
  `${cookieName}=${token}; Path=/console; HttpOnly; SameSite=Strict; Max-Age=${maxAge_s}${isSecure ? "; Secure" : ""}`

/** Browsers send the page's origin except with reads; without an origin, the console's header is required. */
export const isOwnPage = (headers: IncomingHttpHeaders): boolean => {
  const { origin } = headers
  if (origin === undefined) return headers[consoleHeader] !== undefined
  try {
    const { host } = new URL(origin)
    return host !== "" && (host === headers.host || host === firstOf(headers["x-forwarded-host"]))
  } catch {
    return false
  }
}
