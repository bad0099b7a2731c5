/** Exports of the documents folder for engines and operations. */
export { prepareWrite, flatten, revalidate, type Prepared, type PutOperation } from "./prepare-write.ts"
export {
  coerceValue,
  indexNumber,
  elementTypeOf,
  type Coerced,
  type GeoPoint,
  type IndexScalar,
  type IndexValue
} from "./coerce.ts"
export { type IndexValues } from "./field-values.ts"
export { documentPlanOf, isDynamic, dynamicFieldFor, typeOfValue } from "./document-plan.ts"
export { CONTAINERS_MAX, parseBounded, parseDocument, parseJson, stringifyJson, isObject } from "./json.ts"
export { valueAt, leavesOf } from "./nested.ts"
export { mergeDocument, sameJson } from "./merge.ts"
export { select, isSelected } from "./select.ts"
export { StoredDocument, pickFields } from "./stored-document.ts"
export { withChange, withDetected } from "./changed-schema.ts"
