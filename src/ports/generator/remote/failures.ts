/** Messages for failures of generative model servers: on one line, without anything like a credential. Pure. */
import type { OutboundFailure } from "../../outbound-http/outbound-http.ts"
import { GenerationFailed, type GeneratorModel } from "../generator.ts"

const QUOTED_MAX = 200

export const failed = ({ kind, model }: GeneratorModel, why: GenerationFailed["kind"], what: string) =>
  new GenerationFailed({ kind: why, message: `The server of the model \`${kind}/${model}\` ${what}.` })

/** The server's error message, after a colon. */
export const quoted = ({ api_key }: GeneratorModel, text: string): string => {
  const bare = (api_key === undefined || api_key === "" ? text : text.replaceAll(api_key, "…"))
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .replace(/[A-Za-z0-9_-]{24,}/g, "…")
    .trim()
  return bare === "" ? "" : `: ${bare.slice(0, QUOTED_MAX)}`
}

const statusKind = (status: number): GenerationFailed["kind"] =>
  // 529 is Anthropic's status for overloaded.
  status === 429 || status === 503 || status === 529
    ? "busy"
    : status === 408 || status === 504
      ? "timeout"
      : status >= 500
        ? "failed"
        : "refused"

export const ofStatus = (model: GeneratorModel, status: number, body: Uint8Array): GenerationFailed =>
  status === 401 || status === 403
    ? failed(model, "refused", `refused the credential (${status})`)
    : failed(
        model,
        statusKind(status),
        `answered ${status}${quoted(model, new TextDecoder().decode(body.subarray(0, 2_000)))}`
      )

export const ofOutbound = (model: GeneratorModel, { kind, message }: OutboundFailure): GenerationFailed => {
  const why =
    kind === "timeout"
      ? "timeout"
      : kind === "refused_address" || kind === "refused_redirect" || kind === "certificate"
        ? "refused"
        : "failed"
  return failed(model, why, `cannot be asked (${message.replace(/\.$/, "")})`)
}
