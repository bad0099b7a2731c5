/**
 * Turns what a caller wrote into what an engine stores and indexes: identity, merge, detection of fields, validation
 * and coercion (`docs/contract/documents.md#merging`). Pure; the engine checks whether referenced documents exist.
 */
import { conflict, fail, invalid, notFound, ok, type EngineError, type Result } from "../errors.ts"
import type { WriteOperation } from "../plan.ts"
import type { CollectionSchema, DirtyValues, Document, Field } from "../schema.ts"
import { coerceValue, elementTypeOf, indexNumber, type IndexValue } from "./coerce.ts"
import {
  detectedField,
  documentPlanOf,
  dynamicFieldFor,
  resolveType,
  typeOfValue,
  type DocumentPlan,
  type NestedField
} from "./document-plan.ts"
import { listedOrder, parentOrder } from "./hash-table-order.ts"
import { FieldValues, type IndexValues } from "./field-values.ts"
import { isObject, parseDocument } from "./json.ts"
import { applyOperations, mergeDocument, sameJson } from "./merge.ts"
import { leavesOf, valueAt, withValueAt } from "./nested.ts"
import { ownValue, putOwn } from "./own-value.ts"
import { isVectorOf } from "./vector-value.ts"

export interface Prepared {
  readonly id: string
  /** The document to store: coerced, without removed values and `store: false` fields. */ readonly stored: Document
  /** Everything indexable by field name, including `store: false` fields. Fields without a value are absent. */
  readonly values: IndexValues
  /** New fields for the schema, in order; already reflected in `values`. */ readonly detected: ReadonlyArray<Field>
  /** False for a merge that changed nothing. */ readonly changed: boolean
}
/** A refusal. New fields that were detected in the document still become part of the schema, as in the reference. */
interface Refused {
  readonly ok: false
  readonly error: EngineError
  readonly detected?: ReadonlyArray<Field>
}
export type PutOperation = Extract<WriteOperation, { kind: "put" }>

/**
 * `existing` returns the stored document for an id (undefined = none); `nextId` generates an id if the caller gave none
 * and is called at most once. Failures: Invalid (400), NotFound (404), Conflict (409). O(document + fields).
 */
export const prepareWrite = (
  schema: CollectionSchema,
  operation: PutOperation,
  existing: (id: string) => Document | undefined,
  nextId: () => string
): { readonly ok: true; readonly value: Prepared } | Refused => {
  const source = operation.document
  const parsed: Result<Document> =
    typeof source === "string" || source instanceof Uint8Array
      ? parseDocument(source)
      : isObject(source)
        ? ok(source)
        : fail(invalid("Bad JSON: not a properly formed document."))
  if (!parsed.ok) return parsed
  const identity = identityOf(parsed.value, operation)
  if (!identity.ok) return identity
  const plan = documentPlanOf(schema)
  const before = identity.value === undefined ? undefined : existing(identity.value)
  const previous = before === undefined ? undefined : withoutOldVectors(plan, before)
  const refusal = refusalOf(operation, identity.value, previous)
  if (refusal !== undefined) return fail(refusal)
  const id = identity.value ?? nextId()
  const merges = previous !== undefined && (operation.action === "update" || operation.action === "emplace")
  // A rewritten document was valid when it was stored.
  const given = operation.rewrite === true ? withoutOldVectors(plan, parsed.value) : parsed.value
  const operated = applyOperations(schema, given, previous)
  if (merges) {
    const cleared = clearedRequired(plan, operated)
    if (cleared !== undefined) return fail(invalid(cleared))
  }
  // A document that was parsed here may be modified in place; an object of the caller may not.
  const document: { [key: string]: unknown } = merges
    ? mergeDocument(previous, operated)
    : operated === source
      ? { ...operated }
      : operated
  document.id = id
  if (!merges && operation.action === "upsert" && previous !== undefined) keepEmbeddings(plan, document, previous)
  const checked = checkDocument(plan, document, operation.dirtyValues ?? plan.defaultMode, merges)
  if (!checked.ok) return checked
  const { values, detected, stored } = checked.value
  return ok({
    id,
    stored,
    values,
    detected,
    changed: previous === undefined || plan.unstored.some((name) => values.has(name)) || !sameJson(previous, stored)
  })
}

