/**
 * NL search models as the wire spells them (engine contract 15.1): what a body must hold, what of it is a secret, what
 * an answer shows. Pure.
 */
import { fail, invalid, ok, type Result } from "@dowser/engine-sdk"
import { maskSecret } from "@dowser/engine-sdk/schema"

type Provider = "openai" | "azure" | "cloudflare" | "vllm" | "google" | "dowser"
/** What may be read by everybody who reads the row. */
type ModelFields = Readonly<Record<string, string | number | ReadonlyArray<string>>>
export interface NlModel {
  readonly id: string
  readonly provider: Provider
  /** Without its namespace. */ readonly name: string
  readonly fields: ModelFields
  /** "" where it needs none. */ readonly apiKey: string
}

type Body = Readonly<Record<string, unknown>>
const SECRET = "api_key"
const RULES = "dowser/rules"

const ID = /^[\p{L}\p{N}_.:-]{1,120}$/u
const TEXT_MAX = 2_048
const KEY = /^[\x21-\x7e]{1,4096}$/
const PROMPT_MAX = 8_000
const MAX_BYTES_MAX = 1_000_000
const STOPS_MAX = 8

type Check = (value: unknown) => boolean
const isText =
  (max: number): Check =>
  (value) =>
    typeof value === "string" && value !== "" && value.length <= max
const isNumber =
  (from: number, to: number): Check =>
  (value) =>
    typeof value === "number" && value >= from && value <= to
const isWhole =
  (from: number, to: number): Check =>
  (value) =>
    Number.isInteger(value) && isNumber(from, to)(value)
const isKey: Check = (value) => typeof value === "string" && KEY.test(value)
const isUrl: Check = (value) =>
  typeof value === "string" && value.length <= TEXT_MAX && /^https?:\/\//i.test(value) && URL.canParse(value)

interface Property {
  readonly name: string
  readonly check: Check
  readonly says: string
  readonly isRequired?: boolean
}
const property = (name: string, check: Check, says: string): Property => ({
  name,
  check,
  says: `Property \`${name}\` ${says}`
})
const missing = (name: string, check: Check): Property => ({
  ...property(name, check, "is missing or is not a non-empty string."),
  isRequired: true
})
const temperature = property("temperature", isNumber(0, 2), "must be a number between 0 and 2.")
const url = (name: string) => property(name, isUrl, "must be an http or https address.")
const optionalKey = property(SECRET, isKey, "must be printable ASCII without spaces.")

const COMMON: ReadonlyArray<Property> = [
  property("system_prompt", isText(PROMPT_MAX), "must be a non-empty string of at most 8,000 characters.")
]
const OF_PROVIDER: ReadonlyMap<string, ReadonlyArray<Property>> = new Map([
  ["openai", [missing(SECRET, isKey), temperature, url("api_url")]],
  ["azure", [missing(SECRET, isKey), { ...missing("url", isUrl) }, temperature]],
  [
    "cloudflare",
    [missing(SECRET, isKey), missing("account_id", (value) => /^[A-Za-z0-9_-]{1,100}$/.test(String(value)))]
  ],
  ["vllm", [missing("api_url", isUrl), optionalKey, temperature]],
  [
    "google",
    [
      missing(SECRET, isKey),
      temperature,
      property("top_p", isNumber(0, 1), "must be a number between 0 and 1."),
      property("top_k", isWhole(0, 1_000_000), "must be a non-negative integer."),
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
])

const wrong = (message: string, field: string): Result<never> => fail(invalid(message, field))

/** The model of a body, or the first thing that is wrong with it. `id`: of a body that names none. */
export const readModel = (body: Body, id: string): Result<NlModel> => {
  const own = new Map(Object.entries(body))
  const given = own.get("id") ?? id
  if (typeof given !== "string" || !ID.test(given))
    return wrong("Property `id` must be 1 to 120 letters, digits, `_`, `-`, `.` or `:`.", "id")
  const named = own.get("model_name")
  if (typeof named !== "string" || named.length > 200)
    return wrong("Property `model_name` is not provided or not a string.", "model_name")
  if (!isWhole(1, MAX_BYTES_MAX)(own.get("max_bytes")))
    return wrong("Property `max_bytes` is not provided or not a positive integer.", "max_bytes")
  const slash = named.indexOf("/")
  const provider = named.slice(0, Math.max(0, slash)),
    name = named.slice(slash + 1)
  const properties = OF_PROVIDER.get(provider)
  if (properties === undefined || name === "" || (provider === "dowser" && named !== RULES))
    return wrong(
      properties === undefined
        ? `Model namespace \`${provider.slice(0, 80)}\` is not supported.`
        : "Model name is not valid.",
      "model_name"
    )
  const fields: Record<string, ModelFields[string]> = { model_name: named, max_bytes: own.get("max_bytes") as number }
  let apiKey = ""
  for (const { check, isRequired, name: property, says } of [...properties, ...COMMON]) {
    const value = own.get(property)
    if (value === undefined || value === null) {
      if (isRequired === true) return wrong(says, property)
      continue
    }
    if (!check(value)) return wrong(says, property)
    if (property === SECRET) apiKey = value as string
    else fields[property] = value as ModelFields[string]
  }
  if (fields.temperature !== undefined && provider === "openai" && /^(?:o\d|gpt-5)/i.test(name))
    return wrong("Property `temperature` is not supported by this model.", "temperature")
  return ok({ id: given, provider: provider as Provider, name, fields, apiKey })
}

/** Where a credential is sent to: where it changes, the credential is given anew. */
const addressOf = ({ account_id = "", api_url = "", url = "" }: ModelFields): string =>
  JSON.stringify([account_id, api_url, url])
/** A body over a stored model: what it does not name stays, and so does a secret that is sent back as it was shown. */
export const mergedModel = (stored: NlModel, body: Body): Result<NlModel> => {
  const isSame = stored.apiKey !== "" && body.api_key === maskSecret(stored.apiKey)
  const { api_key: _, ...others } = body
  const before = { id: stored.id, ...stored.fields, ...(stored.apiKey === "" ? {} : { [SECRET]: stored.apiKey }) }
  const merged = readModel({ ...before, ...(isSame ? others : body) }, stored.id)
  if (!merged.ok) return merged
  const { apiKey, fields, provider } = merged.value
  const isElsewhere = provider !== stored.provider || addressOf(fields) !== addressOf(stored.fields)
  return isElsewhere && apiKey !== "" && apiKey === stored.apiKey && (isSame || body.api_key === undefined)
    ? wrong("Property `api_key` must be given again when the address of the model changes.", SECRET)
    : merged
}

/** As answers show it: without what opens anything. */
export const shownModel = ({ apiKey, fields, id }: NlModel): Readonly<Record<string, unknown>> => ({
  id,
  ...fields,
  ...(apiKey === "" ? {} : { [SECRET]: maskSecret(apiKey) })
})
