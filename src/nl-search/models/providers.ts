/**
 * How to query providers that the port does not support for one answer to a system text and a user text, and where the
 * text is in their answer. Pure.
 */
import { apiKeyOf, type LanguageModel } from "../../language-models/model.ts"

export interface AskedModel {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Readonly<Record<string, unknown>>
}
interface Texts {
  readonly system: string
  readonly user: string
}
const json = { "content-type": "application/json" }
const bearer = (key: string): Readonly<Record<string, string>> =>
  key === "" ? json : { ...json, authorization: `Bearer ${key}` }
const chat = ({ system, user }: Texts) => [
  { role: "system", content: system },
  { role: "user", content: user }
]
const text = (value: unknown, otherwise: string): string => (typeof value === "string" ? value : otherwise)

const geminiBody = ({ fields }: LanguageModel, texts: Texts) => ({
  systemInstruction: { parts: [{ text: texts.system }] },
  contents: [{ role: "user", parts: [{ text: texts.user }] }],
  generationConfig: {
    ...(fields.temperature === undefined ? {} : { temperature: fields.temperature }),
    ...(fields.top_p === undefined ? {} : { topP: fields.top_p }),
    ...(fields.top_k === undefined ? {} : { topK: fields.top_k }),
    ...(fields.stop_sequences === undefined ? {} : { stopSequences: fields.stop_sequences }),
    ...(fields.max_output_tokens === undefined ? {} : { maxOutputTokens: fields.max_output_tokens })
  }
})

/** Undefined for a provider of the port `Generator`, or an unknown one. `token`: for models with hourly tokens. */
export const askedOf = (model: LanguageModel, texts: Texts, token: string): AskedModel | undefined => {
  const { fields, name, provider } = model
  const apiKey = apiKeyOf(model)
  const temperature = fields.temperature === undefined ? {} : { temperature: fields.temperature }
  switch (provider) {
    case "azure":
      return {
        url: text(fields.url, ""),
        headers: { ...json, "api-key": apiKey },
        body: { messages: chat(texts), ...temperature }
      }
    case "cloudflare":
      return {
        url: `https://api.cloudflare.com/client/v4/accounts/${text(fields.account_id, "")}/ai/run/${name}`,
        headers: bearer(apiKey),
        body: { messages: chat(texts) }
      }
    case "google": {
      const base = text(fields.api_url, "https://generativelanguage.googleapis.com").replace(/\/+$/, "")
      return {
        url: `${base}/${text(fields.api_version, "v1beta")}/models/${encodeURIComponent(name)}:generateContent`,
        headers: { ...json, "x-goog-api-key": apiKey },
        body: geminiBody(model, texts)
      }
    }
    case "gcp": {
      const region = text(fields.region, "us-central1")
      const host = region === "global" ? "aiplatform.googleapis.com" : `${region}-aiplatform.googleapis.com`
      const base = text(fields.api_url, `https://${host}`).replace(/\/+$/, "")
      const place = `projects/${text(fields.project_id, "")}/locations/${region}/publishers/google`
      return {
        url: `${base}/v1/${place}/models/${encodeURIComponent(name)}:generateContent`,
        headers: bearer(token),
        body: geminiBody(model, texts)
      }
    }
    default:
      return undefined
  }
}

const at = (value: unknown, ...path: ReadonlyArray<string | number>): unknown =>
  path.reduce<unknown>(
    (under, name) =>
      typeof under === "object" && under !== null
        ? (Object.getOwnPropertyDescriptor(under, name)?.value as unknown)
        : undefined,
    value
  )
/** Undefined if the answer is not in this provider's format. */
export const textIn = ({ provider }: LanguageModel, answer: unknown): string | undefined => {
  const found =
    provider === "google" || provider === "gcp"
      ? at(answer, "candidates", 0, "content", "parts", 0, "text")
      : provider === "cloudflare"
        ? at(answer, "result", "response")
        : at(answer, "choices", 0, "message", "content")
  // Cloudflare returns an object if the model's text was one.
  return typeof found === "string"
    ? found
    : typeof found === "object" && found !== null
      ? JSON.stringify(found)
      : undefined
}
