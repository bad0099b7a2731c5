/** Operations on what belongs to collections: presets, sets of synonyms and curations, stopwords, dictionaries. */
import { Schema } from "effect"
import { operation } from "../http/operation.ts"
import { engineErrors } from "../engine-plane/engine-errors.ts"
import { described } from "./examples.ts"
import { anything, at, Lines, strings, text } from "./contract-shapes.ts"

const presets = { ...at, group: "presets" } as const
const Preset = Schema.Struct({ name: Schema.String, value: anything }).annotate({ identifier: "Preset" })
export const listPresets = operation({
  ...presets,
  ...described.listPresets,
  id: "listPresets",
  summary: "List presets",
  method: "GET",
  path: "/v1/presets",
  success: Schema.Struct({ presets: Schema.Array(Preset) }).annotate({ identifier: "PresetList" })
})
export const getPreset = operation({
  ...presets,
  ...described.getPreset,
  id: "getPreset",
  summary: "Get a preset",
  method: "GET",
  path: "/v1/presets/:presetId",
  success: Preset,
  errors: engineErrors(404)
})
export const upsertPreset = operation({
  ...presets,
  ...described.upsertPreset,
  id: "upsertPreset",
  summary: "Store a preset",
  method: "PUT",
  path: "/v1/presets/:presetId",
  payload: Schema.Struct({ name: text, value: anything }).annotate({ identifier: "PresetBody" }),
  success: Preset
})
export const deletePreset = operation({
  ...presets,
  ...described.deletePreset,
  id: "deletePreset",
  summary: "Delete a preset",
  method: "DELETE",
  path: "/v1/presets/:presetId",
  success: Preset,
  errors: engineErrors(404)
})

/** Synonym and curation sets have the same routes (`docs/contract/curation.md#sets`). */
const setOperations = (kind: "synonym" | "curation") => {
  const base = { ...at, group: `${kind} sets` } as const
  const title = kind === "synonym" ? "Synonym" : "Curation"
  const Item = anything.annotate({ identifier: `${title}Item` })
  const Set = Schema.Struct({ name: Schema.String, items: Schema.Array(Item), description: text }).annotate({
    identifier: `${title}Set`
  })
  const Body = Schema.Struct({ items: Schema.Array(Item), description: text }).annotate({
    identifier: `${title}SetBody`
  })
  const Name = Schema.Struct({ name: Schema.String }).annotate({ identifier: `${title}SetName` })
  const Id = Schema.Struct({ id: Schema.String }).annotate({ identifier: `${title}ItemId` })
  const path = `/v1/${kind}_sets` as const
  return {
    list: operation({
      ...base,
      ...described[kind].list,
      id: `list${title}Sets`,
      summary: `List ${kind} sets`,
      method: "GET",
      path,
      success: Schema.Array(Set).annotate({ identifier: `${title}SetList` })
    }),
    get: operation({
      ...base,
      ...described[kind].get,
      id: `get${title}Set`,
      summary: `Get a ${kind} set`,
      method: "GET",
      path: `${path}/:setName`,
      success: Set,
      errors: engineErrors(404)
    }),
    upsert: operation({
      ...base,
      ...described[kind].upsert,
      id: `upsert${title}Set`,
      summary: `Replace a ${kind} set`,
      method: "PUT",
      path: `${path}/:setName`,
      payload: Body,
      success: Set
    }),
    delete: operation({
      ...base,
      ...described[kind].delete,
      id: `delete${title}Set`,
      summary: `Delete a ${kind} set`,
      method: "DELETE",
      path: `${path}/:setName`,
      success: Name,
      errors: engineErrors(404)
    }),
    listItems: operation({
      ...base,
      ...described[kind].listItems,
      id: `list${title}Items`,
      summary: `List the items of a ${kind} set`,
      method: "GET",
      path: `${path}/:setName/items`,
      query: Schema.Struct({ limit: text, offset: text }),
      success: Schema.Array(Item).annotate({ identifier: `${title}ItemList` }),
      errors: engineErrors(404)
    }),
    getItem: operation({
      ...base,
      ...described[kind].getItem,
      id: `get${title}Item`,
      summary: `Get an item of a ${kind} set`,
      method: "GET",
      path: `${path}/:setName/items/:itemId`,
      success: Item,
      errors: engineErrors(404)
    }),
    upsertItem: operation({
      ...base,
      ...described[kind].upsertItem,
      id: `upsert${title}Item`,
      summary: `Store an item of a ${kind} set`,
      method: "PUT",
      path: `${path}/:setName/items/:itemId`,
      payload: Item,
      success: Item,
      errors: engineErrors(404)
    }),
    deleteItem: operation({
      ...base,
      ...described[kind].deleteItem,
      id: `delete${title}Item`,
      summary: `Delete an item of a ${kind} set`,
      method: "DELETE",
      path: `${path}/:setName/items/:itemId`,
      success: Id,
      errors: engineErrors(404)
    })
  }
}
export const synonymSets = setOperations("synonym")
export const curationSets = setOperations("curation")

