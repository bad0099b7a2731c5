/**
 * Caches plans by their parameters: a front end sends the same parameters with every keystroke, and only the words
 * differ. A template may contain only what follows from schema and parameters; anything that depends on resources,
 * other collections or the clock is compiled each time.
 */
import type { CollectionSchema } from "../schema.ts"
import { INTEGER_PARAMETERS, PARAMETER_OWNERS, type Parameters } from "./parameters.ts"

/**
 * Bound over all collections. A plan takes a few kilobytes, and its parsed texts (filter trees, lists of fields) are
 * many times as large as the texts. A very long key belongs to a request that is unlikely to be sent with every
 * keystroke, and keys count towards the bound.
 */
export const TEMPLATE_BYTES_MAX = 16_000_000
const KEY_CHARACTERS_MAX = 2_000
const TEMPLATE_BYTES = 4_000,
  BYTES_A_KEY_CHARACTER = 40
const NEVER = ["stopwords", "synonym_sets", "vector_query", "curation_tags", "voice_query"]
/** Parameters from which a plan is compiled; others do not affect it and are not part of the key. */
const PLANNED: ReadonlySet<string> = new Set([
  ...Object.keys(PARAMETER_OWNERS).filter((name) => PARAMETER_OWNERS[name] === "compiler"),
  ...INTEGER_PARAMETERS
])
/** Parameters that may contain joins, which read other collections. */
const EXPRESSIONS = [
  "filter_by",
  "sort_by",
  "include_fields",
  "exclude_fields",
  "facet_by",
  "facet_query",
  "group_by",
  "query_by"
]

/** Omits the query; undefined if the plan depends on more than schema, limits and parameters. O(parameters). */
export const templateKey = (schema: CollectionSchema, parameters: Parameters, limits: object): string | undefined => {
  const number = numberOf(schema)
  if (number === undefined || (schema.curation_sets.length > 0 && parameters.enable_curations === "true"))
    return undefined
  for (const name of NEVER) if (parameters[name] !== undefined) return undefined
  for (const name of EXPRESSIONS) if (parameters[name]?.includes("$") === true) return undefined
  if (parameters.sort_by?.includes("_rand") === true) return undefined
  let key = `${number} ${limitsNumberOf(limits)}`
  // Lengths are included, so that no value can be mistaken for another parameter.
  for (const name in parameters)
    if (name !== "q" && PLANNED.has(name)) key += `\n${parameters[name].length} ${name} ${parameters[name]}`
  return key.length > KEY_CHARACTERS_MAX ? undefined : key
}

/**
 * Two generations: entries in use move to the younger one, and when that is full the older is dropped. Never more than
 * `TEMPLATE_BYTES_MAX`.
 */
export class TemplateCache<Template> {
  private young = new Map<string, Template>()
  private old = new Map<string, Template>()
  private youngBytes = 0
  private oldBytes = 0
  get bytes(): number {
    return this.youngBytes + this.oldBytes
  }
  get(key: string): Template | undefined {
    const known = this.young.get(key)
    if (known !== undefined) return known
    const template = this.old.get(key)
    if (template !== undefined) this.put(key, template)
    return template
  }
  put(key: string, template: Template): void {
    const bytes = TEMPLATE_BYTES + BYTES_A_KEY_CHARACTER * key.length
    if (this.youngBytes + bytes > TEMPLATE_BYTES_MAX / 2) {
      this.old = this.young
      this.oldBytes = this.youngBytes
      this.young = new Map()
      this.youngBytes = 0
    }
    if (!this.young.has(key)) this.youngBytes += bytes
    this.young.set(key, template)
  }
}

/** A changed schema is a new object and therefore gets a new number. */
const numbers = new WeakMap<CollectionSchema, number | undefined>()
let schemas = 0
const numberOf = (schema: CollectionSchema): number | undefined => {
  if (numbers.has(schema)) return numbers.get(schema)
  const isAlone =
    schema.synonym_sets.length === 0 && schema.fields.every(({ stem_dictionary }) => stem_dictionary === "")
  const number = isAlone ? ++schemas : undefined
  numbers.set(schema, number)
  return number
}
/** A plan that was compiled under some limits may be refused under others. */
const limitsNumbers = new WeakMap<object, number>()
let limitsSeen = 0
const limitsNumberOf = (limits: object): number => {
  let number = limitsNumbers.get(limits)
  if (number === undefined) limitsNumbers.set(limits, (number = ++limitsSeen))
  return number
}
