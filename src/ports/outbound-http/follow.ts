/**
 * Follows redirects on top of the port, which checks the address of every hop. Only for reading: a hop is a GET without
 * a body. Pure but for the calls.
 */
import { Effect, Exit, Scope } from "effect"
import { OutboundFailure, type OutboundHttp, type OutboundOpening, type OutboundStream } from "./outbound-http.ts"

const REDIRECTS_MAX = 5
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
/** Headers that reveal nothing about the sender; all others are sent only to the origin they were meant for. */
const OPEN_HEADERS: ReadonlySet<string> = new Set(["accept", "accept-encoding", "accept-language", "user-agent"])

export interface FollowedStream extends OutboundStream {
  /** The final address, after redirects. */ readonly url: string
}

const refused = (message: string) => new OutboundFailure({ kind: "refused_redirect", message })

/** A URL that may be called, or the reason why not. */
const checked = (text: string, base?: URL): URL | OutboundFailure => {
  const url = URL.parse(text, base?.href)
  if (url === null) return refused("The redirect leads to no address")
  if (url.username !== "" || url.password !== "") return refused("An address with a name and a password is not called")
  if (url.protocol !== "http:" && url.protocol !== "https:")
    return refused(`The redirect leads to ${url.protocol}, which is neither http nor https`)
  if (base !== undefined && base.protocol === "https:" && url.protocol === "http:")
    return refused(`The redirect leads from https to http (${url.origin})`)
  url.hash = ""
  return url
}

/** The checked target of a redirect; undefined if the answer is not a redirect. */
export const redirectOf = (
  { headers, status }: Pick<OutboundStream, "headers" | "status">,
  from: URL
): URL | OutboundFailure | undefined =>
  REDIRECTS.has(status) && headers.location !== undefined ? checked(headers.location, from) : undefined

/** Headers for the next hop: none of ours across origins, and no conditional headers, which concerned another URL. */
const nextHeaders = (headers: Readonly<Record<string, string>>, from: URL, to: URL): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers).filter(
      ([name]) => OPEN_HEADERS.has(name) || (from.origin === to.origin && !name.startsWith("if-"))
    )
  )

/** `open` that follows at most `REDIRECTS_MAX` redirects, within `timeout_ms` a hop and `total_ms` in all. */
export const openFollowing = (
  http: OutboundHttp["Service"],
  request: Omit<OutboundOpening, "method" | "body">
): Effect.Effect<FollowedStream, OutboundFailure, Scope.Scope> =>
  Effect.gen(function* () {
    const began = performance.now()
    const outer = yield* Effect.scope
    const first = checked(request.url)
    if (first instanceof OutboundFailure) return yield* first
    let url = first,
      headers = request.headers
    for (let hop = 0; ; hop++) {
      const total_ms = Math.max(1, request.total_ms - (performance.now() - began))
      const scope = yield* Scope.fork(outer)
      const answer = yield* http
        .open({ ...request, method: "GET", url: url.href, headers, total_ms })
        .pipe(Scope.provide(scope))
      const next = redirectOf(answer, url)
      if (next === undefined) return { ...answer, url: url.href }
      yield* Scope.close(scope, Exit.void)
      if (next instanceof OutboundFailure) return yield* next
      if (hop === REDIRECTS_MAX) return yield* refused(`More than ${REDIRECTS_MAX} redirects from ${first.href}`)
      headers = nextHeaders(headers, url, next)
      url = next
    }
  })
