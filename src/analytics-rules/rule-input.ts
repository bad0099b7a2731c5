/**
 * Validates a rule (`docs/contract/events.md#analytics-rules`). Pure; every wrong field is named, with the reference
 * engine's message if it has one.
 */
import { invalidFields, type Issue, issuesIn } from "../http/checks.ts"
import type { InputInvalid } from "../http/errors.ts"
import {
  LIMIT_MAX,
  META_FIELDS,
  NAME_CHARACTERS_MAX,
  type Rule,
  RULE_TYPES,
  type RuleParams,
  type RuleType,
  WEIGHT_MAX
} from "./schema.ts"

type Fields = Readonly<Record<string, unknown>>
const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)
const isText = (value: unknown): value is string =>
  typeof value === "string" && value !== "" && !value.includes("\u0000") && value.isWellFormed()

/** Our own `add_to_cart` and `purchase` count like `conversion`; `view` is a `visit`. */
const COUNTED_EVENTS = ["click", "conversion", "visit", "custom", "view", "add_to_cart", "purchase"]
const EVENT_TYPES: Record<RuleType, ReadonlyArray<string>> = {
  popular_queries: ["search"],
  nohits_queries: ["search"],
  counter: COUNTED_EVENTS,
  log: ["search", ...COUNTED_EVENTS]
}

export interface RuleTargets {
  readonly hasCollection: (name: string) => boolean
  /** The type of a field of the collection; undefined if the field does not exist. */ readonly fieldType: (
    collection: string,
    field: string
  ) => string | undefined
}

type Issues = ReadonlyArray<Issue>
type Checked = { readonly issues: Issues; readonly params: RuleParams }
const isPositive = (value: unknown): value is number =>
  typeof value === "number" && Number.isInteger(value) && value > 0

const queryParams = (params: Fields, known: RuleTargets): Checked => {
  const {
    capture_search_requests = true,
    destination_collection,
    expand_query = false,
    limit,
    meta_fields = []
  } = params
  const issues = issuesIn([
    [
      "params.destination_collection",
      !isText(destination_collection)
        ? "Destination collection is required"
        : known.hasCollection(destination_collection)
          ? undefined
          : "Destination collection does not exist"
    ],
    [
      "params.limit",
      !isPositive(limit)
        ? "Limit should be a number greater than 0"
        : limit > LIMIT_MAX
          ? `At most ${LIMIT_MAX}`
          : undefined
    ],
    ["params.capture_search_requests", typeof capture_search_requests === "boolean" ? undefined : "true or false"],
    ["params.expand_query", typeof expand_query === "boolean" ? undefined : "true or false"],
    [
      "params.meta_fields",
      Array.isArray(meta_fields) &&
      meta_fields.every((field) => (META_FIELDS as ReadonlyArray<unknown>).includes(field))
        ? undefined
        : `An array of ${META_FIELDS.join(", ")}`
    ]
  ])
  return {
    issues,
    params: { destination_collection, limit, capture_search_requests, expand_query, meta_fields } as RuleParams
  }
}
const counterParams = ({ counter_field, weight }: Fields, collection: string, known: RuleTargets): Checked => {
  const type = isText(counter_field) ? known.fieldType(collection, counter_field) : undefined
  const issues = issuesIn([
    [
      "params.counter_field",
      !isText(counter_field)
        ? "Counter field is required when creating a counter type rule"
        : counter_field === "id" ||
            counter_field.includes(".") ||
            (type !== undefined && !["int32", "int64", "float"].includes(type))
          ? "A field of numbers at the top of the document"
          : undefined
    ],
    [
      "params.weight",
      !isPositive(weight)
        ? "Weight should be a number greater than 0"
        : weight > WEIGHT_MAX
          ? `At most ${WEIGHT_MAX}`
          : undefined
    ]
  ])
  return { issues, params: { counter_field, weight } as RuleParams }
}
const PARAMS: Record<RuleType, ReadonlyArray<string>> = {
  popular_queries: ["destination_collection", "limit", "capture_search_requests", "meta_fields", "expand_query"],
  nohits_queries: ["destination_collection", "limit", "capture_search_requests", "meta_fields", "expand_query"],
  counter: ["counter_field", "weight"],
  log: []
}

const combination = "Event type or type is invalid (or) combination of both is invalid"