/** The indexable values of a document that is already stored. Values that do not fit the schema are left out. */
export const flatten = (schema: CollectionSchema, document: Document): IndexValues => {
  const checked = checkDocument(documentPlanOf(schema), { ...document }, "coerce_or_drop", true, true)
  return checked.ok ? checked.value.values : new FieldValues()
}
/**
 * Checks a stored document against a new schema for an alter: coerces or rejects values, requires required fields, and
 * phrases errors as refusals of the alter. Only `values` are coerced; the stored document stays unchanged.
 */
export const revalidate = (schema: CollectionSchema, document: Document): Result<Prepared> => {
  const plan = documentPlanOf(schema)
  const checked = checkDocument(plan, { ...withoutOldVectors(plan, document) }, "coerce_or_reject", false)
  if (checked.ok) return ok({ id: String(document.id), ...checked.value, stored: document, changed: false })
  return fail(invalid(alterRefusal(checked.error.message, schema)))
}
const alterRefusal = (message: string, schema: CollectionSchema): string => {
  const name = /^Field `([^`]+)`/.exec(message)?.[1]
  if (name === undefined) return message
  if (message.endsWith("is not found in the document.") || message.endsWith("` not found.")) {
    return `Field \`${name}\` has been declared in the schema, but is not found in the documents already present in the collection. If you still want to add this field, set it as \`optional: true\`.`
  }
  const type = schema.fields.find((field) => field.name === name)?.type ?? "value"
  return `Schema change is incompatible with the type of documents already stored in this collection. Existing data for field \`${name}\` cannot be coerced into ${/^int/.test(type) ? "an" : "a"} ${type}.`
}

const identityOf = (document: Document, operation: PutOperation): Result<string | undefined> => {
  const { id } = document
  if (id !== undefined && typeof id !== "string") return fail(invalid("Document's `id` field should be a string."))
  if (id === "") return fail(invalid("The `id` should not be empty."))
  if (operation.id !== undefined && id !== undefined && id !== operation.id)
    return fail(invalid("The `id` of the resource does not match the `id` in the JSON body."))
  return ok(id ?? operation.id)
}
const refusalOf = (
  operation: PutOperation,
  id: string | undefined,
  previous: Document | undefined
): EngineError | undefined => {
  if (operation.action === "update") {
    if (id === undefined) return invalid("For update, the `id` key must be provided.")
    if (previous === undefined) return notFound(`Could not find a document with id: ${id}`)
  }
  if (operation.action === "create" && previous !== undefined)
    return conflict(`A document with id ${id} already exists.`)
  return undefined
}
/** The refusal if a merge sets a required field to null. */
const clearedRequired = (plan: DocumentPlan, patch: Document): string | undefined => {
  for (const field of plan.plain) if (ownValue(patch, field.name) === null && !field.optional) return nullRefusal(field)
  return undefined
}
const nullRefusal = (field: Field): string => {
  if (field.reference !== "") return `Field \`${field.name}\` cannot have \`null\` value.`
  const checked = coerceValue(field, null, "reject")
  return checked.error ?? `Field \`${field.name}\` cannot have \`null\` value.`
}
/**
 * The document without vectors whose model had other dimensions before the field changed; they are generated again. The
 * document itself if it has no such vectors.
 */
const withoutOldVectors = (plan: DocumentPlan, document: Document): Document => {
  let kept: { [key: string]: unknown } | undefined
  for (const field of plan.plain) {
    if (field.embed === undefined || isVectorOf(field, ownValue(document, field.name))) continue
    kept ??= { ...document }
    delete kept[field.name]
  }
  return kept ?? document
}
/** An upsert keeps generated embeddings if their sources did not change. */
const keepEmbeddings = (plan: DocumentPlan, document: { [key: string]: unknown }, previous: Document): void => {
  for (const field of plan.plain) {
    if (
      field.embed === undefined ||
      ownValue(document, field.name) !== undefined ||
      ownValue(previous, field.name) === undefined
    )
      continue
    const from = Array.isArray(field.embed.from) ? (field.embed.from as string[]) : []
    if (from.every((name) => sameJson(ownValue(document, name), ownValue(previous, name))))
      putOwn(document, field.name, ownValue(previous, field.name))
  }
}

