/**
 * A caller that may use and see some fields only: `a` brings `a.b`, `a.b` does not bring `a.c`. Names are resolved against
 * a schema that has nothing else, so that whatever a grammar looks up, today or later, a hidden field is one that does not
 * exist; what is shown is cut to the list. The tenant's own configuration (curations, rules, default sort) is not bound by it.
 */
import { fail, invalid, ok, type Result } from "../errors.ts"
import type { JoinInclude, Selection } from "../plan.ts"
import type { CollectionInfo, CollectionSchema, Field } from "../schema.ts"

export type FieldList = ReadonlyArray<string>

/** Whether a path is on the list, itself or by a parent. O(list). */
export const covers = (fields: FieldList, path: string): boolean => fields.some((name) => path === name || (path.length > name.length && path.startsWith(name) && path[name.length] === "."))

const views = new WeakMap<CollectionSchema, WeakMap<FieldList, CollectionSchema>>()

/** The schema with the fields of the list; one object for one list, as compiled plans are kept by it. O(fields × list) once. */
export const visibleSchema = (schema: CollectionSchema, fields: FieldList): CollectionSchema => {
  let own = views.get(schema)
  if (own === undefined) views.set(schema, own = new WeakMap())
  let view = own.get(fields)
  if (view === undefined) own.set(fields, view = { ...schema, fields: schema.fields.flatMap((field) => covers(fields, field.name) ? [field] : field.reference === "" ? [] : [unnamed(field)]) })
  return view
}
/** A hidden reference still relates two collections; no name finds a field of this type (`fieldNamed`). */
const unnamed = (field: Field): Field => ({ ...field, type: "auto", facet: false, sort: false })

export const visibleCollection = (collection: CollectionInfo, fields: FieldList | undefined): CollectionInfo =>
  fields === undefined ? collection : { ...collection, schema: visibleSchema(collection.schema, fields) }

/** What a selection shows of the fields on the list, of joined collections too; joins of which nothing is left go. O(names × list). */
export const limitSelection = (selection: Selection, fields: FieldList): Selection => ({ ...limited(selection.include, selection.exclude, fields), joins: limitJoins(selection.joins, fields) })

const NOTHING = { include: [], exclude: ["*"] } as const
const limited = (include: ReadonlyArray<string>, exclude: ReadonlyArray<string>, fields: FieldList): Pick<Selection, "include" | "exclude"> => {
  const shown = include.length === 0 ? fields : [...new Set(include.flatMap((pattern) => fields.flatMap((name) => common(pattern, name))))]
  // An empty list of includes would be everything.
  return shown.length === 0 ? NOTHING : { include: shown, exclude }
}
/** What a pattern of `include_fields` (a path with all below it, or a prefix with `*`) and a path of the list have in common. */
const common = (pattern: string, name: string): ReadonlyArray<string> => {
  const prefix = pattern.endsWith("*") ? pattern.slice(0, -1) : undefined
  if (prefix !== undefined) return name.startsWith(prefix) ? [name] : prefix.startsWith(`${name}.`) ? [pattern] : []
  return covers([name], pattern) ? [pattern] : covers([pattern], name) ? [name] : []
}
const limitJoins = (joins: ReadonlyArray<JoinInclude>, fields: FieldList): ReadonlyArray<JoinInclude> => joins.flatMap((join) => {
  const { exclude, include } = limited(join.fields, join.exclude ?? [], fields)
  const inner = limitJoins(join.joins, fields)
  const isEmpty = exclude === NOTHING.exclude && inner.length === 0 && join.relatedDocsCount === undefined
  return isEmpty ? [] : [{ ...join, fields: include, ...(exclude.length === 0 ? {} : { exclude }), joins: inner }]
})

/** 400 for a name outside the list; patterns are cut elsewhere. */
export const namesAllowed = (names: ReadonlyArray<string>, parameter: string, fields: FieldList | undefined): Result<undefined> => {
  const hidden = fields === undefined ? undefined : names.find((name) => !name.endsWith("*") && !covers(fields, name))
  return hidden === undefined ? ok(undefined) : fail(notAllowed(hidden, parameter))
}
export const notAllowed = (name: string, parameter: string) => invalid(`Parameter \`${parameter}\`: Could not find a field named \`${name}\`.`, parameter)
