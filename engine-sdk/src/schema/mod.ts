/** Exports of the schema folder for operations and hosts. */
export { parseCreateBody, parseCloneBody, type SchemaContext } from "./create-collection.ts"
export { parseAlterBody } from "./alter-collection.ts"
export { parseField, type FieldOptions } from "./field-attributes.ts"
export { renderCollection, maskSecret } from "./render-collection.ts"
export { namePattern, isNamePattern, type NamePattern } from "../documents/name-pattern.ts"
