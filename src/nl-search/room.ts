/** Searches in words: what they mean. */
import { Effect } from "effect"
import { type Measure, single } from "../metrics/measure.ts"
import { defineRoom } from "../room.ts"
import { NlSearch } from "./nl-search.ts"

const metrics = Effect.map(NlSearch, ({ bytes }): ReadonlyArray<Measure> => [
  {
    name: "dowser_nl_facts_bytes",
    type: "gauge",
    help: "Memory of facet values that requests in words are read with.",
    read: Effect.map(Effect.sync(bytes), single)
  }
])

export const room = defineRoom({ name: "nl-search", layer: NlSearch.layer, metrics })