interface Checked {
  readonly values: FieldValues
  readonly detected: ReadonlyArray<Field>
  readonly stored: Document
}
/**
 * `partial` does not require required fields; `lenient` leaves out what does not fit instead of failing. Modifies
 * `document`.
 */
const checkDocument = (
  plan: DocumentPlan,
  document: { [key: string]: unknown },
  mode: DirtyValues,
  partial: boolean,
  lenient = false
): { readonly ok: true; readonly value: Checked } | Refused => {
  const sortField = plan.schema.default_sorting_field
  if (!partial && sortField !== "" && ownValue(document, sortField) === undefined && !sortField.includes(".")) {
    return fail(
      invalid(`Field \`${sortField}\` has been declared as a default sorting field, but is not found in the document.`)
    )
  }
  const values = new FieldValues()
  const detected: Field[] = []
  const found = detect(plan, document, mode, detected)
  if (found !== undefined && !lenient) return fail(found)
  const refusal = checkFields(plan, document, mode, partial, detected, values, lenient)
  if (refusal !== undefined) return { ok: false, error: refusal, detected }
  for (const name of plan.unstored) if (Object.hasOwn(document, name)) delete document[name]
  return ok({ values, detected, stored: document })
}
/** The first thing that does not fit; undefined if `lenient`. */
const checkFields = (
  plan: DocumentPlan,
  document: { [key: string]: unknown },
  mode: DirtyValues,
  partial: boolean,
  detected: ReadonlyArray<Field>,
  values: FieldValues,
  lenient: boolean
): EngineError | undefined => {
  for (const field of plan.plain) {
    const error = checkPlain(field, document, mode, partial, values)
    if (error !== undefined && !lenient) return error
  }
  if (plan.nestedEnabled) {
    const error = checkObjects(plan, document, partial)
    if (error !== undefined && !lenient) return error
    for (const nested of plan.nested) {
      const error = checkNested(nested, document, mode, partial, values)
      if (error !== undefined && !lenient) return error
    }
  }
  for (const field of detected) {
    if (field.type === "object" || field.type === "object[]") continue
    const error =
      field.nested === true
        ? checkNested({ field, path: field.name.split(".") }, document, mode, partial, values)
        : checkPlain(field, document, mode, partial, values)
    if (error !== undefined && !lenient) return error
  }
  const name = plan.schema.default_sorting_field
  const sorted = name === "" ? undefined : ownValue(document, name)
  return typeof sorted === "number" && sorted > 2_147_483_647 && plan.byName.get(name)?.type === "int32" && !lenient
    ? invalid(`Field \`${name}\` exceeds maximum value of int32.`)
    : undefined
}

const checkPlain = (
  field: Field,
  document: { [key: string]: unknown },
  mode: DirtyValues,
  partial: boolean,
  values: FieldValues
): EngineError | undefined => {
  const { name } = field
  if (name === "id") return undefined
  const value = memberOf(document, name)
  if (value === undefined) return partial || field.optional || field.embed !== undefined ? undefined : missing(field)
  if (value === null) {
    if (!field.optional) return invalid(nullRefusal(field))
    delete document[name]
    return undefined
  }
  if (!field.index) return undefined
  if (fitsAsItStands(field.type, value)) {
    values.set(name, value as IndexValue)
    return undefined
  }
  const coerced = coerceValue(field, value, mode)
  if (coerced.error !== undefined) return invalid(coerced.error)
  if (coerced.dropped) {
    delete document[name]
    return undefined
  }
  if (coerced.value !== value) putOwn(document, name, coerced.value)
  index(field, coerced.value, values)
  return undefined
}
/**
 * `ownValue` of a plain object, whose inherited members are functions and `__proto__`. Asking for own members alone
 * costs several times as much as reading one.
 */
