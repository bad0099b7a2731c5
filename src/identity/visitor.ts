/** The visitor's device, language and country, from parameters first, then from headers. Undefined if unknown. */
import type { IncomingHttpHeaders } from "node:http"

type Device = "desktop" | "mobile" | "tablet"

const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value.slice(0, 256) : undefined

/** Headers of the connection that describe the visitor's device, verbatim. */
export interface Traits {
  readonly userAgent: string | undefined
  /** `?1`: the browser declares itself mobile. */
  readonly mobileHint: string | undefined
  readonly acceptLanguage: string | undefined
  /** Set by a proxy in front of this program. */
  readonly country: string | undefined
}
export const NO_TRAITS: Traits = {
  userAgent: undefined,
  mobileHint: undefined,
  acceptLanguage: undefined,
  country: undefined
}
/**
 * `countryHeader` is the header in which a proxy in front sends the country; without it, only a parameter gives the
 * country. Cost: four look-ups.
 */
export const traitsOf = (headers: IncomingHttpHeaders, countryHeader?: string): Traits => ({
  userAgent: headers["user-agent"],
  mobileHint: one(headers["sec-ch-ua-mobile"]),
  acceptLanguage: headers["accept-language"],
  country: countryHeader === undefined ? undefined : text(headers[countryHeader])
})
const one = (value: string | ReadonlyArray<string> | undefined): string | undefined =>
  typeof value === "string" ? value : undefined

const deviceOf = ({ mobileHint: hint, userAgent: agent = "" }: Traits): Device | undefined => {
  if (hint === "?1") return "mobile"
  // Searched from the end, because a pattern with a look-ahead at every position would take quadratic time.
  const android = agent.lastIndexOf("Android")
  if (/iPad|Tablet/.test(agent) || (android >= 0 && !agent.includes("Mobile", android))) return "tablet"
  if (/Mobi|iPhone|iPod/.test(agent)) return "mobile"
  return hint === "?0" || /Mozilla/.test(agent) ? "desktop" : undefined
}

export interface Visitor {
  readonly session_id: string | undefined
  readonly user_id: string | undefined
  readonly anonymous_id: string | undefined
  readonly device: string | undefined
  /** A language tag, e.g. `de-CH`. */ readonly language: string | undefined
  readonly country: string | undefined
  readonly surface: string | undefined
}

/** The most preferred tag of `Accept-Language`; the first of equals. */
const languageOf = (header: string | undefined): string | undefined => {
  if (header === undefined) return undefined
  let best: string | undefined,
    most = 0
  for (const part of header.slice(0, 1_000).split(",")) {
    const [tag, quality] = part.split(";")
    const weight = quality === undefined ? 1 : Number(/^\s*q=([\d.]+)\s*$/.exec(quality)?.[1] ?? 0)
    if (tag !== undefined && weight > most && /^\s*[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*\s*$/.test(tag)) {
      best = tag.trim()
      most = weight
    }
  }
  return best
}

export const visitorOf = (
  parameters: Readonly<Record<string, unknown>>,
  traits: Traits,
  sessionId: string | undefined
): Visitor => ({
  session_id: sessionId,
  user_id: text(parameters.x_user_id),
  anonymous_id: text(parameters.x_anonymous_id),
  device: text(parameters.x_device) ?? deviceOf(traits),
  // Computed only when a rule or a cache needs it.
  get language() {
    return text(parameters.x_language) ?? languageOf(traits.acceptLanguage)
  },
  country: (text(parameters.x_country) ?? traits.country)?.toUpperCase(),
  surface: text(parameters.x_surface)
})
