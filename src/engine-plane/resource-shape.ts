/**
 * Whether a stored resource has the form of its kind: an invalid one must not be loaded, because every search reads
 * it. Pure.
 */
import type { ResourceKind } from "@dowser/engine-sdk/operations"

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every((one) => typeof one === "string")
const areItems = (value: unknown, isItem: (item: Readonly<Record<string, unknown>>) => boolean): boolean =>
  Array.isArray(value) && value.every((item) => isObject(item) && typeof item.id === "string" && isItem(item))

const shapes: Readonly<Record<ResourceKind, (value: Readonly<Record<string, unknown>>) => boolean>> = {
  alias: ({ collection_name, name }) => typeof name === "string" && typeof collection_name === "string",
  preset: ({ name, value }) => typeof name === "string" && isObject(value),
  stopwords: ({ id, stopwords }) => typeof id === "string" && isTexts(stopwords),
  synonym_set: ({ items, name }) =>
    typeof name === "string" &&
    areItems(items, ({ root, synonyms }) => isTexts(synonyms) && (root === undefined || typeof root === "string")),
  curation_set: ({ items, name }) =>
    typeof name === "string" &&
    areItems(
      items,
      ({ excludes, includes, rule }) =>
        Array.isArray(includes) &&
        includes.every(isObject) &&
        Array.isArray(excludes) &&
        excludes.every(isObject) &&
        (rule === undefined || isObject(rule))
    ),
  stemming_dictionary: ({ id, words }) =>
    typeof id === "string" &&
    Array.isArray(words) &&
    words.every((pair) => isTexts(pair) && (pair as ReadonlyArray<string>).length === 2)
}
/** O(value). Kinds that this program does not know are ignored. */
export const isShaped = (kind: ResourceKind, value: unknown): boolean =>
  !Object.hasOwn(shapes, kind) || (isObject(value) && shapes[kind](value))
