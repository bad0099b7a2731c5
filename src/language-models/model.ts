/**
 * Models of organizations in the API's form: what a body must contain, which parts are secret, and what an answer
 * shows. Everything specific to one kind is in its shape. Pure.
 */
import { fail, invalid, ok, type Result } from "@dowser/engine-sdk"
import { maskSecret } from "@dowser/engine-sdk/schema"
import { isWhole, type Property } from "./properties.ts"

/** The part that anybody who can read the row may see. */
type ModelFields = Readonly<Record<string, string | number | ReadonlyArray<string>>>
export interface LanguageModel {
  readonly id: string
  /** The namespace of the model's name. */ readonly provider: string
  /** The name without its namespace. */ readonly name: string
  readonly fields: ModelFields
  /** Secrets by property name; an object as its JSON text. */ readonly secrets: ReadonlyMap<string, string>
}
export interface ModelShape {
  /** By namespace. */ readonly providers: ReadonlyMap<string, ReadonlyArray<Property>>
  /** Properties common to all providers. */ readonly common: ReadonlyArray<Property>
  /** Defaults for fields that a body omits. */ readonly defaults?: ModelFields
  /** The namespace that needs no credential; the only one of that kind is `dowser`. */ readonly own: string
  /** Properties that determine where a credential is sent. */ readonly addresses: ReadonlyArray<string>
  /** Mistakes that involve several properties: a message and the property. */
  readonly refused?: (model: LanguageModel) => readonly [message: string, property: string] | undefined
}

type Body = Readonly<Record<string, unknown>>
const ID = /^[\p{L}\p{N}_.:-]{1,120}$/u
const NAME_MAX = 200
const MAX_BYTES_MAX = 1_000_000
const wrong = (message: string, field: string): Result<never> => fail(invalid(message, field))

export const apiKeyOf = ({ secrets }: LanguageModel): string => secrets.get("api_key") ?? ""
export const textField = ({ fields }: LanguageModel, name: string): string | undefined => {
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined
  return typeof value === "string" ? value : undefined
}

/** The model of a body, or its first mistake. `id` applies if the body names none. */
export const readModel = (shape: ModelShape, body: Body, id: string): Result<LanguageModel> => {
  const own = new Map(Object.entries(body))
  const given = own.get("id") ?? id
  if (typeof given !== "string" || !ID.test(given))
    return wrong("Property `id` must be 1 to 120 letters, digits, `_`, `-`, `.` or `:`.", "id")
  const named = own.get("model_name")
  if (typeof named !== "string" || named.length > NAME_MAX)
    return wrong("Property `model_name` is not provided or not a string.", "model_name")
  if (!isWhole(1, MAX_BYTES_MAX)(own.get("max_bytes")))
    return wrong("Property `max_bytes` is not provided or not a positive integer.", "max_bytes")
  const slash = named.indexOf("/")
  const provider = named.slice(0, Math.max(0, slash)),
    name = named.slice(slash + 1)
  const properties = shape.providers.get(provider)
  if (properties === undefined)
    return wrong(`Model namespace \`${provider.slice(0, 80)}\` is not supported.`, "model_name")
  if (name === "" || (provider === "dowser" && named !== shape.own))
    return wrong("Model name is not valid.", "model_name")
  const fields: Record<string, ModelFields[string]> = {
    ...shape.defaults,
    model_name: named,
    max_bytes: own.get("max_bytes") as number
  }
  const secrets = new Map<string, string>()
  for (const { check, isRequired, isSecret, name: property, message } of [...properties, ...shape.common]) {
    const value = own.get(property)
    if (value === undefined || value === null) {
      if (isRequired === true) return wrong(message, property)
      continue
    }
    if (!check(value)) return wrong(message, property)
    if (isSecret === true) secrets.set(property, typeof value === "string" ? value : JSON.stringify(value))
    else fields[property] = value as ModelFields[string]
  }
  const model = { id: given, provider, name, fields, secrets }
  const refused = shape.refused?.(model)
  return refused === undefined ? ok(model) : wrong(...refused)
}

const isJson = (secret: string): boolean => secret.startsWith("{")
/**
 * A secret as answers show it, without anything that grants access. In an object, properties named like keys are
 * secret.
 */
const shownSecret = (secret: string, isObject: boolean): unknown =>
  isObject && isJson(secret)
    ? Object.fromEntries(
        Object.entries(JSON.parse(secret) as Readonly<Record<string, string>>).map(([name, value]) => [
          name,
          name.includes("key") ? maskSecret(value) : value
        ])
      )
    : maskSecret(secret)
/** Secrets that are JSON objects, not strings. */
const OBJECTS: ReadonlySet<string> = new Set(["service_account"])
const openSecrets = ({ secrets }: LanguageModel): Body =>
  Object.fromEntries(
    [...secrets].map(([name, text]) => [name, OBJECTS.has(name) ? (JSON.parse(text) as unknown) : text])
  )

export const shownModel = ({ fields, id, secrets }: LanguageModel): Body => ({
  id,
  ...fields,
  ...Object.fromEntries([...secrets].map(([name, text]) => [name, shownSecret(text, OBJECTS.has(name))]))
})

/** The address that a credential is sent to: if it changes, the credential must be given again. */
const addressOf = ({ addresses }: ModelShape, { fields, provider }: LanguageModel): string =>
  JSON.stringify([provider, ...addresses.map((name) => (Object.hasOwn(fields, name) ? fields[name] : ""))])
/** Merges a body into a stored model: omitted fields stay, and so does a secret that is sent back as it was shown. */
export const mergedModel = (shape: ModelShape, stored: LanguageModel, body: Body): Result<LanguageModel> => {
  const shown = new Map(Object.entries(shownModel(stored)))
  const isShown = (name: string, value: unknown) =>
    stored.secrets.has(name) && JSON.stringify(value) === JSON.stringify(shown.get(name))
  const given = Object.entries(body).filter(([name, value]) => !isShown(name, value))
  const before = { id: stored.id, ...stored.fields, ...openSecrets(stored) }
  const merged = readModel(shape, { ...before, ...Object.fromEntries(given) }, stored.id)
  if (!merged.ok || addressOf(shape, merged.value) === addressOf(shape, stored)) return merged
  const names = new Set(given.map(([name]) => name))
  const kept = [...merged.value.secrets].find(([name, text]) => !names.has(name) && stored.secrets.get(name) === text)
  return kept === undefined
    ? merged
    : wrong(`Property \`${kept[0]}\` must be given again when the address of the model changes.`, kept[0])
}

/** Secrets as one text: a single `api_key` unchanged, others as JSON after a prefix that no key has. */
export const sealedTextOf = ({ secrets }: LanguageModel): string | undefined => {
  if (secrets.size === 0) return undefined
  const key = secrets.get("api_key")
  return key !== undefined && secrets.size === 1 ? key : `\n${JSON.stringify([...secrets])}`
}
/** Restores the body from which a row was created. */
export const storedBody = (value: unknown, secrets: string | undefined): Body => {
  const fields = value as Body
  if (secrets === undefined) return fields
  if (!secrets.startsWith("\n")) return { ...fields, api_key: secrets }
  const named = JSON.parse(secrets) as ReadonlyArray<readonly [string, string]>
  return { ...fields, ...openSecrets({ id: "", provider: "", name: "", fields: {}, secrets: new Map(named) }) }
}
