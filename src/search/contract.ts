/** Search and multi-search: reachable with a search key, forwarded to the engine after the control plane's part. */
import { Schema } from "effect"
import { SearchResponse } from "../engine-plane/search-response.ts"
import { embeddingErrors } from "../embedding/errors.ts"
import { operation } from "../http/operation.ts"
import { aiErrors } from "../metering/errors.ts"
import { OtherSession } from "../support/errors.ts"
import { searchErrors } from "./search-errors.ts"
import { described } from "./examples.ts"

const anything = Schema.Record(Schema.String, Schema.Unknown)

/** Every search parameter by name, as text; the engine or the control plane decides what each means. */
export const searchParameterNames = [
  "q",
  "query_rewrite",
  "query_rewrite_min_found",
  "refinements",
  "search_policy",
  "x_user_id",
  "x_anonymous_id",
  "x_surface",
  "x_experiment_variant",
  "rerank_model",
  "query_by",
  "nl_model_id",
  "query_by_weights",
  "ranking",
  "text_match_type",
  "prefix",
  "infix",
  "filter_by",
  "sort_by",
  "facet_by",
  "facet_query",
  "num_typos",
  "group_by",
  "include_fields",
  "exclude_fields",
  "highlight_full_fields",
  "highlight_start_tag",
  "highlight_end_tag",
  "highlight_fields",
  "synonym_sets",
  "drop_tokens_mode",
  "pinned_hits",
  "hidden_hits",
  "curation_tags",
  "split_join_tokens",
  "preset",
  "profile",
  "sort",
  "vector_query",
  "facet_strategy",
  "stopwords",
  "facet_return_parent",
  "voice_query",
  "conversation_model_id",
  "conversation_id",
  "x_personalization_strength",
  "rerank_top_k",
  "nl_query_prompt_cache_ttl",
  "max_extra_prefix",
  "max_extra_suffix",
  "max_filter_by_candidates",
  "max_facet_values",
  "facet_query_num_typos",
  "page",
  "per_page",
  "limit",
  "offset",
  "group_limit",
  "highlight_affix_num_tokens",
  "snippet_threshold",
  "drop_tokens_threshold",
  "typo_tokens_threshold",
  "synonym_num_typos",
  "max_candidates",
  "search_cutoff_ms",
  "cache_ttl",
  "min_len_1typo",
  "min_len_2typo",
  "remote_embedding_timeout_ms",
  "remote_embedding_num_tries",
  "debug",
  "rerank",
  "validate_field_names",
  "nl_query",
  "nl_query_debug",
  "group_missing_values",
  "enable_highlight_v1",
  "enable_analytics",
  "enable_typos_for_alpha_numerical_tokens",
  "enable_typos_for_numerical_tokens",
  "filter_curated_hits",
  "enable_synonyms",
  "synonym_prefix",
  "pre_segmented_query",
  "enable_curations",
  "prioritize_exact_match",
  "prioritize_token_position",
  "prioritize_num_matching_fields",
  "exhaustive_search",
  "use_cache",
  "conversation",
  "conversation_stream",
  "x_device",
  "x_language",
  "x_country"
] as const

export const SearchParameters = Schema.Struct(
  Object.fromEntries(searchParameterNames.map((name) => [name, Schema.optionalKey(Schema.String)])) as Record<
    (typeof searchParameterNames)[number],
    Schema.optionalKey<Schema.String>
  >
).annotate({ identifier: "SearchParameters" })

/**
 * A spoken query (`voice_query`) is an AI operation, and so is one that is answered in words (`conversation`), as
 * events if `conversation_stream` requests them.
 */
const errors = [...searchErrors, ...aiErrors, ...embeddingErrors, OtherSession] as const
const at = {
  plane: "engine",
  scope: "search",
  payloadIsChecked: false,
  group: "search",
  successMedia: ["application/json", "text/event-stream"]
} as const
export const searchCollection = operation({
  ...at,
  ...described.searchCollection,
  id: "searchCollection",
  summary: "Search a collection",
  method: "GET",
  path: "/v1/collections/:collectionName/documents/search",
  query: SearchParameters,
  success: SearchResponse,
  errors
})
export const multiSearch = operation({
  ...at,
  ...described.multiSearch,
  id: "multiSearch",
  summary: "Several searches in one request, side by side or merged (union)",
  method: "POST",
  path: "/v1/multi_search",
  query: SearchParameters,
  payload: Schema.Struct({
    searches: Schema.Array(anything),
    union: Schema.optionalKey(Schema.Boolean),
    remove_duplicates: Schema.optionalKey(Schema.Boolean)
  }).annotate({ identifier: "MultiSearchBody" }),
  success: Schema.Unknown.annotate({
    identifier: "MultiSearchResponse",
    description: "`{results: [SearchResponse | {code, error}], conversation?}`, or one merged answer with `union`."
  }),
  errors
})
