/**
 * Plans of parameters that were compiled before: a front end sends the same parameters with every keystroke and only the
 * words differ. What a template holds must follow from schema and parameters alone; anything that asks for resources,
 * other collections or the clock is compiled each time.
 */
import type { CollectionSchema } from "../schema.ts"
import type { Parameters } from "./parameters.ts"

/** Of all collections together; one is some kilobytes. */
const TEMPLATES_MAX = 1_000
const NEVER = ["stopwords", "synonym_sets", "vector_query", "curation_tags", "voice_query"]
/** Where joins may stand, which look at other collections. */
const EXPRESSIONS = ["filter_by", "sort_by", "include_fields", "exclude_fields", "facet_by", "facet_query", "group_by", "query_by"]

/** undefined where the plan depends on more than schema, limits and parameters. The key leaves the query out. O(parameters). */
export const templateKey = (schema: CollectionSchema, parameters: Parameters, limits: object): string | undefined => {
  const number = numberOf(schema)
  if (number === undefined || (schema.curation_sets.length > 0 && parameters.enable_curations === "true")) return undefined
  for (const name of NEVER) if (parameters[name] !== undefined) return undefined
  for (const name of EXPRESSIONS) if (parameters[name]?.includes("$") === true) return undefined
  if (parameters.sort_by?.includes("_rand") === true) return undefined
  let key = `${number} ${limitsNumberOf(limits)}`
  // With lengths, so that no value can be taken for another parameter.
  for (const name in parameters) if (name !== "q") key += `\n${name.length} ${parameters[name].length} ${name}${parameters[name]}`
  return key
}

/** In two halves: what is used moves to the younger one, and when that is full the older is forgotten. */
export class TemplateCache<Template> {
  private young = new Map<string, Template>()
  private old = new Map<string, Template>()
  get(key: string): Template | undefined {
    const known = this.young.get(key)
    if (known !== undefined) return known
    const template = this.old.get(key)
    if (template !== undefined) this.put(key, template)
    return template
  }
  put(key: string, template: Template): void {
    if (this.young.size >= TEMPLATES_MAX / 2) { this.old = this.young; this.young = new Map() }
    this.young.set(key, template)
  }
}

/** A schema that changes becomes another object, and so another number. */
const numbers = new WeakMap<CollectionSchema, number | undefined>()
let schemas = 0
const numberOf = (schema: CollectionSchema): number | undefined => {
  if (numbers.has(schema)) return numbers.get(schema)
  const isAlone = schema.synonym_sets.length === 0 && schema.fields.every(({ stem_dictionary }) => stem_dictionary === "")
  const number = isAlone ? ++schemas : undefined
  numbers.set(schema, number)
  return number
}
/** Other limits may refuse what is in a template. */
const limitsNumbers = new WeakMap<object, number>()
let limitsSeen = 0
const limitsNumberOf = (limits: object): number => {
  let number = limitsNumbers.get(limits)
  if (number === undefined) limitsNumbers.set(limits, number = ++limitsSeen)
  return number
}
