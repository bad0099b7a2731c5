/** Values that engines accept, filled with defaults, for tests of engines. */
import type { SearchPlan, TextQuery, WriteOperation } from "../plan.ts"
import type { CollectionSchema, Document, Field } from "../schema.ts"

/**
 * A field with its defaults, in the form that engines accept.
 *
 * @example
 * ```ts
 * import { suiteField } from "@dowser/engine-sdk/testing"
 *
 * suiteField("price", "float", { facet: true })
 * ```
 */
export const suiteField = (name: string, type: Field["type"], more: Partial<Field> = {}): Field => ({
  name,
  type,
  facet: false,
  optional: true,
  index: true,
  sort: !type.startsWith("string"),
  infix: false,
  locale: "",
  stem: false,
  stem_dictionary: "",
  store: true,
  range_index: false,
  num_dim: 0,
  vec_dist: "cosine",
  reference: "",
  async_reference: false,
  cascade_delete: true,
  token_separators: [],
  symbols_to_index: [],
  truncate_len: 100,
  ...more
})
/**
 * A collection's schema with its defaults, in the form that engines accept.
 *
 * @example
 * ```ts
 * import { suiteField, suiteSchema } from "@dowser/engine-sdk/testing"
 *
 * suiteSchema("products", [suiteField("name", "string")])
 * ```
 */
export const suiteSchema = (
  name: string,
  fields: ReadonlyArray<Field>,
  more: Partial<CollectionSchema> = {}
): CollectionSchema => ({
  name,
  fields,
  default_sorting_field: "",
  enable_nested_fields: true,
  token_separators: [],
  symbols_to_index: [],
  synonym_sets: [],
  curation_sets: [],
  ...more
})
/**
 * The words of a plan, searched in fields of which the first counts most.
 *
 * @example
 * ```ts
 * import { suiteText } from "@dowser/engine-sdk/testing"
 *
 * suiteText(["copper", "kettle"], ["name", "brand"])
 * ```
 */
export const suiteText = (
  tokens: ReadonlyArray<string>,
  fields: ReadonlyArray<string>,
  more: Partial<TextQuery> = {}
): TextQuery => ({
  fields: fields.map((field, i) => ({ field, weight: 15 - i, numTypos: 2, prefix: true, infix: "off" })),
  tokens,
  surface: tokens,
  phrases: [],
  excluded: [],
  synonyms: [],
  synonymPrefix: false,
  demoteSynonymMatch: false,
  textMatchType: "max_score",
  prioritizeExactMatch: true,
  prioritizeTokenPosition: false,
  prioritizeNumMatchingFields: true,
  minLen1Typo: 4,
  minLen2Typo: 7,
  typoTokensThreshold: 1,
  dropTokensThreshold: 1,
  dropTokensMode: { kind: "right_to_left" },
  splitJoinTokens: "fallback",
  typosForNumericalTokens: true,
  typosForAlphaNumericalTokens: true,
  maxCandidates: undefined,
  exhaustive: false,
  maxExtraPrefix: 32_767,
  maxExtraSuffix: 32_767,
  ...more
})
/**
 * A plan of a search with its defaults, in the form that engines accept.
 *
 * @example
 * ```ts
 * import { suitePlan, suiteText } from "@dowser/engine-sdk/testing"
 *
 * suitePlan("products", { text: suiteText(["kettle"], ["name"]) })
 * ```
 */
export const suitePlan = (collection: string, more: Partial<SearchPlan> = {}): SearchPlan => ({
  collection,
  text: undefined,
  matchesNothing: false,
  vector: undefined,
  filter: undefined,
  sort: more.text === undefined ? [] : [{ kind: "text_match", order: "desc" }],
  facets: [],
  facetQuery: undefined,
  facetValuesMax: 10,
  facetSample: { percent: 100, threshold: 0 },
  group: undefined,
  pinned: [],
  hidden: [],
  filterCuratedHits: false,
  diversity: undefined,
  offset: 0,
  limit: 10,
  hits_max: 1_000_000,
  selection: { include: [], exclude: [], joins: [] },
  highlight: {
    fields: more.text?.fields.map(({ field }) => field) ?? [],
    explicit: false,
    fullFields: [],
    affixTokens: 4,
    snippetThreshold: 30,
    startTag: "<mark>",
    endTag: "</mark>",
    v1: true,
    bytes_max: 1_000_000
  },
  cutoff_ms: 30_000,
  echo: { q: "*", per_page: 10, page: 1, excludeOutOf: false, excludeSearchTime: true },
  ...more
})
/**
 * A write of one document, in the form that engines accept.
 *
 * @example
 * ```ts
 * import { createEngine } from "@dowser/engine-sdk"
 * import { putOf, suiteField, suiteSchema } from "@dowser/engine-sdk/testing"
 *
 * const engine = createEngine()
 * await engine.createCollection("default", suiteSchema("products", [suiteField("name", "string")]), 1)
 * await engine.write("default", "products", [putOf({ id: "1", name: "Kettle" })])
 * ```
 */
export const putOf = (
  document: Document,
  action: "create" | "upsert" | "update" | "emplace" = "upsert"
): WriteOperation => ({ kind: "put", action, dirtyValues: undefined, document })
