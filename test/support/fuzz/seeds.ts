/** Bodies that operations with rules of their own take, for hostile ones to start from; any other starts from its schema. */
export const seeds: Readonly<Record<string, ReadonlyArray<unknown>>> = {
  createCollection: [{ name: "fresh", fields: [{ name: "title", type: "string", facet: true }, { name: "n", type: "int32", optional: true }] }, { name: "fresh2", fields: [{ name: ".*", type: "auto" }], enable_nested_fields: true, token_separators: ["-"] }],
  updateCollection: [{ metadata: { touched: true } }, { fields: [{ name: "more", type: "string", optional: true }] }, { fields: [{ name: "more", drop: true }] }],
  indexDocument: [{ id: "n1", title: "One", stock: 1, price: 1.5, tags: ["a"], place: [1, 2], is_new: true, maker: "m1", detail: { size: 1 }, vector: [1, 2, 3, 4] }, { code: "m9", name: "Nine" }],
  updateDocument: [{ title: "Changed", stock: 5 }, { name: "Changed" }],
  updateDocuments: [{ title: "Changed" }],
  upsertAlias: [{ collection_name: "goods" }],
  upsertPreset: [{ value: { q: "title" } }, { value: { searches: [{ q: "a" }] } }],
  upsertSynonymSet: [{ items: [{ id: "two", synonyms: ["a", "b"] }, { id: "three", root: "c", synonyms: ["a"] }] }],
  upsertSynonymItem: [{ synonyms: ["a", "b"] }],
  upsertCurationSet: [{ items: [{ id: "two", rule: { query: "x", match: "exact" }, excludes: [{ id: "d1" }], filter_by: "stock:>1", sort_by: "stock:desc" }] }],
  upsertCurationItem: [{ rule: { query: "x {tags}", match: "contains" }, includes: [{ id: "d1", position: 1 }], replace_query: "title" }],
  upsertStopwords: [{ stopwords: ["of", "the"], locale: "en" }],
  upsertSearchRule: [{
    exclusion_filter_by: "stock:>500", zero_hits_fallback: "popular", boosts: [{ filter_by: "tags:=t1", weight: 5 }], pins: [{ doc_id: "d5", position: 1, priority: 1 }], redirects: [{ query: "go", url: "/go", match: "exact" }], suggestions: [{ query: "t", suggestions: ["title"] }], diversity: [{ field: "title", max: 1 }], banners: [{ id: "b", content: { text: "x" } }], sponsored: [{ doc_id: "d7", position: 2, label: "Ad", campaign_id: "c" }], starts_at: "2026-01-01T00:00:00Z"
  }, { pins: [{ doc_id: "d5", position: 1 }] }, { redirects: [{ query: "x", url: "/x" }] }],
  previewSearchRule: [{ search: { q: "title", query_by: "title", filter_by: "stock:>1", sort_by: "stock:desc" }, rules: { pins: [{ doc_id: "d5", position: 1 }], exclusion_filter_by: "stock:>10" }, device: "mobile" }, { search: { q: "*" } }],
  multiSearch: [
    { searches: [{ collection: "goods", q: "title", query_by: "title", facet_by: "tags", include_fields: "*,$makers(*)" }, { collection: "shop", q: "*", filter_by: "$makers(code:=m1)", sort_by: "_eval(stock:>1):desc", group_by: "tags" }] },
    { union: true, searches: [{ collection: "goods", q: "title", query_by: "title" }, { collection: "spare", q: "*" }] },
    { searches: [{ collection: "goods", q: "*", vector_query: "vector:([1,2,3,4], k: 5)" }, { preset: "one", collection: "goods", query_by: "title" }] }
  ],
  ingestEvents: [{ events: [{ type: "click", collection: "goods", event_id: "f1", session_id: "s", document_id: "d1", position: 1, q: "title" }, { type: "purchase", collection: "goods", event_id: "f2", user_id: "u", items: [{ document_id: "d1", quantity: 2, price: 9.5 }], revenue: 19, currency: "EUR", metadata: { a: 1 } }] }, { events: [{ type: "search", q: "title", filter_by: "tags:=t1 && stock:>1", collection: "goods", event_id: "f3", anonymous_id: "x", results_found: 0, timestamp: 1_795_000_000_000 }] }],
  replayEvents: [{ from: "2026-01-01", to: "2026-12-31", target: "analytics" }],
  retryFailedEvents: [{}],
  createAnalyticsRule: [{ name: "fresh", type: "counter", collection: "goods", event_type: "click", params: { counter_field: "stock", weight: 1 } }, { name: "pq", type: "popular_queries", collection: "goods", event_type: "search", params: { destination_collection: "spare", limit: 10 } }, [{ name: "l", type: "log", collection: "goods", event_type: "click", params: {} }]],
  upsertAnalyticsRule: [{ type: "counter", collection: "goods", event_type: "click", params: { counter_field: "stock", weight: 1 } }],
  createKey: [{ description: "k", scope: "search", collections: ["goods", "sp.*"], filter_by: { goods: "stock:>1" }, fields: ["title"], cidrs: ["127.0.0.0/8"], origins: ["https://*.shop.example"], rate_limit_per_minute: 5 }, { description: "k", actions: ["documents:search"], collections: ["*"] }],
  createBrowserKey: [{ ttl_seconds: 60, collections: ["goods"], filter_by: { goods: "stock:>1" }, origins: ["https://shop.example"] }, {}],
  createWebhook: [{ name: "hook", url: "https://hooks.example/x", events: ["*"] }],
  updateWebhook: [{ name: "hook", url: "https://hooks.example/y", events: ["alert.fired"], enabled: false }],
  recoverWebhook: [{ since: 1_790_000_000_000 }],
  createMember: [{ email: "a@b.example", name: "A", role: "member", password: "a long enough password" }],
  updateMember: [{ role: "admin" }, { name: "B" }],
  createOrganizationKey: [{ description: "k", scope: "search" }, { scope: "full", rate_limit_per_minute: 5 }],
  reindexCollection: [{}]
}