const stopwords = { ...at, group: "stopwords" } as const
const StopwordSet = Schema.Struct({ id: Schema.String, stopwords: strings, locale: text }).annotate({
  identifier: "StopwordSet"
})
export const listStopwords = operation({
  ...stopwords,
  ...described.listStopwords,
  id: "listStopwords",
  summary: "List stopword sets",
  method: "GET",
  path: "/v1/stopwords",
  success: Schema.Struct({ stopwords: Schema.Array(StopwordSet) }).annotate({ identifier: "StopwordSetList" })
})
export const getStopwords = operation({
  ...stopwords,
  ...described.getStopwords,
  id: "getStopwords",
  summary: "Get a stopword set",
  method: "GET",
  path: "/v1/stopwords/:setId",
  success: Schema.Struct({ stopwords: StopwordSet }).annotate({ identifier: "StopwordSetEnvelope" }),
  errors: engineErrors(404)
})
export const upsertStopwords = operation({
  ...stopwords,
  ...described.upsertStopwords,
  id: "upsertStopwords",
  summary: "Replace a stopword set",
  method: "PUT",
  path: "/v1/stopwords/:setId",
  payload: Schema.Struct({ stopwords: strings, locale: text }).annotate({ identifier: "StopwordSetBody" }),
  success: StopwordSet
})
export const deleteStopwords = operation({
  ...stopwords,
  ...described.deleteStopwords,
  id: "deleteStopwords",
  summary: "Delete a stopword set",
  method: "DELETE",
  path: "/v1/stopwords/:setId",
  success: Schema.Struct({ id: Schema.String }).annotate({ identifier: "StopwordSetId" }),
  errors: engineErrors(404)
})

const stemming = { ...at, group: "stemming" } as const
const Stem = Schema.Struct({ word: Schema.String, root: Schema.String }).annotate({ identifier: "Stem" })
export const listStemmingDictionaries = operation({
  ...stemming,
  ...described.listStemmingDictionaries,
  id: "listStemmingDictionaries",
  summary: "List stemming dictionaries",
  method: "GET",
  path: "/v1/stemming/dictionaries",
  success: Schema.Struct({ dictionaries: strings }).annotate({ identifier: "StemmingDictionaryList" })
})
export const getStemmingDictionary = operation({
  ...stemming,
  ...described.getStemmingDictionary,
  id: "getStemmingDictionary",
  summary: "Get a stemming dictionary",
  method: "GET",
  path: "/v1/stemming/dictionaries/:dictionaryId",
  success: Schema.Struct({ id: Schema.String, words: Schema.Array(Stem) }).annotate({
    identifier: "StemmingDictionary"
  }),
  errors: engineErrors(404)
})
export const deleteStemmingDictionary = operation({
  ...stemming,
  ...described.deleteStemmingDictionary,
  id: "deleteStemmingDictionary",
  summary: "Delete a stemming dictionary",
  method: "DELETE",
  path: "/v1/stemming/dictionaries/:dictionaryId",
  success: Schema.Struct({ id: Schema.String }).annotate({ identifier: "StemmingDictionaryId" })
})
export const importStemmingDictionary = operation({
  ...stemming,
  ...described.importStemmingDictionary,
  id: "importStemmingDictionary",
  summary: "Import words and roots as JSON Lines",
  method: "POST",
  path: "/v1/stemming/dictionaries/import",
  query: Schema.Struct({ id: text, batch_size: text }),
  payload: Lines,
  payloadType: "jsonl",
  success: Lines,
  successType: "text"
})
