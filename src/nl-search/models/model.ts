/**
 * NL search models as the API shows them (`docs/contract/models.md#nl-search-models`): what each provider needs and
 * may have. Pure.
 */
import { isObject } from "../../http/json-fields.ts"
import { type LanguageModel, type ModelShape, textField } from "../../language-models/model.ts"
import {
  accountId,
  apiKey,
  isKey,
  isNumber,
  isText,
  isUrl,
  isWhole,
  missing,
  optionalApiKey,
  property,
  secret,
  systemPrompt,
  temperature,
  url
} from "../../language-models/properties.ts"

const STOPS_MAX = 8
const topP = property("top_p", isNumber(0, 1), "must be a number between 0 and 1.")
const topK = property("top_k", isWhole(0, 1_000_000), "must be a non-negative integer.")

const SERVICE_ACCOUNT_MAX = 16_000
const isServiceAccount = (value: unknown): boolean => {
  if (!isObject(value) || JSON.stringify(value).length > SERVICE_ACCOUNT_MAX) return false
  const { client_email, private_key, token_uri } = value
  return isText(320)(client_email) && isText(8_192)(private_key) && (token_uri === undefined || isUrl(token_uri))
}
const gcpText = (name: string) => property(name, isText(2_048), "is missing or is not a non-empty string.")
const gcp = [
  missing("project_id", (value) => /^[a-z0-9:.-]{1,100}$/.test(String(value))),
  ...["access_token", "refresh_token", "client_secret"].map((name) =>
    secret(property(name, isKey, "is missing or is not a non-empty string."))
  ),
  gcpText("client_id"),
  secret(
    property(
      "service_account",
      isServiceAccount,
      "must be an object with `client_email` and `private_key`, both texts."
    )
  ),
  property("region", (value) => /^[a-z0-9-]{1,40}$/.test(String(value)), "must be a region such as `us-central1`."),
  temperature,
  topP,
  topK,
  property("max_output_tokens", isWhole(1, 1_000_000), "must be a positive integer."),
  url("api_url"),
  url("token_uri")
]
const GCP_TOKENS = ["access_token", "refresh_token", "client_id", "client_secret"]

const refused = (model: LanguageModel) => {
  const { fields, name, provider, secrets } = model
  if (fields.temperature !== undefined && provider === "openai" && /^(?:o\d|gpt-5)/i.test(name))
    return ["Property `temperature` is not supported by this model.", "temperature"] as const
  if (provider !== "gcp" || secrets.has("service_account")) return undefined
  const absent = GCP_TOKENS.find((one) => !secrets.has(one) && textField(model, one) === undefined)
  return absent === undefined
    ? undefined
    : ([`Property \`${absent}\` is missing or is not a non-empty string.`, absent] as const)
}

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
    ["gcp", gcp],
    ["dowser", []]
  ]),
  common: [systemPrompt],
  own: "dowser/rules",
  addresses: ["account_id", "api_url", "project_id", "region", "token_uri", "url"],
  refused
}
