/** What a rule may be (reference contract 17.1). Pure; the first field that is wrong is named, in the reference's words where it has some. */
import { type InputInvalid, inputInvalid } from "../wire/errors.ts"
import { LIMIT_MAX, META_FIELDS, type MetaField, NAME_CHARACTERS_MAX, type Rule, RULE_TYPES, type RuleParams, type RuleType, WEIGHT_MAX } from "./schema.ts"

type Fields = Readonly<Record<string, unknown>>
const isObject = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value)
const isText = (value: unknown): value is string => typeof value === "string" && value !== "" && !value.includes("\u0000") && value.isWellFormed()

/** Our own `add_to_cart` and `purchase` count like `conversion`; `view` is a `visit`. */
const COUNTED_EVENTS = ["click", "conversion", "visit", "custom", "view", "add_to_cart", "purchase"]
const EVENT_TYPES: Record<RuleType, ReadonlyArray<string>> = { popular_queries: ["search"], nohits_queries: ["search"], counter: COUNTED_EVENTS, log: ["search", ...COUNTED_EVENTS] }

export interface Known {
  readonly hasCollection: (name: string) => boolean
  /** Type of a field of the collection; undefined where there is none. */ readonly fieldType: (collection: string, field: string) => string | undefined
}

const queryParams = (params: Fields, known: Known): RuleParams | InputInvalid => {
  const { capture_search_requests = true, destination_collection, expand_query = false, limit, meta_fields = [] } = params
  if (!isText(destination_collection)) return inputInvalid("params.destination_collection", "Destination collection is required")
  if (!known.hasCollection(destination_collection)) return inputInvalid("params.destination_collection", "Destination collection does not exist")
  if (typeof limit !== "number" || !Number.isInteger(limit) || limit <= 0) return inputInvalid("params.limit", "Limit should be a number greater than 0")
  if (limit > LIMIT_MAX) return inputInvalid("params.limit", `At most ${LIMIT_MAX}`)
  if (typeof capture_search_requests !== "boolean") return inputInvalid("params.capture_search_requests", "true or false")
  if (typeof expand_query !== "boolean") return inputInvalid("params.expand_query", "true or false")
  if (!Array.isArray(meta_fields) || !meta_fields.every((field) => (META_FIELDS as ReadonlyArray<unknown>).includes(field))) return inputInvalid("params.meta_fields", `An array of ${META_FIELDS.join(", ")}`)
  return { destination_collection, limit, capture_search_requests, expand_query, meta_fields: META_FIELDS.filter((field) => (meta_fields as ReadonlyArray<MetaField>).includes(field)) }
}
const counterParams = ({ counter_field, weight }: Fields, collection: string, known: Known): RuleParams | InputInvalid => {
  if (!isText(counter_field)) return inputInvalid("params.counter_field", "Counter field is required when creating a counter type rule")
  const type = known.fieldType(collection, counter_field)
  if (counter_field === "id" || counter_field.includes(".") || (type !== undefined && !["int32", "int64", "float"].includes(type))) return inputInvalid("params.counter_field", "A field of numbers at the top of the document")
  if (typeof weight !== "number" || !Number.isInteger(weight) || weight <= 0) return inputInvalid("params.weight", "Weight should be a number greater than 0")
  if (weight > WEIGHT_MAX) return inputInvalid("params.weight", `At most ${WEIGHT_MAX}`)
  return { counter_field, weight }
}
const PARAMS: Record<RuleType, ReadonlyArray<string>> = {
  popular_queries: ["destination_collection", "limit", "capture_search_requests", "meta_fields", "expand_query"], nohits_queries: ["destination_collection", "limit", "capture_search_requests", "meta_fields", "expand_query"],
  counter: ["counter_field", "weight"], log: []
}

/** A rule, or why the body is none. `existing` is the rule of that name: only its tag and parameters may change, and what is left out stays. */
export const ruleOf = (body: unknown, known: Known, existing?: Rule): Rule | InputInvalid => {
  if (!isObject(body)) return inputInvalid("body", "A rule is an object")
  const unknown = Object.keys(body).find((name) => !["name", "type", "collection", "event_type", "rule_tag", "params"].includes(name))
  if (unknown !== undefined) return inputInvalid(unknown.slice(0, 100), "Not a field of a rule")
  const { collection = existing?.collection, event_type = existing?.event_type, name, rule_tag = existing?.rule_tag, type = existing?.type } = body
  if (!isText(name)) return inputInvalid("name", "Name is required when creating an analytics rule")
  if (name.length > NAME_CHARACTERS_MAX) return inputInvalid("name", `At most ${NAME_CHARACTERS_MAX} characters`)
  if (!isText(type)) return inputInvalid("type", "Type is required when creating an analytics rule")
  if (!isText(collection)) return inputInvalid("collection", "Collection is required when creating an analytics rule")
  if (!isText(event_type)) return inputInvalid("event_type", "Event type is required when creating an analytics rule")
  if (existing !== undefined && type !== existing.type) return inputInvalid("type", "Rule type cannot be changed")
  if (existing !== undefined && collection !== existing.collection) return inputInvalid("collection", "Rule collection cannot be changed")
  if (existing !== undefined && event_type !== existing.event_type) return inputInvalid("event_type", "Rule event type cannot be changed")
  if (!(RULE_TYPES as ReadonlyArray<string>).includes(type)) return inputInvalid("type", "Event type or type is invalid (or) combination of both is invalid")
  const kind = type as RuleType
  if (!EVENT_TYPES[kind].includes(event_type)) return inputInvalid("event_type", "Event type or type is invalid (or) combination of both is invalid")
  if (!known.hasCollection(collection)) return inputInvalid("collection", `Collection ${collection.slice(0, 200)} does not exist`)
  if (rule_tag !== undefined && !isText(rule_tag)) return inputInvalid("rule_tag", "A text")
  const given = body.params ?? (existing === undefined ? {} : undefined)
  if (given !== undefined && !isObject(given)) return inputInvalid("params", "An object")
  const merged = { ...existing?.params, ...given }
  const foreign = Object.keys(merged).find((param) => !PARAMS[kind].includes(param))
  if (foreign !== undefined) return inputInvalid(`params.${foreign.slice(0, 100)}`, `Not a parameter of a rule of type ${kind}`)
  const params = kind === "counter" ? counterParams(merged, collection, known) : kind === "log" ? {} : queryParams(merged, known)
  return "_tag" in params ? params as InputInvalid : { name, type: kind, collection, event_type, ...(rule_tag === undefined ? {} : { rule_tag }), params: params as RuleParams }
}
