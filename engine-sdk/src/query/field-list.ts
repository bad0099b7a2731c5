/**
 * The fields that a caller may use and see: `a` includes `a.b`, but `a.b` does not include `a.c`. Names are resolved
 * against a schema with only these fields, so for every grammar, present or future, a hidden field does not exist;
 * results are cut to the list. The tenant's own configuration (curations, rules, default sort) is not bound by it.
 *
 * A plain list applies to every collection. Bounds (`field-bounds.ts`) come from `include_fields` and `exclude_fields`
 * of a scoped key: they apply to the searched collection and those that they join, and show nothing of others.
 */
import { fail, invalid, ok, type Result } from "../errors.ts"
import type { JoinInclude, Selection } from "../plan.ts"
import type { CollectionInfo, CollectionSchema, Field } from "../schema.ts"

export type FieldNames = ReadonlyArray<string>
export interface FieldBounds {
  /** Names, each with everything below it, and prefixes with `*`; undefined = everything. */ readonly include:
    | FieldNames
    | undefined
  /** In the same form; fields that are subtracted from the included ones. */ readonly exclude: FieldNames
  /** A further list that must also be met. */ readonly within: FieldNames | undefined
  /**
   * The list of a joined collection by the collection's own name. The same name gives the same object, because views of
   * schemas are cached by it.
   */
  readonly joined: (collection: string) => FieldBounds
}
export type FieldList = FieldNames | FieldBounds
const isBounds = (fields: FieldList): fields is FieldBounds => "joined" in fields

const isBelow = (path: string, name: string): boolean =>
  path.length > name.length && path.startsWith(name) && path[name.length] === "."
/** Whether a pattern includes a path and everything below it. */
const brings = (pattern: string, path: string): boolean =>
  pattern.endsWith("*") ? path.startsWith(pattern.slice(0, -1)) : path === pattern || isBelow(path, pattern)
const touches = (pattern: string, path: string): boolean => brings(pattern, path) || isBelow(pattern, path)

/** Whether the list covers a path and everything below it, directly or through a parent. O(list). */
export const covers = (fields: FieldList, path: string): boolean => {
  if (!isBounds(fields)) return fields.some((name) => path === name || isBelow(path, name))
  const { exclude, include, within } = fields
  // No name covers the entire document.
  return (
    path !== "" &&
    (include === undefined || include.some((pattern) => brings(pattern, path))) &&
    !exclude.some((pattern) => touches(pattern, path)) &&
    (within === undefined || covers(within, path))
  )
}
/** The list for a collection that is joined, by its own name. */
export const joinedFields = (fields: FieldList, collection: string): FieldList =>
  isBounds(fields) ? fields.joined(collection) : fields

const views = new WeakMap<CollectionSchema, WeakMap<FieldList, CollectionSchema>>()

/**
 * The schema with only the fields of the list; one object per list, because compiled plans are cached by it. O(fields ×
 * list) once.
 */
const visibleSchema = (schema: CollectionSchema, fields: FieldList): CollectionSchema => {
  let own = views.get(schema)
  if (own === undefined) views.set(schema, (own = new WeakMap()))
  let view = own.get(fields)
  if (view === undefined)
    own.set(
      fields,
      (view = {
        ...schema,
        fields: schema.fields.flatMap((field) =>
          covers(fields, field.name) ? [field] : field.reference === "" ? [] : [unnamed(field)]
        )
      })
    )
  return view
}
/** A hidden reference still relates two collections; no name resolves to a field of this type (`fieldNamed`). */
const unnamed = (field: Field): Field => ({ ...field, type: "auto", facet: false, sort: false })

export const visibleCollection = (collection: CollectionInfo, fields: FieldList | undefined): CollectionInfo =>
  fields === undefined ? collection : { ...collection, schema: visibleSchema(collection.schema, fields) }

/**
 * Limits a selection to the fields of the list, including joined collections; joins with nothing left are dropped.
 * O(names × list).
 */
export const limitSelection = (selection: Selection, fields: FieldList): Selection => ({
  ...limited(selection.include, selection.exclude, fields),
  joins: limitJoins(selection.joins, fields)
})

const NOTHING = { include: [], exclude: ["*"] } as const
const limited = (
  include: FieldNames,
  exclude: FieldNames,
  fields: FieldList
): Pick<Selection, "include" | "exclude"> => {
  // An empty list of includes means everything, but the intersection may be empty.
  let shown: FieldNames | undefined = include.length === 0 ? undefined : include
  for (const names of isBounds(fields) ? [fields.include, fields.within] : [fields])
    if (names !== undefined)
      shown =
        shown === undefined
          ? names
          : [...new Set(shown.flatMap((pattern) => names.flatMap((name) => common(pattern, name))))]
  return shown?.length === 0
    ? NOTHING
    : {
        include: shown ?? [],
        exclude: isBounds(fields) && fields.exclude.length > 0 ? [...exclude, ...fields.exclude] : exclude
      }
}
/** The intersection of two patterns (a path with everything below it, or a prefix with `*`). */
const common = (pattern: string, name: string): FieldNames => {
  const prefix = pattern.endsWith("*") ? pattern.slice(0, -1) : undefined,
    other = name.endsWith("*") ? name.slice(0, -1) : undefined
  if (prefix !== undefined && other !== undefined)
    return prefix.startsWith(other) ? [pattern] : other.startsWith(prefix) ? [name] : []
  if (other !== undefined) return common(name, pattern)
  if (prefix !== undefined) return name.startsWith(prefix) ? [name] : isBelow(prefix, name) ? [pattern] : []
  return brings(name, pattern) ? [pattern] : brings(pattern, name) ? [name] : []
}
const limitJoins = (joins: ReadonlyArray<JoinInclude>, fields: FieldList): ReadonlyArray<JoinInclude> =>
  joins.flatMap((join) => {
    const own = joinedFields(fields, join.collection)
    const { exclude, include } = limited(join.fields, join.exclude ?? [], own)
    const inner = limitJoins(join.joins, own)
    const isEmpty = exclude === NOTHING.exclude && inner.length === 0 && join.relatedDocsCount === undefined
    return isEmpty ? [] : [{ ...join, fields: include, ...(exclude.length === 0 ? {} : { exclude }), joins: inner }]
  })

/** Refuses names outside the list (400); patterns are limited elsewhere. */
export const namesAllowed = (
  names: ReadonlyArray<string>,
  parameter: string,
  fields: FieldList | undefined
): Result<undefined> => {
  const hidden = fields === undefined ? undefined : names.find((name) => !name.endsWith("*") && !covers(fields, name))
  return hidden === undefined ? ok(undefined) : fail(notAllowed(hidden, parameter))
}
export const notAllowed = (name: string, parameter: string) =>
  invalid(`Parameter \`${parameter}\`: Could not find a field named \`${name}\`.`, parameter)
