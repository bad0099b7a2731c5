/** Checks of models' properties, and their messages. Pure. */
const TEXT_MAX = 2_048
const KEY = /^[\x21-\x7e]{1,4096}$/
const PROMPT_MAX = 8_000

type Check = (value: unknown) => boolean
export const isText =
  (max: number): Check =>
  (value) =>
    typeof value === "string" && value !== "" && value.length <= max
export const isNumber =
  (from: number, to: number): Check =>
  (value) =>
    typeof value === "number" && value >= from && value <= to
export const isWhole =
  (from: number, to: number): Check =>
  (value) =>
    Number.isInteger(value) && isNumber(from, to)(value)
export const isKey: Check = (value) => typeof value === "string" && KEY.test(value)
export const isUrl: Check = (value) =>
  typeof value === "string" && value.length <= TEXT_MAX && /^https?:\/\//i.test(value) && URL.canParse(value)

export interface Property {
  readonly name: string
  readonly check: Check
  readonly message: string
  readonly isRequired?: boolean
  /** Stored sealed, and shown only by its first characters. */ readonly isSecret?: boolean
}
export const property = (name: string, check: Check, rule: string): Property => ({
  name,
  check,
  message: `Property \`${name}\` ${rule}`
})
export const missing = (name: string, check: Check): Property => ({
  ...property(name, check, "is missing or is not a non-empty string."),
  isRequired: true
})
export const secret = (own: Property): Property => ({ ...own, isSecret: true })

/** Properties that several providers have. */
export const apiKey = secret(missing("api_key", isKey))
export const optionalApiKey = secret(property("api_key", isKey, "must be printable ASCII without spaces."))
export const url = (name: string) => property(name, isUrl, "must be an http or https address.")
export const temperature = property("temperature", isNumber(0, 2), "must be a number between 0 and 2.")
export const accountId = missing("account_id", (value) => /^[A-Za-z0-9_-]{1,100}$/.test(String(value)))
export const systemPrompt = property(
  "system_prompt",
  isText(PROMPT_MAX),
  "must be a non-empty string of at most 8,000 characters."
)
