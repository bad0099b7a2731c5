/**
 * One attempt at one delivery: signed with every valid secret, sent once, and judged. Never fails: the outcome is the
 * value.
 */
import { Clock, Effect } from "effect"
import { Seal } from "../access/seal.ts"
import { version } from "../config.ts"
import { OutboundHttp } from "../ports/outbound-http/outbound-http.ts"
import type { ClaimedDelivery } from "./deliveries-repository.ts"
import { validSecrets } from "./secrets.ts"
import { signedHeaders } from "./signature.ts"
import { ANSWER_SHOWN_BYTES, type Verdict, verdictOfFailure, verdictOfResponse } from "./verdict.ts"

export interface Attempt {
  readonly verdict: Verdict
  readonly ended_at: number
  readonly duration_ms: number
}
/** A slower receiver counts as failing. */
export const ATTEMPT_TIMEOUT_MS = 30_000

export const makeAttempt = (timeout_ms: number) =>
  Effect.gen(function* () {
    const http = yield* OutboundHttp
    const seal = yield* Seal
    return Effect.fnUntraced(function* (delivery: ClaimedDelivery) {
      const began = yield* Clock.currentTimeMillis
      const { body, event, id } = delivery
      const secrets = validSecrets(delivery.secrets, began).map(({ sealed }) => seal.open(sealed).toString("utf8"))
      const verdict = yield* http
        .send({
          method: "POST",
          url: delivery.url,
          body,
          timeout_ms,
          responseBytesMax: ANSWER_SHOWN_BYTES,
          headers: {
            "content-type": "application/json",
            "user-agent": `Dowser-Webhooks/${version}`,
            ...signedHeaders({ id, event, body, timestamp: Math.floor(began / 1_000) }, secrets)
          }
        })
        .pipe(Effect.match({ onSuccess: verdictOfResponse, onFailure: verdictOfFailure }))
      const ended_at = yield* Clock.currentTimeMillis
      return { verdict, ended_at, duration_ms: ended_at - began } satisfies Attempt
    })
  })