const memberOf = (document: { readonly [key: string]: unknown }, name: string): unknown => {
  const value = document[name]
  return typeof value === "function" || name === "__proto__" ? ownValue(document, name) : value
}
/** The fast path for nearly all values; the others go through coercion, which would give the same result for these. */
const fitsAsItStands = (type: Field["type"], value: unknown): boolean => {
  switch (typeof value) {
    case "string":
      return type === "string"
    case "number":
      return (
        type === "float" || (type === "int32" ? (value | 0) === value : type === "int64" && Number.isInteger(value))
      )
    case "boolean":
      return type === "bool"
    default:
      return false
  }
}
const missing = (field: Field): EngineError =>
  invalid(
    field.reference === ""
      ? `Field \`${field.name}\` has been declared in the schema, but is not found in the document.`
      : `Missing the required reference field \`${field.name}\` in the document.`
  )

const index = (field: Field, value: unknown, values: FieldValues): void => {
  const { type } = field
  if (type === "image") return
  const element = elementTypeOf(type)
  if (element !== "int32" && element !== "int64" && element !== "float") {
    values.set(field.name, value as IndexValue)
    return
  }
  values.set(
    field.name,
    Array.isArray(value)
      ? (value.map((item) => indexNumber(element, item)) as ReadonlyArray<number>)
      : indexNumber(type, value)
  )
}

const checkObjects = (
  plan: DocumentPlan,
  document: { [key: string]: unknown },
  partial: boolean
): EngineError | undefined => {
  for (const [name, field] of plan.objects) {
    const read = valueAt(document, name, name.split("."))
    if (!read.found) {
      if (ownValue(document, name) === null && field.optional) delete document[name]
      if (field.optional || partial || field.nested === true) continue
      return notFound(`Field \`${name}\` not found.`)
    }
    if (read.throughArray) continue
    const isArray = Array.isArray(read.value)
    if (!isArray && !isObject(read.value)) return invalid(`Field \`${name}\` has an incorrect type.`)
    if (field.detected !== true && isArray !== (field.type === "object[]"))
      return invalid(`Field \`${name}\` has an incorrect type.`)
  }
  return undefined
}
const NUMERIC = new Set(["int32", "int64", "float"])
const checkNested = (
  { field, path }: NestedField,
  document: { [key: string]: unknown },
  mode: DirtyValues,
  partial: boolean,
  values: FieldValues
): EngineError | undefined => {
  const read = valueAt(document, field.name, path)
  if (!read.found) return partial || field.optional ? undefined : notFound(`Field \`${field.name}\` not found.`)
  if (!field.index) return undefined
  const isArrayType = field.type.endsWith("[]")
  const isPoint = field.type === "geopoint"
  if (read.throughArray && !isArrayType && !(isPoint && Array.isArray((read.value as unknown[])[0]) === false)) {
    return invalid(
      `Field \`${field.name}\` has an incorrect type. Hint: field inside an array of objects must be an array type as well.`
    )
  }
  if (field.detected !== true && !fits(field, read.value))
    return invalid(`Field \`${field.name}\` has an incorrect type.`)
  const coerced = coerceValue(
    field,
    isArrayType && !Array.isArray(read.value) && field.detected === true ? [read.value] : read.value,
    mode
  )
  if (coerced.error !== undefined) return invalid(coerced.error)
  if (coerced.dropped) {
    if (!read.throughArray) withValueAt(document, path, undefined)
    return undefined
  }
  if (!read.throughArray && coerced.value !== read.value && Array.isArray(coerced.value) === Array.isArray(read.value))
    withValueAt(document, path, coerced.value)
  index(field, coerced.value, values)
  return undefined
}
/** Declared children accept values of their own type unchanged; only numbers are converted into each other. */
const fits = (field: Field, value: unknown): boolean => {
  if (field.type.startsWith("geo")) return true
  const seen = typeOfValue(value)
  if (seen === undefined || seen === field.type) return true
  if (seen === "invalid") return false
  return (
    NUMERIC.has(elementTypeOf(seen)) &&
    NUMERIC.has(elementTypeOf(field.type)) &&
    seen.endsWith("[]") === field.type.endsWith("[]")
  )
}

