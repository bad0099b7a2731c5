/** What queries contain: words, language and the values that they name. */
import { Effect } from "effect"
import { type Measure, single } from "../metrics/measure.ts"
import { defineRoom } from "../room.ts"
import { Understanding } from "./understanding.ts"

const metrics = Effect.map(Understanding, ({ bytes }): ReadonlyArray<Measure> => [
  {
    name: "dowser_entity_index_bytes",
    type: "gauge",
    help: "Memory of facet values that queries are looked through for.",
    read: Effect.map(Effect.sync(bytes), single)
  }
])

export const room = defineRoom({ name: "understanding", layer: Understanding.layer, metrics })
