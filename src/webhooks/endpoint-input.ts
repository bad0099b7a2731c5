/** Validates an endpoint. Pure. */
import { normalizedEvents } from "./subscribable-events.ts"

const NAME_LENGTH_MAX = 120
const URL_LENGTH_MAX = 2_048

export interface EndpointFields {
  readonly name: string
  readonly url: string
  readonly events: ReadonlyArray<string>
  readonly enabled: boolean
}

export const nameRefusal = (text: string): string | undefined => {
  const name = text.trim()
  return name === "" || [...name].length > NAME_LENGTH_MAX
    ? `1 to ${NAME_LENGTH_MAX} characters`
    : name.includes("\u0000")
      ? "No NUL character"
      : undefined
}
export const urlRefusal = (text: string): string | undefined => {
  if (text.length > URL_LENGTH_MAX) return `At most ${URL_LENGTH_MAX} characters`
  if (text.includes("\u0000")) return "No NUL character"
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || (url.protocol !== "http:" && url.protocol !== "https:"))
    return "An address that begins with http:// or https://"
  // Decision: refused, because a name and password in the address would be stored and shown in plain text.
  return url.username !== "" || url.password !== ""
    ? "No user name or password in the address; check the signature instead"
    : undefined
}

/** The parsed `WebhookBody`. */
interface EndpointBody {
  readonly name: string
  readonly url: string
  readonly events: ReadonlyArray<string>
  readonly enabled?: boolean | undefined
}
/** If `enabled` is omitted it is true, also in a replacement, because omitted fields reset. */
export const endpointFields = ({ enabled, events, name, url }: EndpointBody): EndpointFields => ({
  name: name.trim(),
  url,
  events: normalizedEvents(events),
  enabled: enabled ?? true
})
