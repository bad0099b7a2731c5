/** Conversation models in wire format, and how each is addressed through the port. Pure. */
import { apiKeyOf, type LanguageModel, type ModelShape, textField } from "../language-models/model.ts"
import {
  accountId,
  apiKey,
  isText,
  isUrl,
  isWhole,
  missing,
  optionalApiKey,
  property,
  systemPrompt,
  temperature,
  url
} from "../language-models/properties.ts"
import type { GeneratorModel } from "../ports/generator/generator.ts"

/** This program's own model, which searches may name without storing one. */
export const EXTRACTIVE = "dowser/extractive"
const TTL_MAX_S = 10 * 366 * 86_400
const COLLECTION_MAX = 255
export const TTL_S = 86_400

export const conversationModelShape: ModelShape = {
  providers: new Map([
    [
      "openai",
      [
        apiKey,
        url("openai_url"),
        property("openai_path", (path) => /^\/?[\w./~-]{1,200}$/.test(String(path)), "must be a path."),
        temperature
      ]
    ],
    ["azure", [apiKey, missing("url", isUrl), temperature]],
    ["cloudflare", [apiKey, accountId]],
    ["vllm", [missing("vllm_url", isUrl), optionalApiKey, temperature]],
    ["google", [apiKey, url("api_url"), temperature]],
    ["anthropic", [apiKey, url("url"), temperature]],
    ["ollama", [missing("url", isUrl), optionalApiKey, temperature]],
    ["dowser", []]
  ]),
  common: [
    {
      ...property("history_collection", isText(COLLECTION_MAX), "is missing or is not a string."),
      isRequired: true
    },
    systemPrompt,
    property("ttl", isWhole(0, TTL_MAX_S), "is not a positive integer.")
  ],
  defaults: { ttl: TTL_S },
  own: EXTRACTIVE,
  addresses: ["account_id", "api_url", "openai_path", "openai_url", "url", "vllm_url"]
}

const CHAT = "/chat/completions"
/** Several providers offer the same interface at other addresses, with other headers. */
export const generatorOf = (model: LanguageModel): GeneratorModel => {
  const { name, provider } = model
  const key = apiKeyOf(model)
  const own = { model: name, ...(key === "" ? {} : { api_key: key }) }
  const field = (property: string) => textField(model, property)
  switch (provider) {
    case "anthropic":
    case "ollama":
      return { ...own, kind: provider, url: field("url") }
    case "azure":
      return { ...own, kind: "openai", url: field("url"), path: "", keyHeader: "api-key" }
    case "cloudflare": {
      const account = `https://api.cloudflare.com/client/v4/accounts/${field("account_id") ?? ""}/ai`
      return { ...own, kind: "openai", url: account }
    }
    case "google": {
      const base = field("api_url") ?? "https://generativelanguage.googleapis.com"
      return { ...own, kind: "openai", url: base, path: `/v1beta/openai${CHAT}` }
    }
    case "vllm":
      return { ...own, kind: "openai", url: field("vllm_url") }
    default: {
      const path = field("openai_path")
      const base = field("openai_url") ?? (path === undefined ? undefined : "https://api.openai.com")
      return {
        ...own,
        kind: "openai",
        url: base,
        ...(path === undefined ? {} : { path: path.startsWith("/") ? path : `/${path}` })
      }
    }
  }
}
