/** What an endpoint may be (spec parts 2 and 8). Pure; the first field that is wrong is named. */
import { type InputInvalid, inputInvalid } from "../wire/errors.ts"
import { nameLengthMax, urlLengthMax, type WebhookBody } from "./schema.ts"
import { normalizedEvents, subscriptionRefusal } from "./subscribable-events.ts"

export interface EndpointFields { readonly name: string; readonly url: string; readonly events: ReadonlyArray<string>; readonly enabled: boolean }

const urlRefusal = (text: string): string | undefined => {
  if (text.length > urlLengthMax) return `At most ${urlLengthMax} characters`
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || (url.protocol !== "http:" && url.protocol !== "https:")) return "An address that begins with http:// or https://"
  // Decision: a name and password in the address would be stored and shown in plain text.
  return url.username !== "" || url.password !== "" ? "No user name or password in the address; check the signature instead" : undefined
}

/** Refusal or fields. Omitted `enabled` is true, also in a replacement: omitted fields reset. */
export const endpointFields = (body: WebhookBody): EndpointFields | InputInvalid => {
  const name = body.name.trim()
  if (name === "" || [...name].length > nameLengthMax) return inputInvalid("name", `1 to ${nameLengthMax} characters`)
  if (/[\u0000]/.test(name + body.url)) return inputInvalid(name.includes("\u0000") ? "name" : "url", "No NUL character")
  const badUrl = urlRefusal(body.url)
  if (badUrl !== undefined) return inputInvalid("url", badUrl)
  if (body.events.length === 0) return inputInvalid("events", "Name at least one event, or `*` for all")
  const badEvent = body.events.findIndex((event) => subscriptionRefusal(event) !== undefined)
  if (badEvent >= 0) return inputInvalid(`events[${badEvent}]`, subscriptionRefusal(body.events[badEvent]) ?? "")
  return { name, url: body.url, events: normalizedEvents(body.events), enabled: body.enabled ?? true }
}
