/**
 * What an index is created with: fields of fixed types, without dynamic mapping. Words arrive as the package's
 * tokenizer produced them, so the cluster only splits at spaces; it does not parse the text of the stored document.
 */
import { KEY_LENGTH } from "./placement.ts"
import {
  NO_SLOTS,
  slotNames,
  vectorSlots,
  wordListOf,
  type SlotKind,
  type SlotTable,
  type VectorSlot
} from "./slots.ts"

/** Maximum length of an indexed prefix in characters; longer ones are searched among whole words. */
export const BEGINNING_MAX = 20
/** Deepest hit that a search may reach. */
export const WINDOW_MAX = 100_000
/** Longer texts cannot be indexed as one keyword. */
export const KEYWORD_LENGTH_MAX = 8_000

const ANALYSIS = {
  tokenizer: { spaces: { type: "char_group", tokenize_on_chars: [" "], max_token_length: KEYWORD_LENGTH_MAX } },
  filter: {
    beginnings: { type: "edge_ngram", min_gram: KEY_LENGTH + 1, max_gram: KEY_LENGTH + BEGINNING_MAX }
  },
  analyzer: {
    words: { type: "custom", tokenizer: "spaces" },
    beginnings: { type: "custom", tokenizer: "spaces", filter: ["beginnings"] }
  }
}
const WORDS = {
  type: "text",
  analyzer: "words",
  norms: false,
  index_options: "positions",
  fields: {
    p: { type: "text", analyzer: "beginnings", search_analyzer: "words", norms: false, index_options: "docs" }
  }
}
/** Used only for listing words; searches use the fields in which the words are indexed. */
const WORD_LIST = { type: "keyword", index: false, ignore_above: KEYWORD_LENGTH_MAX }
const placesAs = (kind: SlotKind, count: number, type: object): Record<string, object> =>
  Object.fromEntries(slotNames(kind, count).map((name) => [name, type]))

/** Lucene graphs, because they need no library besides the plugin's own classes. */
const vectorType = ({ dimensions, ef_construction, M, metric }: VectorSlot): object => ({
  type: "knn_vector",
  dimension: dimensions,
  method: {
    name: "hnsw",
    engine: "lucene",
    space_type: spaceOf(metric),
    parameters: { m: M, ef_construction }
  }
})
export const spaceOf = (metric: VectorSlot["metric"]): string => (metric === "cosine" ? "cosinesimil" : "innerproduct")

/** Parts of the source needed to show and change a document. */
export const KEPT: ReadonlyArray<string> = ["seq", "d", "u", "e"]
/** The same parts without vectors. */
export const KEPT_SMALL: ReadonlyArray<string> = ["seq", "d", "u"]

/** Properties that every mapping must have; an index created by an earlier version gets the missing ones. */
export const documentsProperties = (
  places: Readonly<Record<SlotKind, number>>,
  slots: SlotTable = NO_SLOTS
): object => ({
  /** Key of the collection. */ c: { type: "keyword" },
  seq: { type: "long" },
  /** Version of the schema that it was written by. */ v: { type: "integer" },
  /** For a copied document: sequence number of the original. */ o: { type: "long" },
  /** Number of characters of the stored document. */ size: { type: "long" },
  d: { type: "object", enabled: false },
  u: { type: "object", enabled: false },
  e: { type: "object", enabled: false },
  ...placesAs("t", places.t, WORDS),
  ...Object.fromEntries(slotNames("t", places.t).map((name) => [wordListOf(name), WORD_LIST])),
  ...placesAs("k", places.k, { type: "keyword", ignore_above: KEYWORD_LENGTH_MAX }),
  ...placesAs("n", places.n, { type: "double" }),
  ...placesAs("l", places.l, { type: "long" }),
  ...placesAs("b", places.b, { type: "boolean" }),
  ...placesAs("g", places.g, { type: "geo_point" }),
  ...Object.fromEntries(vectorSlots(slots).map((slot) => [slot.name, vectorType(slot)]))
})
export const documentsIndex = (
  places: Readonly<Record<SlotKind, number>>,
  shards: number,
  replicas: number,
  slots: SlotTable = NO_SLOTS
): object => ({
  settings: {
    ...(vectorSlots(slots).length === 0 ? {} : { "index.knn": true }),
    number_of_shards: shards,
    auto_expand_replicas: `0-${replicas}`,
    "index.refresh_interval": "5s",
    "index.max_result_window": WINDOW_MAX,
    "index.mapping.total_fields.limit": 2_000,
    "index.max_ngram_diff": BEGINNING_MAX,
    "index.unassigned.node_left.delayed_timeout": "5s",
    analysis: ANALYSIS
  },
  mappings: {
    dynamic: "strict",
    _routing: { required: true },
    _source: { includes: KEPT },
    properties: documentsProperties(places, slots)
  }
})

const SMALL = (replicas: number): object => ({
  number_of_shards: 1,
  auto_expand_replicas: `0-${replicas}`,
  "index.refresh_interval": "1s"
})
export const collectionsIndex = (replicas: number): object => ({
  settings: SMALL(replicas),
  mappings: { dynamic: "strict", properties: { record: { type: "object", enabled: false } } }
})
export const countersIndex = (replicas: number): object => ({
  settings: SMALL(replicas),
  mappings: { dynamic: "strict", properties: { next: { type: "long" } } }
})
