/** NL search models as the wire spells them (engine contract 15.1): what each provider needs and may have. Pure. */
import type { LanguageModel, ModelShape } from "../../language-models/model.ts"
import {
  accountId,
  apiKey,
  isNumber,
  isText,
  isUrl,
  isWhole,
  missing,
  optionalApiKey,
  property,
  systemPrompt,
  temperature,
  url
} from "../../language-models/properties.ts"

const STOPS_MAX = 8
const topP = property("top_p", isNumber(0, 1), "must be a number between 0 and 1.")
const topK = property("top_k", isWhole(0, 1_000_000), "must be a non-negative integer.")

const refused = ({ fields, name, provider }: LanguageModel) =>
  fields.temperature !== undefined && provider === "openai" && /^(?:o\d|gpt-5)/i.test(name)
    ? (["Property `temperature` is not supported by this model.", "temperature"] as const)
    : undefined

export const nlModelShape: ModelShape = {
  providers: new Map([
    ["openai", [apiKey, temperature, url("api_url")]],
    ["azure", [apiKey, missing("url", isUrl), temperature]],
    ["cloudflare", [apiKey, accountId]],
    ["vllm", [missing("api_url", isUrl), optionalApiKey, temperature]],
    [
      "google",
      [
        apiKey,
        temperature,
        topP,
        topK,
        property(
          "stop_sequences",
          (value) => Array.isArray(value) && value.length <= STOPS_MAX && value.every(isText(100)),
          "must be an array of at most 8 strings."
        ),
        property(
          "api_version",
          (value) => /^v\d{1,2}[a-z0-9]{0,10}$/.test(String(value)),
          "must be a version such as `v1beta`."
        ),
        url("api_url")
      ]
    ],
    ["dowser", []]
  ]),
  common: [systemPrompt],
  own: "dowser/rules",
  addresses: ["account_id", "api_url", "url"],
  refused
}
