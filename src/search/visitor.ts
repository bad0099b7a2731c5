/** Who searches, from what: parameters first, then headers (contract part 0). Unknown stays undefined. */
import type { IncomingHttpHeaders } from "node:http"

export type Device = "desktop" | "mobile" | "tablet"

const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value.slice(0, 256) : undefined

const deviceOfAgent = (headers: IncomingHttpHeaders): Device | undefined => {
  const hint = headers["sec-ch-ua-mobile"]
  if (hint === "?1") return "mobile"
  const agent = headers["user-agent"] ?? ""
  // Looked for from the end: a pattern that looks ahead from every place would cost the square of the header.
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

/** The tag that `Accept-Language` wants most; the first of equals. */
const languageOf = (header: string | undefined): string | undefined => {
  if (header === undefined) return undefined
  let best: string | undefined,
    most = 0
  for (const part of header.slice(0, 1_000).split(",")) {
    const [tag, quality] = part.split(";")
    const weight = quality === undefined ? 1 : Number(/^\s*q=([\d.]+)\s*$/.exec(quality)?.[1] ?? 0)
    if (weight > most && /^\s*[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*\s*$/.test(tag)) {
      best = tag.trim()
      most = weight
    }
  }
  return best
}

/**
 * `countryHeader`: where a proxy in front of this program says the country; without one it is told by parameter only.
 */
export const visitorOf = (
  parameters: Readonly<Record<string, unknown>>,
  headers: IncomingHttpHeaders,
  sessionId: string | undefined,
  countryHeader?: string
): Visitor => ({
  session_id: sessionId,
  user_id: text(parameters.x_user_id),
  anonymous_id: text(parameters.x_anonymous_id),
  device: text(parameters.x_device) ?? deviceOfAgent(headers),
  // Read where a rule or a cache asks for it.
  get language() {
    return text(parameters.x_language) ?? languageOf(headers["accept-language"])
  },
  country: (
    text(parameters.x_country) ?? (countryHeader === undefined ? undefined : text(headers[countryHeader]))
  )?.toUpperCase(),
  surface: text(parameters.x_surface)
})
