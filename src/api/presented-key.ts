/** Where a request carries its key, and what else in its address and headers matters to an operation. Pure. */
import type { IncomingMessage } from "node:http"
import { isBearer, type Operation } from "../http/operation.ts"

/**
 * Where a key may be: its header, the header of stock clients, or their query parameter; also `api_key` in the query
 * of an event stream or a WebSocket. A request has one key: if several are given and differ, a proxy and we might
 * choose different ones, so they count as an unknown key (a header sent twice arrives joined, and is unknown anyway).
 */
export const presentedKey = (
  operation: Pick<Operation, "plane" | "scope"> & { readonly success?: Pick<Operation["success"], "type"> },
  headers: IncomingMessage["headers"],
  search: Readonly<Record<string, string>>
): string | undefined => {
  if (isBearer(operation)) return bearer(headers)
  const places = [
    headers["x-svc-api-key"],
    headers["x-typesense-api-key"],
    search["x-typesense-api-key"],
    operation.scope === "search" ? search["x-svc-api-key"] : undefined,
    // Browsers cannot set headers for these.
    operation.success?.type === "event_stream" || operation.success?.type === "web_socket" ? search.api_key : undefined
  ]
  const keys = new Set(places.filter((value) => value !== undefined && value !== ""))
  return keys.size > 1 ? ambiguousKey : ([...keys][0] as string | undefined)
}
/** No key has these characters. */
const ambiguousKey = "\n"
export const bearer = (headers: IncomingMessage["headers"]): string | undefined =>
  /^Bearer +(.+)$/i.exec(headers.authorization ?? "")?.[1]

export const searchOf = (url: string): { readonly text: string; readonly values: Record<string, string> } => {
  const mark = url.indexOf("?")
  if (mark < 0 || mark === url.length - 1) return { text: "", values: {} }
  const text = url.slice(mark + 1)
  // A parameter named `__proto__` is like any other; assigned to a plain object, it would be lost.
  const values = Object.create(null) as Record<string, string>
  for (const [name, value] of new URLSearchParams(text)) values[name] = value
  return { text, values }
}

export const sessionOf = (headers: IncomingMessage["headers"]): string | undefined => {
  const value = headers["x-svc-session-id"]
  return typeof value === "string" && value.trim() !== "" ? value : undefined
}
/** For a WebSocket, whose headers browsers cannot set. */
export const sessionInQuery = (
  { success }: { readonly success: Pick<Operation["success"], "type"> },
  { session_id }: Readonly<Record<string, string>>
): string | undefined =>
  success.type === "web_socket" && session_id !== undefined && session_id.trim() !== "" ? session_id : undefined
export const pathOf = (url: string): string => {
  const mark = url.indexOf("?")
  return mark < 0 ? url : url.slice(0, mark)
}
