/**
 * Tables of the index that serve for other texts than documents: sorted strings, and the walk to those that are near.
 */
export { sharedPrefixes } from "./text-builder.ts"
export { compareBytes, encodeUtf8 } from "./bytes.ts"
export { expandTerm } from "./expand.ts"
export { StringTable } from "./string-table.ts"
