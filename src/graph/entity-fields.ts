/** What a graph reads from a collection: its text fields, and its owner's synonyms. Pure. */
import type { CollectionInfo } from "@dowser/engine-sdk"
import type { SynonymSet } from "@dowser/engine-sdk/query"
import { textFieldsOf } from "../texts/text-fields.ts"
import { keyOf } from "./building/keys.ts"
import type { EntityFields } from "./building/mentions.ts"

const FACETS_MAX = 64,
  TEXTS_MAX = 16
export const PRICE = "price"

export const entityFieldsOf = (collection: CollectionInfo): EntityFields => {
  const texts = textFieldsOf(collection)
  return {
    facets: texts
      .filter(({ facet }) => facet)
      .map(({ name }) => name)
      .slice(0, FACETS_MAX),
    texts: texts
      .filter(({ facet }) => !facet)
      .map(({ name }) => name)
      .slice(0, TEXTS_MAX)
  }
}

interface SameWords {
  /** By key, the representative of its set. */ readonly sameAs: ReadonlyMap<string, string>
  /** By representative, the other words of the set. */ readonly synonyms: ReadonlyMap<string, ReadonlyArray<string>>
}
/**
 * Decision: synonyms without a root are the same thing. Synonyms with a root are only related (`trousers` are found
 * by `clothes`).
 */
export const sameWords = (sets: ReadonlyArray<SynonymSet>): SameWords => {
  const sameAs = new Map<string, string>()
  const synonyms = new Map<string, ReadonlyArray<string>>()
  for (const { items } of sets)
    for (const { root, synonyms: words } of items) {
      if (root !== "") continue
      const keyed = words.flatMap((word) => {
        const key = keyOf(word)
        return key === undefined ? [] : [{ key, word }]
      })
      const [first] = keyed
      if (first === undefined) continue
      const whole = sameAs.get(first.key) ?? first.key
      for (const { key } of keyed) if (!sameAs.has(key)) sameAs.set(key, whole)
      synonyms.set(whole, [...(synonyms.get(whole) ?? []), ...keyed.map(({ word }) => word)].slice(0, 20))
    }
  return { sameAs, synonyms }
}
