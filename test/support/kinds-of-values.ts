/** A small collection with values of each kind, and requests that read each, to compare two engines. */
export const kindsOfValues = {
  fields: [
    { name: "title", type: "string", sort: true, infix: true },
    { name: "tags", type: "string[]", facet: true, optional: true },
    { name: "code", type: "string", optional: true, symbols_to_index: ["+"], token_separators: ["-"] },
    { name: "big", type: "int64", optional: true, facet: true },
    { name: "numbers", type: "int32[]", optional: true, facet: true },
    { name: "score", type: "float", optional: true, facet: true },
    { name: "flags", type: "bool[]", optional: true, facet: true },
    { name: "place", type: "geopoint", optional: true },
    { name: "places", type: "geopoint[]", optional: true },
    { name: "maker", type: "object", optional: true },
    { name: "parts", type: "object[]", optional: true },
    { name: "secret", type: "string", optional: true, store: false },
    { name: "stemmed", type: "string", optional: true, stem: true },
    { name: ".*_found", type: "auto", facet: true, optional: true }
  ],
  documents: [
    {
      id: "a",
      title: "Copper kettle",
      tags: ["Kitchen", "red"],
      code: "C++-11",
      big: "9007199254740993",
      numbers: [1, 5],
      score: 1.5,
      flags: [true],
      place: [48.85, 2.35],
      maker: { name: "Berg", since: 1900 },
      parts: [
        { name: "lid", size: 3 },
        { name: "spout", size: 1 }
      ],
      stemmed: "running shoes"
    },
    {
      id: "b",
      title: "Café crème pot",
      tags: ["kitchen"],
      code: "C-11",
      big: 12,
      numbers: [2],
      score: 2.25,
      flags: [false, true],
      place: [52.52, 13.4],
      places: [
        [48.86, 2.36],
        [40.7, -74]
      ],
      secret: "whisper",
      colour_found: "blue"
    },
    {
      id: "c",
      title: "Rock & Roll, Ltd. (UK)",
      tags: ["Rock & Roll"],
      big: -5,
      score: -3,
      place: [51.5, -0.12],
      maker: { name: "holm", since: 1950 },
      weight_found: 12
    },
    {
      id: "d",
      title: "kettle of copper",
      numbers: [5, 6, 7],
      score: 0,
      parts: [{ name: "handle", size: 1 }],
      stemmed: "run"
    },
    {
      id: "e",
      title: 'T-shirt "quoted" text',
      tags: ["red", "blue", "green"],
      score: 100,
      flags: [],
      place: [48.8566, 2.3522]
    },
    { id: "f", title: "copperkettle joined", big: 7, score: 2.25, colour_found: "blue" },
    { id: "g-é/1", title: "", tags: [] }
  ],
  searches: [
    { q: "*", sort_by: "big:asc" },
    { q: "*", filter_by: "big:=9007199254740993" },
    { q: "*", filter_by: "big:>6", facet_by: "big" },
    { q: "*", filter_by: "numbers:[2..5]", facet_by: "numbers" },
    { q: "*", filter_by: "numbers:!=5" },
    { q: "*", filter_by: "flags:true", facet_by: "flags,score" },
    { q: "*", filter_by: "tags:=`Rock & Roll`" },
    { q: "*", filter_by: "tags:rock" },
    { q: "*", filter_by: "tags:=[kitchen,blue] && score:<5" },
    { q: "*", filter_by: "tags:ki*" },
    { q: "*", filter_by: "title:=copper*" },
    { q: "*", filter_by: "code:=`C++ 11`" },
    { q: "*", filter_by: "place:(48.85, 2.35, 5 km)", sort_by: "place(48.85, 2.35):asc" },
    { q: "*", sort_by: "place(50, 0):desc" },
    { q: "*", sort_by: "place(48.85, 2.35, exclude_radius: 2km):asc, score:desc" },
    { q: "*", filter_by: "place:(49, 2, 49, 3, 48, 3, 48, 2)" },
    { q: "*", filter_by: "places:(48.85, 2.35, 5 km)" },
    { q: "*", filter_by: "maker.name:=Berg" },
    { q: "*", filter_by: "maker.since:>1920" },
    { q: "*", filter_by: "parts.size:1", facet_by: "tags" },
    { q: "berg", query_by: "maker.name" },
    { q: "*", filter_by: "secret:whisper" },
    { q: "*", filter_by: "colour_found:blue", facet_by: "colour_found" },
    { q: "*", filter_by: "weight_found:>10" },
    { q: "*", filter_by: "id:[a,`g-é/1`,zz]" },
    { q: "*", filter_by: "id:!=[a,b]" },
    { q: "copper kettle" },
    { q: '"copper kettle"' },
    { q: "kettle -copper" },
    { q: "copperkettle" },
    { q: "cafe creme" },
    { q: "tshirt" },
    { q: "runs", query_by: "stemmed" },
    { q: "opperk", infix: "always" },
    { q: "opperk", infix: "fallback" },
    { q: "copper nothing" },
    { q: "nothing copper kettle", drop_tokens_threshold: 5 },
    { q: "ketle", num_typos: 0 },
    { q: "ketle", num_typos: 1 },
    { q: "kettle", sort_by: "_text_match(buckets: 2):desc,score:asc" },
    { q: "*", sort_by: "score(missing_values: first):desc" },
    { q: "*", sort_by: "title:desc" },
    { q: "*", sort_by: "title(missing_values: first):asc" },
    { q: "*", sort_by: "_rand(42):asc" },
    { q: "*", sort_by: "score(origin: 2, func: gauss, scale: 1, decay: 0.5):desc" },
    { q: "*", sort_by: "score(origin: 2, func: linear, scale: 3, decay: 0.5):asc" },
    { q: "*", sort_by: "score(origin: 2, func: diff, scale: 1):asc" },
    { q: "*", group_by: "score" },
    { q: "*", group_by: "colour_found,score", group_limit: 1 },
    { q: "*", group_by: "colour_found", group_missing_values: false },
    { q: "*", facet_by: "tags", facet_query: "tags:bl", max_facet_values: 2 },
    { q: "*", facet_by: "score(low:[-10,1],high:[1,1000])" },
    { q: "*", facet_by: "tags(sort_by: _alpha:desc)" },
    { q: "*", include_fields: "title,maker", exclude_fields: "maker.since" },
    { q: "kettle", highlight_full_fields: "title", highlight_fields: "title", prefix: false },
    { q: "kettle", pinned_hits: "e:1,c:2", hidden_hits: "d", filter_curated_hits: true, filter_by: "score:>1" },
    { q: "kettle", pinned_hits: "e:1,c:2", facet_by: "tags" },
    { q: "*", per_page: 2, page: 3 },
    { q: "*", offset: 1, limit: 3 },
    { q: "*", per_page: 0, facet_by: "tags" },
    { q: "kettle", query_by: "nothing" },
    { q: "*", sort_by: "nothing:asc" },
    { q: "*", filter_by: "nothing:1" }
  ] as ReadonlyArray<Record<string, string | number | boolean>>,
  /** In this order: reads, then writes. */
  operations: [
    [
      "POST",
      "/multi_search",
      {
        union: true,
        searches: [
          { collection: "things", q: "kettle", query_by: "title" },
          { collection: "things", q: "pot", query_by: "title" }
        ]
      }
    ],
    [
      "POST",
      "/multi_search",
      {
        union: true,
        remove_duplicates: true,
        searches: [
          { collection: "things", q: "kettle", query_by: "title" },
          { collection: "things", q: "*", query_by: "title" }
        ]
      }
    ],
    [
      "POST",
      "/multi_search",
      {
        searches: [
          { collection: "things", q: "kettle", query_by: "title" },
          { collection: "nope", q: "pot", query_by: "title" }
        ]
      }
    ],
    ["GET", "/collections/things"],
    ["GET", "/collections/things/documents/g-%C3%A9%2F1"],
    ["PATCH", "/collections/things/documents/a", { score: 9, tags: null }],
    ["PATCH", "/collections/things/documents?filter_by=score:%3E2", { tags: ["changed"] }],
    ["GET", "/collections/things/documents/export"],
    ["GET", "/collections/things/documents/export?filter_by=tags:changed&include_fields=id,tags"],
    ["DELETE", "/collections/things/documents?filter_by=tags:changed&return_id=true"],
    [
      "POST",
      "/collections/things/documents/import?action=upsert&return_id=true",
      '{"id":"a","title":"again"}\n{"title":7}\n{"id":"zz"}\nnot json\n{"id":"new","title":"New","extra_found":[1,2]}\n{"id":"new","title":"Newer"}'
    ],
    ["POST", "/collections/things/documents/import?action=create", '{"id":"new","title":"again"}'],
    ["POST", "/collections/things/documents/import?action=emplace&dirty_values=drop", '{"id":"new","score":"x"}'],
    [
      "PATCH",
      "/collections/things",
      {
        fields: [
          { name: "code", drop: true },
          { name: "extra", type: "string", optional: true }
        ]
      }
    ],
    ["GET", "/collections/things/documents/search?q=*&filter_by=extra_found:2&query_by=title"],
    ["PUT", "/synonym_sets/s", { items: [{ id: "1", synonyms: ["pot", "kettle"] }] }],
    ["GET", "/collections/things/documents/search?q=pot&query_by=title&synonym_sets=s"],
    ["DELETE", "/collections/things"],
    ["GET", "/collections/things/documents/search?q=pot&query_by=title"]
  ] as ReadonlyArray<readonly [method: string, path: string, body?: unknown]>
}
