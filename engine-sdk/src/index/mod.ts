/** Tables of the index that also serve texts other than documents: sorted strings, and the search for similar ones. */
export { sharedPrefixes } from "./text-builder.ts"
export { compareBytes, encodeUtf8 } from "./bytes.ts"
export { expandTerm } from "./expand.ts"
export { StringTable } from "./string-table.ts"
