/**
 * Resolves `query_by` and its lists: expansion of objects and wildcards, types, weights and per-field settings
 * (`docs/contract/matching.md#record-score`).
 */
import { fail, invalid, notFound, ok, type Result } from "../errors.ts"
import type { QueryField } from "../plan.ts"
import type { CollectionSchema, Field } from "../schema.ts"
import { fieldNamed, searchableFields } from "./query-context.ts"
import { listParameter, type Parameters } from "./parameters.ts"
import { isInteger } from "./text-scanner.ts"

const WEIGHT_MAX = 15
export interface QueryFields {
  /** Heaviest first. */ readonly fields: ReadonlyArray<QueryField>
  /** The auto-embedding field named in `query_by`. */ readonly embedding: Field | undefined
  /** The fields that implicit highlighting shows: as named, with wildcards expanded and objects as a whole. */
  readonly highlighted: ReadonlyArray<string>
  /** Every name was unknown and validation is off. */ readonly allUnknown: boolean
}
interface Settings {
  readonly numTypos: ReadonlyArray<0 | 1 | 2>
  readonly prefix: ReadonlyArray<boolean>
  readonly infix: ReadonlyArray<QueryField["infix"]>
  readonly weights: ReadonlyArray<number>
}

const sizeError = (what: string, name: string): Result<never> =>
  fail(invalid(`Number of ${what} in \`${name}\` does not match number of \`query_by\` fields.`, name))
/** Checks the lists against the number of names; a separate step, because it precedes the lookup of fields. */
export const readFieldSettings = (parameters: Parameters, count: number): Result<Settings> => {
  const weights = listParameter(parameters, "query_by_weights").filter(isInteger).map(Number)
  if (
    parameters.query_by_weights !== undefined &&
    parameters.query_by_weights.trim() !== "" &&
    weights.length !== count
  )
    return sizeError("weights", "query_by_weights")
  const typos = listParameter(parameters, "num_typos")
    .filter((item) => /^\d+$/.test(item))
    .map((item) => Math.min(2, Number(item)) as 0 | 1 | 2)
  if (typos.length > 1 && typos.length !== count) return sizeError("values", "num_typos")
  const prefix =
    parameters.prefix === undefined ? [true] : listParameter(parameters, "prefix").map((item) => item === "true")
  if (prefix.length !== 1 && prefix.length !== count) return sizeError("prefix values", "prefix")
  const infix =
    parameters.infix === undefined
      ? ["off" as const]
      : listParameter(parameters, "infix").filter(
          (item): item is QueryField["infix"] => item === "off" || item === "always" || item === "fallback"
        )
  if (infix.length !== 1 && infix.length !== count) return sizeError("infix values", "infix")
  return ok({ weights, numTypos: typos.length === 0 ? [2] : typos, prefix, infix })
}
const at = <A>(list: ReadonlyArray<A>, index: number): A => (list.length === 1 ? list[0] : list[index])

const isString = (field: Field): boolean => field.type === "string" || field.type === "string[]"
/** Resolves names to fields; returns the first failure. O(names × fields). */
export const resolveQueryFields = (
  names: ReadonlyArray<string>,
  settings: Settings,
  schema: CollectionSchema,
  validate: boolean
): Result<QueryFields> => {
  const drafts: Array<{ field: string; weight: number; order: number; from: number }> = []
  const highlighted: string[] = []
  let embedding: Field | undefined
  let unknown = 0
  for (const [i, name] of names.entries()) {
    const expanded = expand(name, schema)
    if (!expanded.ok) {
      if (expanded.error.kind !== "NotFound" || validate) return expanded
      unknown++
      continue
    }
    for (const field of expanded.value.fields) {
      if (field.num_dim > 0) {
        if (embedding !== undefined)
          return fail(invalid("Only one embedding field is allowed in the query.", "query_by"))
        embedding = field
        continue
      }
      if (at(settings.infix, i) === "always" && !field.infix)
        return fail(
          invalid(
            `Could not find \`${field.name}\` in the infix index. Make sure to enable infix search by specifying \`infix: true\` in the schema.`,
            "infix"
          )
        )
      drafts.push({
        field: field.name,
        weight: settings.weights[i] ?? Math.max(0, WEIGHT_MAX - i),
        order: drafts.length,
        from: i
      })
    }
    highlighted.push(...expanded.value.highlighted)
  }
  weigh(drafts, settings.weights.length > 0)
  const fields = drafts.map((draft): QueryField => ({
    field: draft.field,
    weight: draft.weight,
    numTypos: at(settings.numTypos, draft.from),
    prefix: at(settings.prefix, draft.from),
    infix: at(settings.infix, draft.from)
  }))
  return ok({ fields, embedding, highlighted, allUnknown: names.length > 0 && unknown === names.length })
}
/** Sorts heaviest first; weights out of order or range are replaced by 15 and down, preserving ties. */
const weigh = (drafts: Array<{ weight: number; order: number }>, given: boolean): void => {
  if (!given) return
  const inOrder = drafts.every(
    (draft, i) => draft.weight <= WEIGHT_MAX && draft.weight >= 0 && (i === 0 || draft.weight <= drafts[i - 1].weight)
  )
  if (inOrder) return
  drafts.sort((a, b) => b.weight - a.weight || a.order - b.order)
  let previous = drafts[0]?.weight
  let weight = WEIGHT_MAX
  for (const draft of drafts) {
    if (draft.weight < previous) {
      weight = Math.max(0, weight - 1)
      previous = draft.weight
    }
    draft.weight = weight
  }
}
interface Expanded {
  readonly fields: ReadonlyArray<Field>
  readonly highlighted: ReadonlyArray<string>
}
const expand = (name: string, schema: CollectionSchema): Result<Expanded> => {
  if (name === "id") return fail(invalid("Cannot use `id` as a query by field.", "query_by"))
  if (name.endsWith("*")) {
    const fields = searchableFields(schema).filter(
      (field) => field.name.startsWith(name.slice(0, -1)) && isString(field) && field.index
    )
    return fields.length === 0
      ? fail(notFound(`No string or string array field found matching the pattern \`${name}\` in the schema.`))
      : ok({ fields, highlighted: fields.map((field) => field.name) })
  }
  const field = fieldNamed(schema, name)
  if (field === undefined) return fail(notFound(`Could not find a field named \`${name}\` in the schema.`))
  if (!field.index)
    return fail(invalid(`Field \`${name}\` is marked as a non-indexed field in the schema.`, "query_by"))
  if (field.type === "object" || field.type === "object[]") {
    return ok({
      fields: searchableFields(schema).filter(
        (child) => child.name.startsWith(`${name}.`) && isString(child) && child.index
      ),
      highlighted: [name]
    })
  }
  if (field.num_dim > 0) {
    return field.embed === undefined
      ? fail(
          invalid(
            `Vector field \`${name}\` is not an auto-embedding field, do not use \`query_by\` with it, use \`vector_query\` instead.`,
            "query_by"
          )
        )
      : ok({ fields: [field], highlighted: [] })
  }
  return isString(field)
    ? ok({ fields: [field], highlighted: [name] })
    : fail(invalid(`Field \`${name}\` should be a string or a string array.`, "query_by"))
}
