/** The words that a prefix stands for in a filter (`docs/contract/filters.md#strings`). Pure. */
import { WALKED, walkOrder } from "../../compat/walk-order.ts"
import { compareBytes, encodeUtf8 } from "../../index/bytes.ts"

/** The best `most` of the words with a common prefix; `words` gives each one's number of documents. O(n log n). */
export const bestCompletions = (words: ReadonlyMap<string, number>, most: number): string[] => {
  const ordered = [...words]
    .map(([word, worth]) => ({ word, bytes: encodeUtf8(word), worth }))
    .sort((a, b) => compareBytes(a.bytes, 0, a.bytes.length, b.bytes, 0, b.bytes.length))
  // Equal words are ordered as the reference engine visits them, if it visits them all; else alphabetically.
  const order =
    ordered.length > most && ordered.length <= most * WALKED
      ? walkOrder(
          ordered.map(({ bytes }) => bytes),
          ordered.map(({ worth }) => worth),
          "best",
          () => true
        ).map((i) => ordered[i])
      : ordered.sort((a, b) => b.worth - a.worth)
  return order.slice(0, most).map(({ word }) => word)
}
