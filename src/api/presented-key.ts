/** Where a request carries its key, and what else of its address and headers an operation goes by. Pure. */
import type { IncomingMessage } from "node:http"
import { isBearer, type Operation } from "../http/operation.ts"

/**
 * Where a key may stand: its header, the stock clients' header, or their query parameter; and `api_key` in the query of
 * a stream of events or a WebSocket. One request has one key: where several are given and differ, a proxy and we might
 * go by different ones, so they are answered as an unknown one is (a header sent twice arrives joined, and is unknown
 * by itself).
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
    // Where a browser can set no header.
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
  // A parameter named `__proto__` is one like any other; assigned to a plain object it would be swallowed.
  const values = Object.create(null) as Record<string, string>
  for (const [name, value] of new URLSearchParams(text)) values[name] = value
  return { text, values }
}

export const sessionOf = (headers: IncomingMessage["headers"]): string | undefined => {
  const value = headers["x-svc-session-id"]
  return typeof value === "string" && value.trim() !== "" ? value : undefined
}
/** Of a WebSocket, whose headers no browser can set. */
export const sessionInQuery = (
  { success }: { readonly success: Pick<Operation["success"], "type"> },
  { session_id }: Readonly<Record<string, string>>
): string | undefined =>
  success.type === "web_socket" && session_id !== undefined && session_id.trim() !== "" ? session_id : undefined
export const pathOf = (url: string): string => {
  const mark = url.indexOf("?")
  return mark < 0 ? url : url.slice(0, mark)
}
