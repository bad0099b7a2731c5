/**
 * Access tokens of Google Cloud for models with a refresh token or a service account (RFC 6749 part 6, RFC 7523):
 * requested when the last one has expired or was refused, and kept only in memory.
 */
import { createSign } from "node:crypto"
import { Clock, Data, Effect } from "effect"
import { OutboundHttp } from "../ports/outbound-http/outbound-http.ts"
import { type LanguageModel, textField } from "./model.ts"

class NoToken extends Data.TaggedError("NoToken")<{ readonly message: string }> {}

const HOME = "https://oauth2.googleapis.com/token"
const SCOPE = "https://www.googleapis.com/auth/cloud-platform"
const LIFE_S = 3_600
/** How long before its expiry a token counts as expired. */
const EARLY_MS = 60_000
const TIMEOUT_MS = 10_000
const ANSWER_BYTES_MAX = 100_000

interface ServiceAccount {
  readonly client_email: string
  readonly private_key: string
  readonly token_uri?: string
}
interface Token {
  readonly text: string
  readonly until_ms: number
}
const base64url = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url")
const serviceAccountOf = ({ secrets }: LanguageModel): ServiceAccount | undefined => {
  const text = secrets.get("service_account")
  return text === undefined ? undefined : (JSON.parse(text) as ServiceAccount)
}

interface Asked {
  readonly url: string
  readonly form: Readonly<Record<string, string>>
}
/** Throws if the private key is invalid. */
const bySigning = ({ client_email, private_key, token_uri = HOME }: ServiceAccount, now_s: number): Asked => {
  const claims = { iss: client_email, scope: SCOPE, aud: token_uri, iat: now_s, exp: now_s + LIFE_S }
  const signed = `${base64url({ alg: "RS256", typ: "JWT" })}.${base64url(claims)}`
  const assertion = `${signed}.${createSign("RSA-SHA256").update(signed).sign(private_key, "base64url")}`
  return { url: token_uri, form: { grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", assertion } }
}
const byRefreshing = (model: LanguageModel): Asked => {
  const { secrets } = model
  return {
    url: textField(model, "token_uri") ?? HOME,
    form: {
      grant_type: "refresh_token",
      refresh_token: secrets.get("refresh_token") ?? "",
      client_id: textField(model, "client_id") ?? "",
      client_secret: secrets.get("client_secret") ?? ""
    }
  }
}
const tokenIn = (body: Uint8Array, now_ms: number): Token | undefined => {
  try {
    const answer = JSON.parse(new TextDecoder().decode(body)) as Readonly<Record<string, unknown>> | null
    const text = answer?.access_token
    if (typeof text !== "string" || !/^[\x21-\x7e]{1,8192}$/.test(text)) return undefined
    const life_s = typeof answer?.expires_in === "number" ? Math.min(answer.expires_in, LIFE_S) : LIFE_S
    return { text, until_ms: now_ms + 1_000 * life_s - EARLY_MS }
  } catch {
    return undefined
  }
}

export const makeGoogleTokens = Effect.gen(function* () {
  const http = yield* OutboundHttp
  const kept = new WeakMap<LanguageModel, Token>()
  const askedOf = (model: LanguageModel, now_ms: number): Effect.Effect<Asked, NoToken> => {
    const account = serviceAccountOf(model)
    return account === undefined
      ? Effect.succeed(byRefreshing(model))
      : Effect.try({
          try: () => bySigning(account, Math.floor(now_ms / 1_000)),
          catch: () => new NoToken({ message: "has a `private_key` that cannot be read" })
        })
  }
  const fresh = Effect.fnUntraced(function* (model: LanguageModel) {
    const now_ms = yield* Clock.currentTimeMillis
    const { form, url } = yield* askedOf(model, now_ms)
    const sent = http.send({
      method: "POST",
      url,
      headers: { "content-type": "application/x-www-form-urlencoded", accept: "application/json" },
      body: new URLSearchParams(form).toString(),
      timeout_ms: TIMEOUT_MS,
      responseBytesMax: ANSWER_BYTES_MAX
    })
    const { body, status } = yield* Effect.mapError(
      sent,
      ({ message }) => new NoToken({ message: `cannot get an access token (${message.replace(/\.$/, "")})` })
    )
    const token = status === 200 ? tokenIn(body, now_ms) : undefined
    if (token === undefined) return yield* new NoToken({ message: `cannot get an access token (${status})` })
    kept.set(model, token)
    return token.text
  })
  return {
    /** `refused`: the last token, which its server did not accept. */
    of: Effect.fnUntraced(function* (model: LanguageModel, refused?: string) {
      const now_ms = yield* Clock.currentTimeMillis
      const given = model.secrets.get("access_token")
      const known = kept.get(model) ?? (given === undefined ? undefined : { text: given, until_ms: Infinity })
      return known !== undefined && known.until_ms > now_ms && known.text !== refused ? known.text : yield* fresh(model)
    })
  }
})