/** Finds fields that the document has and the schema lacks, in alphabetical order, parents before children. */
const detect = (
  plan: DocumentPlan,
  document: { [key: string]: unknown },
  mode: DirtyValues,
  detected: Field[]
): EngineError | undefined => {
  const found = new Set<string>()
  const add = (field: Field): void => {
    if (!found.has(field.name)) {
      found.add(field.name)
      detected.push(field)
    }
  }
  const parents: Field[] = []
  if (plan.dynamic.length > 0) {
    for (const key of Object.keys(document).sort()) {
      if (key === "id" || plan.byName.has(key)) continue
      const definition = dynamicFieldFor(plan, key)
      if (definition === undefined) continue
      const value = document[key]
      if (value === null) {
        delete document[key]
        continue
      }
      const seen = typeOfValue(value)
      if (seen === undefined) continue
      if (seen === "invalid") {
        if (definition.type !== "auto" && definition.type !== "string*") {
          add(detectedField(definition, key, definition.type))
          continue
        }
        if (mode === "reject" || mode === "coerce_or_reject") return invalid(`Type of field \`${key}\` is invalid.`)
        delete document[key]
        continue
      }
      const type = resolveType(definition.type, seen)
      if ((type === "object" || type === "object[]") && !plan.nestedEnabled) continue
      const field = detectedField(definition, key, type)
      add(field)
      if (type === "object" || type === "object[]") parents.push(field)
    }
  }
  if (!plan.nestedEnabled) return undefined
  const children = new Map<string, Field>()
  const addChild = (field: Field): void => {
    if (!found.has(field.name) && !children.has(field.name)) children.set(field.name, field)
  }
  for (const parent of parentOrder([...plan.objects.values(), ...parents], ({ name }) => name)) {
    const { name } = parent
    const read = valueAt(document, name, name.split("."))
    if (read.found) detectChildren(plan, name, parent, read.value, read.throughArray, addChild)
  }
  for (const child of listedOrder([...children.values()], ({ name }) => name)) add(child)
  if (plan.dynamic.some((entry) => entry.field.name.includes("."))) detectByPath(plan, document, found, add)
  return undefined
}
const detectChildren = (
  plan: DocumentPlan,
  name: string,
  parent: Field,
  value: unknown,
  throughArray: boolean,
  add: (field: Field) => void
): void => {
  leavesOf(name, value, throughArray, (path, sample, inArray) => {
    if (path === name || plan.byName.has(path)) return
    const seen = typeOfValue(sample)
    if (seen === undefined || seen === "invalid" || seen === "object" || seen === "object[]") return
    const pattern = plan.dynamic.length > 0 ? dynamicFieldFor(plan, path) : undefined
    const definition = pattern !== undefined && pattern.name !== ".*" ? pattern : parent
    add(childField(definition, path, resolveType(definition.type, seen), inArray))
  })
}
const childField = (definition: Field, path: string, type: Field["type"], inArray: boolean): Field =>
  detectedField(
    { ...definition, num_dim: 0 },
    path,
    inArray && !type.endsWith("[]") ? (`${type}[]` as Field["type"]) : type,
    { array: inArray }
  )
/** Handles patterns with dots over undeclared objects. */
const detectByPath = (
  plan: DocumentPlan,
  document: Document,
  found: ReadonlySet<string>,
  add: (field: Field) => void
): void => {
  for (const key of Object.keys(document).sort()) {
    if (plan.byName.has(key) || found.has(key) || typeof document[key] !== "object") continue
    leavesOf(key, document[key], false, (path, sample, inArray) => {
      if (plan.byName.has(path)) return
      const definition = dynamicFieldFor(plan, path)
      const seen = typeOfValue(sample)
      if (definition === undefined || seen === undefined || seen === "invalid") return
      add(childField(definition, path, resolveType(definition.type, seen), inArray))
    })
  }
}
