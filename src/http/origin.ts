/** The origin of a request, in a browser's terms. */
import type { IncomingHttpHeaders } from "node:http"

/** `Origin`, or `Referer` for browsers that send no `Origin` with a GET. */
export const originOf = ({ origin, referer }: IncomingHttpHeaders): string | undefined => {
  if (typeof origin === "string") return origin
  return typeof referer === "string" && URL.canParse(referer) ? new URL(referer).origin : undefined
}
