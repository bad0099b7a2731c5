/**
 * Queries an organization's own model: one request to its address, through the port `Generator` for servers that it
 * supports, bounded in time and bytes, with a limit per organization. It is not retried, because a visitor waits. A
 * server's message is quoted on one line and without anything that looks like a credential.
 */
import { Data, Effect } from "effect"
import { Generator } from "../../ports/generator/generator.ts"
import { OrganizationLines } from "../../ports/organization-lines.ts"
import { OutboundHttp, type OutboundResponse } from "../../ports/outbound-http/outbound-http.ts"
import { makeGoogleTokens } from "../../language-models/google-tokens.ts"
import { apiKeyOf, type LanguageModel } from "../../language-models/model.ts"
import { type AskedModel, askedOf, textIn } from "./providers.ts"

export class ModelFailed extends Data.TaggedError("ModelFailed")<{ readonly message: string }> {}

const TIMEOUT_MS = 10_000
/** Includes the wait for other requests of the organization. */
const WAIT_MS = 12_000
const ANSWER_BYTES_MAX = 1_000_000
const AT_ONCE_MAX = 8
const QUOTED_MAX = 200

/** Parameters of a search are short. */
const TOKENS_MAX = 600

interface Texts {
  readonly system: string
  readonly user: string
}
const quoted = ({ body }: OutboundResponse, model: LanguageModel): string => {
  const raw = new TextDecoder().decode(body.subarray(0, 2_000))
  const text = [...model.secrets.values()]
    .reduce((left, secret) => left.replaceAll(secret, "…"), raw)
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .replace(/[A-Za-z0-9_-]{24,}/g, "…")
    .trim()
  return text === "" ? "" : `: ${text.slice(0, QUOTED_MAX)}`
}
const failed = (model: LanguageModel, what: string) =>
  new ModelFailed({ message: `The server of the model \`${String(model.fields.model_name)}\` ${what}.` })

const judged = (model: LanguageModel, response: OutboundResponse): Effect.Effect<string, ModelFailed> => {
  const { isTruncated, status } = response
  if (status === 401 || status === 403) return Effect.fail(failed(model, `refused the credential (${status})`))
  if (status < 200 || status >= 300) return Effect.fail(failed(model, `answered ${status}${quoted(response, model)}`))
  if (isTruncated) return Effect.fail(failed(model, "answered more than 1 MB, or did not end in time"))
  let answer: unknown
  try {
    answer = JSON.parse(new TextDecoder().decode(response.body))
  } catch {
    return Effect.fail(failed(model, "answered something that is not JSON"))
  }
  const text = textIn(model, answer)
  return text === undefined ? Effect.fail(failed(model, "answered without a text")) : Effect.succeed(text)
}

export const makeAskModel = Effect.gen(function* () {
  const http = yield* OutboundHttp
  const generator = yield* Generator
  const tokens = yield* makeGoogleTokens
  const lines = new OrganizationLines(AT_ONCE_MAX)
  const compatible = (organizationId: string, own: LanguageModel, { system, user }: Texts) => {
    const { fields, name, provider } = own
    const apiKey = apiKeyOf(own)
    return generator.complete({
      organizationId,
      model: {
        kind: "openai",
        model: name,
        ...(typeof fields.api_url === "string" ? { url: fields.api_url } : {}),
        ...(apiKey === "" ? {} : { api_key: apiKey })
      },
      messages: [
        { role: "system", content: system },
        { role: "user", content: user }
      ],
      maxTokens: TOKENS_MAX,
      timeout_ms: TIMEOUT_MS,
      tries: 1,
      // Not every compatible server supports the constraint.
      isJson: provider === "openai",
      ...(typeof fields.temperature === "number" ? { temperature: fields.temperature } : {})
    })
  }
  const sent = (model: LanguageModel, { body, headers, url }: AskedModel) =>
    Effect.mapError(
      http.send({
        method: "POST",
        url,
        headers,
        body: JSON.stringify(body),
        timeout_ms: TIMEOUT_MS,
        responseBytesMax: ANSWER_BYTES_MAX
      }),
      ({ message }) => failed(model, `cannot be asked (${message.replace(/\.$/, "")})`)
    )
  /** If a token is refused, a new one is requested once. */
  const byToken = Effect.fnUntraced(function* (model: LanguageModel, texts: Texts) {
    const tokenOf = (refused?: string) =>
      Effect.mapError(tokens.of(model, refused), ({ message }) => failed(model, message))
    const token = yield* tokenOf()
    const first = yield* sent(model, askedOf(model, texts, token)!)
    return first.status === 401 ? yield* sent(model, askedOf(model, texts, yield* tokenOf(token))!) : first
  })
  return (organizationId: string, model: LanguageModel, texts: Texts): Effect.Effect<string, ModelFailed> => {
    const asked = askedOf(model, texts, "")
    if (asked === undefined)
      return Effect.matchEffect(compatible(organizationId, model, texts), {
        onFailure: ({ message }) => Effect.fail(new ModelFailed({ message })),
        onSuccess: ({ text }) => Effect.succeed(text)
      })
    const answered = Effect.flatMap(model.provider === "gcp" ? byToken(model, texts) : sent(model, asked), (response) =>
      judged(model, response)
    )
    return Effect.timeoutOrElse(lines.of(organizationId).withPermits(1)(answered), {
      duration: WAIT_MS,
      orElse: () => Effect.fail(failed(model, "did not answer in time"))
    })
  }
})
