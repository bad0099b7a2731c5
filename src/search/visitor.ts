/** Who searches, from what: parameters first, then headers (contract part 0). Unknown stays undefined. */
import type { IncomingHttpHeaders } from "node:http"

export type Device = "desktop" | "mobile" | "tablet"

const text = (value: unknown): string | undefined => typeof value === "string" && value !== "" ? value.slice(0, 256) : undefined

const deviceOfAgent = (headers: IncomingHttpHeaders): Device | undefined => {
  const hint = headers["sec-ch-ua-mobile"]
  if (hint === "?1") return "mobile"
  const agent = headers["user-agent"] ?? ""
  if (/iPad|Tablet|Android(?!.*Mobile)/.test(agent)) return "tablet"
  if (/Mobi|iPhone|iPod/.test(agent)) return "mobile"
  return hint === "?0" || /Mozilla/.test(agent) ? "desktop" : undefined
}

export interface Visitor {
  readonly session_id: string | undefined
  readonly user_id: string | undefined
  readonly anonymous_id: string | undefined
  readonly device: string | undefined
  readonly country: string | undefined
  readonly surface: string | undefined
}

export const visitorOf = (parameters: Readonly<Record<string, unknown>>, headers: IncomingHttpHeaders, sessionId: string | undefined): Visitor => ({
  session_id: sessionId,
  user_id: text(parameters.x_user_id),
  anonymous_id: text(parameters.x_anonymous_id),
  device: text(parameters.x_device) ?? deviceOfAgent(headers),
  country: text(parameters.x_country)?.toUpperCase(),
  surface: text(parameters.x_surface)
})