/** The fields of a rule from a body; omitted fields keep their values. */
interface Asked {
  readonly body: Fields
  readonly collection: unknown
  readonly event_type: unknown
  readonly name: unknown
  readonly rule_tag: unknown
  readonly type: unknown
  readonly kind: RuleType | undefined
  readonly given: unknown
  readonly merged: Fields
}
const askedOf = (body: Fields, existing: Rule | undefined): Asked => {
  const {
    collection = existing?.collection,
    event_type = existing?.event_type,
    name,
    rule_tag = existing?.rule_tag,
    type = existing?.type
  } = body
  const given = body.params ?? (existing === undefined ? {} : undefined)
  return {
    body,
    collection,
    event_type,
    name,
    rule_tag,
    type,
    kind: (RULE_TYPES as ReadonlyArray<unknown>).includes(type) ? (type as RuleType) : undefined,
    given,
    merged: { ...existing?.params, ...(isObject(given) ? given : {}) }
  }
}

/** Problems of single fields, covering every field of the body. */
const fieldIssues = (
  { body, collection, event_type, given, kind, merged, name, rule_tag, type }: Asked,
  known: RuleTargets,
  existing: Rule | undefined
) =>
  issuesIn([
    ...Object.keys(body)
      .filter((field) => !FIELDS.includes(field))
      .map((field) => [field.slice(0, 100), "Not a field of a rule"] as const),
    [
      "name",
      !isText(name)
        ? "Name is required when creating an analytics rule"
        : name.length > NAME_CHARACTERS_MAX
          ? `At most ${NAME_CHARACTERS_MAX} characters`
          : undefined
    ],
    [
      "type",
      !isText(type)
        ? "Type is required when creating an analytics rule"
        : existing !== undefined && type !== existing.type
          ? "Rule type cannot be changed"
          : kind === undefined
            ? combination
            : undefined
    ],
    [
      "collection",
      !isText(collection)
        ? "Collection is required when creating an analytics rule"
        : existing !== undefined && collection !== existing.collection
          ? "Rule collection cannot be changed"
          : known.hasCollection(collection)
            ? undefined
            : `Collection ${collection.slice(0, 200)} does not exist`
    ],
    [
      "event_type",
      !isText(event_type)
        ? "Event type is required when creating an analytics rule"
        : existing !== undefined && event_type !== existing.event_type
          ? "Rule event type cannot be changed"
          : kind === undefined || EVENT_TYPES[kind].includes(event_type)
            ? undefined
            : combination
    ],
    ["rule_tag", rule_tag === undefined || isText(rule_tag) ? undefined : "A text"],
    ["params", given === undefined || isObject(given) ? undefined : "An object"],
    ...(kind === undefined
      ? []
      : Object.keys(merged)
          .filter((param) => !PARAMS[kind].includes(param))
          .map((param) => [`params.${param.slice(0, 100)}`, `Not a parameter of a rule of type ${kind}`] as const))
  ])

/**
 * A rule, or everything that is wrong with the body. `existing` is the rule with that name: only its tag and
 * parameters may change, and omitted ones stay.
 */
export const ruleOf = (body: unknown, known: RuleTargets, existing?: Rule): Rule | InputInvalid => {
  if (!isObject(body)) return invalidFields([{ path: "body", message: "A rule is an object" }])
  const asked = askedOf(body, existing)
  const { collection, event_type, given, kind, merged, name, rule_tag } = asked
  const { issues, params } =
    kind === "counter"
      ? counterParams(merged, String(collection), known)
      : kind === undefined || kind === "log"
        ? { issues: [], params: {} }
        : queryParams(merged, known)
  const all = [...fieldIssues(asked, known, existing), ...(isObject(given) || given === undefined ? issues : [])].slice(
    0,
    ISSUES_MAX
  )
  return all.length > 0 || kind === undefined
    ? invalidFields(all)
    : {
        name: name as string,
        type: kind,
        collection: collection as string,
        event_type: event_type as string,
        ...(rule_tag === undefined ? {} : { rule_tag: rule_tag as string }),
        params: params as RuleParams
      }
}
const FIELDS = ["name", "type", "collection", "event_type", "rule_tag", "params"]
/** Limit of problems in one response, as for bodies that a schema decodes. */
const ISSUES_MAX = 50
