/** Handlers of what belongs to collections: presets, sets of synonyms and curations, stopwords, dictionaries. */
import * as engine from "@dowser/engine-sdk/operations"
import { implement } from "../../api/implement.ts"
import * as contract from "../contract.ts"
import type { Handling } from "./handling.ts"

const namedSetRoutes = (
  { plain, withBody }: Handling,
  operations: typeof contract.synonymSets | typeof contract.curationSets,
  run: engine.NamedSetOperations
) => [
  implement(
    operations.list,
    plain((context) => run.list(context))
  ),
  implement(
    operations.get,
    plain((context, { params }) => run.get(context, params.setName))
  ),
  implement(
    operations.upsert,
    withBody((context, { params }, body) => run.upsert(context, params.setName, body))
  ),
  implement(
    operations.delete,
    plain((context, { params }) => run.delete(context, params.setName))
  ),
  implement(
    operations.listItems,
    plain((context, { params, search }) => run.listItems(context, params.setName, search))
  ),
  implement(
    operations.getItem,
    plain((context, { params }) => run.getItem(context, params.setName, params.itemId))
  ),
  implement(
    operations.upsertItem,
    withBody((context, { params }, body) => run.upsertItem(context, params.setName, params.itemId, body))
  ),
  implement(
    operations.deleteItem,
    plain((context, { params }) => run.deleteItem(context, params.setName, params.itemId))
  )
]

export const resourceRoutes = (handling: Handling) => {
  const { plain, withBody, withText } = handling
  return [
    implement(
      contract.listPresets,
      plain((context) => engine.listPresets(context))
    ),
    implement(
      contract.getPreset,
      plain((context, { params }) => engine.getPreset(context, params.presetId))
    ),
    implement(
      contract.upsertPreset,
      withBody((context, { params }, body) => engine.upsertPreset(context, params.presetId, body))
    ),
    implement(
      contract.deletePreset,
      plain((context, { params }) => engine.deletePreset(context, params.presetId))
    ),
    ...namedSetRoutes(handling, contract.synonymSets, engine.synonymSets),
    ...namedSetRoutes(handling, contract.curationSets, engine.curationSets),

    implement(
      contract.listStopwords,
      plain((context) => engine.listStopwords(context))
    ),
    implement(
      contract.getStopwords,
      plain((context, { params }) => engine.getStopwords(context, params.setId))
    ),
    implement(
      contract.upsertStopwords,
      withBody((context, { params }, body) => engine.upsertStopwords(context, params.setId, body))
    ),
    implement(
      contract.deleteStopwords,
      plain((context, { params }) => engine.deleteStopwords(context, params.setId))
    ),

    implement(
      contract.listStemmingDictionaries,
      plain((context) => engine.listStemmingDictionaries(context))
    ),
    implement(
      contract.importStemmingDictionary,
      withText((context, { search }, text) => engine.importStemmingDictionary(context, text, search))
    ),
    implement(
      contract.getStemmingDictionary,
      plain((context, { params }) => engine.getStemmingDictionary(context, params.dictionaryId))
    ),
    implement(
      contract.deleteStemmingDictionary,
      plain((context, { params }) => engine.deleteStemmingDictionary(context, params.dictionaryId))
    )
  ]
}
