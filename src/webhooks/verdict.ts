/**
 * What the outcome of an attempt means. Pure.
 *
 *   2xx                → success
 *   408, 429, 5xx      → retry (pending again, or failed after the last attempt)
 *   any other answer   → failed immediately; a redirect is an answer and is never followed
 *
 * Decision: an attempt without any answer (time-out, refused, reset, unknown name, bad certificate) is retried, because
 * otherwise "at least once" would not hold for a receiver that restarts. An address that we refuse is final: waiting
 * changes no policy.
 */
import type { OutboundFailure, OutboundResponse } from "../ports/outbound-http/outbound-http.ts"

export type Verdict =
  | { readonly kind: "success"; readonly http_code: number }
  | { readonly kind: "retry" | "failed"; readonly http_code: number | undefined; readonly error: string }

/** How much of a receiver's answer is quoted in the error: enough for its message, too little to store documents. */
export const ANSWER_SHOWN_BYTES = 512

/** Control characters become spaces (text in the database cannot contain NUL). */
const shown = (body: Uint8Array): string =>
  Buffer.from(body.subarray(0, ANSWER_SHOWN_BYTES))
    .toString("utf8")
    .replace(/[\u0000-\u001f\u007f\ufffd]+/g, " ")
    .trim()

const isRetried = (status: number): boolean => status === 408 || status === 429 || (status >= 500 && status <= 599)

export const verdictOfResponse = ({
  body,
  headers,
  status
}: Pick<OutboundResponse, "status" | "headers" | "body">): Verdict => {
  if (status >= 200 && status <= 299) return { kind: "success", http_code: status }
  const text = shown(body)
  const redirect =
    status >= 300 && status <= 399 && headers.location !== undefined
      ? ` (redirects are not followed: ${shown(Buffer.from(headers.location))})`
      : ""
  return {
    kind: isRetried(status) ? "retry" : "failed",
    http_code: status,
    error: `The receiver answered ${status}${redirect}${text === "" ? "" : `: ${text}`}`
  }
}

export const verdictOfFailure = ({ kind, message }: Pick<OutboundFailure, "kind" | "message">): Verdict => ({
  kind: kind === "refused_address" ? "failed" : "retry",
  http_code: undefined,
  error: shown(Buffer.from(message))
})
