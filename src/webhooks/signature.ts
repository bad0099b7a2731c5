/**
 * Signatures that prove that a delivery is ours. Pure. Two schemes over the same bytes and the same second:
 *
 *   X-SVC-Signature    `t=<unix seconds>,v1=<hex>`: HMAC-SHA256 of `<t>.<raw body>`, keyed with the secret's text as
 *                      shown, including `whsec_`; one `v1` per valid secret
 *   webhook-signature  `v1,<base64>`: HMAC-SHA256 of `<id>.<timestamp>.<raw body>`, keyed with the bytes decoded from
 *                      the base64 after `whsec_` (Standard Webhooks 1.0.0); one entry per valid secret, by spaces
 *
 * A secret is therefore `whsec_` and 32 characters of base64's alphabet: 24 bytes for a standard verifier.
 */
import { createHmac } from "node:crypto"

export const secretPrefix = "whsec_"
/**
 * A multiple of four, so that it is base64 without padding; letters and digits only, so that no shell or URL mangles
 * it.
 */
export const SECRET_LENGTH = 32

interface Signed {
  readonly id: string
  readonly event: string
  /** Unix seconds. */ readonly timestamp: number
  readonly body: string
}

const v1 = ({ body, timestamp }: Signed, secret: string): string =>
  createHmac("sha256", secret).update(`${timestamp}.${body}`).digest("hex")
const standard = ({ body, id, timestamp }: Signed, secret: string): string =>
  createHmac("sha256", Buffer.from(secret.slice(secretPrefix.length), "base64"))
    .update(`${id}.${timestamp}.${body}`)
    .digest("base64")

/** Headers of one attempt. `secrets`: texts of all secrets that are valid now, newest first. */
export const signedHeaders = (delivery: Signed, secrets: ReadonlyArray<string>): Record<string, string> => ({
  "x-svc-event": delivery.event,
  "x-svc-delivery": delivery.id,
  "x-svc-signature": [`t=${delivery.timestamp}`, ...secrets.map((secret) => `v1=${v1(delivery, secret)}`)].join(","),
  "webhook-id": delivery.id,
  "webhook-timestamp": String(delivery.timestamp),
  "webhook-signature": secrets.map((secret) => `v1,${standard(delivery, secret)}`).join(" ")
})
