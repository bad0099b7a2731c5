/**
 * The lanes of `npm run bench`: every bench with inputs so small that the complete run takes a few minutes, and the
 * figures of its JSON that the table shows. This is the only file to change when a lane is added.
 */
import { existsSync } from "node:fs"
import { join } from "node:path"
import { catalogueMissing, catalogueNames } from "../inputs/catalogues.ts"
import { embeddingsMissing } from "../lanes/embeddings.ts"
import { voiceMissing } from "../lanes/voice.ts"
import { luceneMissing } from "../peers/lucene.ts"

export interface Figure {
  readonly name: string
  readonly unit: string
  /** Its path in the bench's JSON. */ readonly path: ReadonlyArray<string>
}
export interface Lane {
  readonly name: string
  /** Arguments of `dowser bench`, without `--out`. `folder` is an empty folder for this lane, removed afterwards. */
  readonly arguments: (folder: string) => ReadonlyArray<string>
  readonly figures: ReadonlyArray<Figure>
  /** The reason why it cannot run here. */ readonly missing?: () => string | undefined
  /** Arguments of a preceding run that writes the inputs. */ readonly prepare?: (
    folder: string
  ) => ReadonlyArray<string>
}

const figure = (name: string, unit: string, ...path: ReadonlyArray<string>): Figure => ({
  name,
  unit,
  path: path.length === 0 ? [name] : path
})
const data = new URL("../../../shared/data/", import.meta.url).pathname
const judgedSet = (name: string, queries: string, queryBy: string): Lane => ({
  name: `relevance ${name}`,
  missing: () =>
    existsSync(join(data, name)) ? undefined : `the judged set ${name} is not beside the project (../shared/data)`,
  arguments: () => [
    "relevance",
    "--docs",
    join(data, name, "docs.jsonl.gz"),
    "--queries",
    join(data, name, queries),
    "--qrels",
    join(data, name, "qrels.tsv"),
    "--query-by",
    queryBy
  ],
  figures: [figure("nDCG@10", ""), figure("recall@100", "")]
})
/** The same lane, with vectors of one of this program's models in addition to words. */
const judgedByMeaning = (name: string, queries: string, queryBy: string, embedder: "minilm" | "lsa"): Lane => {
  const lane = judgedSet(name, queries, queryBy)
  return {
    ...lane,
    name: embedder === "lsa" ? `semantic ${name}, trained on it` : `semantic ${name}`,
    missing: () => lane.missing?.() ?? (embedder === "lsa" ? undefined : embeddingsMissing()),
    arguments: (folder) => [...lane.arguments(folder), "--embedder", embedder],
    figures: [
      figure("nDCG@10 by words", "", "nDCG@10"),
      figure("nDCG@10 by vectors", "", "meaning", "vectors_alone"),
      figure("nDCG@10, scores fused", "", "meaning", "scores_0.5"),
      figure("nDCG@10, ranks fused", "", "meaning", "ranks_0.3")
    ]
  }
}
const sharedMissing = (name: string) => (): string | undefined =>
  existsSync(join(data, name)) ? undefined : `the data ${name} is not beside the project (../shared/data)`
const popularQueries = join(data, "query_suggestions_bestbuy", "suggestions.jsonl.gz")
const pipelineFigures: ReadonlyArray<Figure> = [
  figure("whole pipeline, p50", "ms", "p50_ms"),
  figure("whole pipeline, p99", "ms", "p99_ms"),
  figure("matching 10,000 rules, p99", "ms", "match_p99_ms"),
  figure("MMR, p50", "µs", "stages", "mmr", "p50_us"),
  figure("nDCG@10 before", "", "quality", "ndcg_before"),
  figure("nDCG@10, rerank", "", "quality", "ndcg_rerank"),
  figure("nDCG@10, diversity", "", "quality", "ndcg_diversity"),
  figure("nDCG@10 after", "", "quality", "ndcg_after"),
  figure("brands in ten before", "", "quality", "distinct_brands_before"),
  figure("brands in ten after", "", "quality", "distinct_brands_after"),
  figure("intra-list distance before", "", "quality", "intra_list_distance_before"),
  figure("intra-list distance after", "", "quality", "intra_list_distance_after")
]
const engineInputs = ["engine", "--products", "20000", "--query-count", "500"]

export const lanes: ReadonlyArray<Lane> = [
  {
    name: "engine",
    arguments: () => engineInputs,
    figures: [
      figure("index", "bytes/document", "index_bytes_per_doc"),
      figure("import", "documents/s", "import_docs_per_s"),
      figure("queries", "/s", "qps"),
      figure("p50", "ms", "p50_ms"),
      figure("p99", "ms", "p99_ms")
    ]
  },
  {
    name: "engine, real words",
    arguments: () => ["engine", "--real-words", "--query-count", "3000"],
    figures: [
      figure("queries", "/s", "qps"),
      figure("p50", "ms", "p50_ms"),
      figure("p99", "ms", "p99_ms"),
      figure("p99 with function words", "ms", "classes", "with function words", "p99_ms"),
      figure("p99 without", "ms", "classes", "without function words", "p99_ms"),
      figure('search for "to"', "ns/match", "common_word", "ns_a_match"),
      figure("its facets", "ns/match and facet", "common_word", "ns_a_match_and_facet")
    ]
  },
  ...catalogueNames.map((name) => ({
    name: `engine, ${name}`,
    missing: () => catalogueMissing(name),
    arguments: () => ["engine", "--catalogue", name, "--query-count", "3000"],
    figures: [figure("queries", "/s", "qps"), figure("p50", "ms", "p50_ms"), figure("p99", "ms", "p99_ms")]
  })),
  {
    name: "engine writes",
    arguments: () => [...engineInputs, "--writes"],
    figures: [
      figure("import, memory", "documents/processor s", "writes", "memory", "import_docs_per_processor_s_first_thread"),
      figure("import, disk", "documents/processor s", "writes", "disk", "import_docs_per_processor_s_first_thread"),
      figure("import, worker", "documents/s", "writes", "worker", "import_docs_per_s"),
      ...["memory", "disk", "worker"].flatMap((mode) => [
        figure(`upsert beside it found, ${mode}, p50`, "ms", "writes", mode, "found", "p50_ms"),
        figure(`upsert beside it found, ${mode}, p99`, "ms", "writes", mode, "found", "p99_ms"),
        figure(`upsert beside searches found, ${mode}, p99`, "ms", "writes", mode, "alone_found", "p99_ms")
      ])
    ]
  },
  {
    name: "engine stalls",
    arguments: () => [...engineInputs, "--stalls", "memory", "--stalls", "worker"],
    figures: ["memory", "worker"].flatMap((mode) => [
      figure(
        `between searches beside merges, ${mode}, p99`,
        "ms",
        "stalls",
        mode,
        "phases",
        "merging",
        "held",
        "p99_ms"
      ),
      figure(
        `longest between searches without the collector, ${mode}`,
        "ms",
        "stalls",
        mode,
        "between_searches_max_without_collector_ms"
      )
    ])
  },
  {
    name: "engine beside Lucene",
    missing: luceneMissing,
    arguments: () => [...engineInputs, "--peer", "lucene"],
    figures: [
      figure("queries, Lucene", "/s", "peers", "lucene", "qps"),
      figure("p99, Lucene", "ms", "peers", "lucene", "p99_ms"),
      figure("queries, ours / Lucene", "", "peers", "lucene", "qps_ratio")
    ]
  },
  {
    name: "search",
    arguments: () => ["search", "--products", "10000", "--query-count", "500", "--seconds", "1"],
    figures: [
      ...[0, 1].flatMap((workers) => {
        const of = `workers_${workers}`,
          name = workers === 0 ? "no worker" : "one worker"
        return [
          figure(`memory, ${name}`, "MB", of, "rss_mb"),
          figure(`one connection, ${name}, p50`, "ms", of, "one_connection", "p50_ms"),
          figure(`peak, ${name}`, "queries/s", of, "peak_qps"),
          figure(`processor time, ${name}`, "ms/search", of, "peak", "processor_ms_server"),
          figure(`fixed rate, ${name}, p99`, "ms", of, "quiet", "p99_ms")
        ]
      })
    ]
  },
  {
    name: "first-searches",
    arguments: () => ["first-searches", "--products", "50000"],
    figures: [
      figure("first facet after a start", "ms", "practised", "start", "facet", "first_ms"),
      figure("first relevance search after a start", "ms", "practised", "start", "relevance", "first_ms"),
      figure("first facet after a merge", "ms", "compiled", "merge", "facet", "first_ms"),
      figure("first relevance search after a merge", "ms", "compiled", "merge", "relevance", "first_ms")
    ]
  },
  {
    name: "search-workers",
    arguments: () => ["search-workers", "--products", "20000", "--query-count", "1000", "--rounds", "1"],
    figures: [
      figure("one worker", "queries/s", "workers_1", "queries_per_s"),
      figure("two workers / one", "", "two_to_one"),
      figure("no worker", "processor ms/search", "workers_0", "processor_ms"),
      figure("two workers", "processor ms/search", "workers_2", "processor_ms"),
      figure("of it where searches arrive", "processor ms/search", "workers_2", "processor_ms_front"),
      figure("p99 beside a heavy search / quiet", "", "heavy_to_quiet_p99_of_two")
    ]
  },
  {
    name: "profiles",
    arguments: () => ["profiles", "--products", "10000", "--query-count", "1000", "--rounds", "4"],
    figures: [
      figure("written out, p50", "µs", "written_out_p50_us"),
      figure("by a profile beyond it, p50", "µs", "beyond_p50_us"),
      figure("the same in pairs, p50", "µs", "beyond_in_pairs_p50_us")
    ]
  },
  {
    name: "remote-engine",
    arguments: () => ["remote-engine", "--products", "10000", "--query-count", "1000"],
    figures: [
      figure("in process, p50", "ms", "in_process", "p50_ms"),
      figure("another process's engine, p50", "ms", "of_another_process", "p50_ms"),
      figure("another program's /v1, p50", "ms", "of_another_v1", "p50_ms"),
      figure("16 at a time", "queries/s", "together_of_another_process", "queries_per_s"),
      figure("the same over /v1", "queries/s", "together_of_another_v1", "queries_per_s"),
      figure("the same in process", "queries/s", "together_in_process", "queries_per_s")
    ]
  },
  {
    name: "opensearch",
    missing: () =>
      luceneMissing() === undefined
        ? undefined
        : "a node needs Java 17 and Maven (`java` and `mvn` cannot be run here)",
    arguments: () => ["opensearch", "--products", "2000", "--query-count", "100", "--collections", "100"],
    figures: [
      figure("import", "docs/s", "import_docs_per_s"),
      figure("search, p50", "ms", "searches", "opensearch", "p50_ms"),
      figure("written and seen by another engine, p50", "ms", "writes", "written", "p50_ms"),
      figure("heap with 100 small collections more", "MB", "small", "heap_after_mb")
    ]
  },
  {
    name: "together",
    missing: () =>
      luceneMissing() === undefined
        ? undefined
        : "brokers and nodes need Java 17 and Maven (`java` and `mvn` cannot be run here)",
    arguments: () => ["together", "--products", "4000", "--events", "40000"],
    figures: [
      figure("events lost, or counted twice", "", "events_lost"),
      figure("documents lost", "", "documents_lost"),
      figure("searches that nobody answered", "", "searches_failed"),
      figure("search beside all of it, p99", "ms", "searches", "p99_ms")
    ]
  },
  {
    name: "events",
    arguments: () => ["events", "--seconds", "3"],
    figures: [
      figure("accepted", "events/s", "accepted_events_per_s"),
      figure("accepting thread", "events/processor s", "events_per_processor_s_first_thread"),
      figure("whole program", "events/processor s", "events_per_processor_s_all"),
      figure("fixed rate, p99", "ms", "fixed", "p99_ms")
    ]
  },
  {
    name: "counting long visits",
    arguments: () => ["events", "--visitors", "1000", "--events", "100000"],
    figures: [
      figure("memory", "MB", "dealt", "own_mb"),
      figure("usual visits", "events/processor s", "usual_events_per_processor_s"),
      figure("long ones that interleave / usual", "", "ratio")
    ]
  },
  {
    name: "personalization",
    arguments: () => ["personalization", "--products", "10000", "--visitors", "200"],
    figures: [
      figure("a full row", "bytes", "row_bytes"),
      figure("nDCG@10 at strength 0", "", "ndcg_at_10_of_0"),
      figure("gain at strength 0.3", "", "gain_at_03"),
      figure("the stage over 250 hits, p50", "ms", "stage", "p50_ms")
    ]
  },
  {
    name: "configuration",
    arguments: () => ["configuration", "--writes", "100", "--seconds", "3"],
    figures: [
      figure("write, embedded, p50", "ms", "embedded_write", "p50_ms"),
      figure("write, five processes, p50", "ms", "several_write", "p50_ms"),
      figure("write, five processes, p99", "ms", "several_write", "p99_ms"),
      figure("read", "ns", "read_ns"),
      figure("idle", "statements/s and process", "idle_statements_per_s_and_process")
    ]
  },
  {
    name: "access",
    arguments: () => ["access", "--organizations", "500", "--requests", "20000"],
    figures: [
      figure("keys at rest", "bytes/key", "bytes_per_key"),
      figure("plain key, p50", "µs", "check", "plain", "p50_us"),
      figure("plain key, p99", "µs", "check", "plain", "p99_us"),
      figure("signed key, p50", "µs", "check", "secured", "p50_us"),
      figure("restricted key, p50", "µs", "check", "restricted", "p50_us")
    ]
  },
  {
    name: "experiments",
    arguments: () => ["experiments", "--events", "200000"],
    figures: [
      figure("a running experiment, p50", "µs", "step", "running", "p50_us"),
      figure("none running, p50", "µs", "step", "none", "p50_us"),
      figure("24 hits of two rankings merged, p50", "µs", "interleaving", "merge_24", "p50_us"),
      figure("variance that the time before explains", "", "recount", "variance_reduction"),
      figure("sums that differ from the recount", "", "recount", "differences")
    ]
  },
  {
    name: "analytics",
    arguments: () => ["analytics", "--events", "200000", "--queries", "20000", "--reads", "50"],
    figures: [
      figure("differences from a recount", "", "differences"),
      figure("query pages, p95", "ms", "query_pages", "p95_ms"),
      figure("overview, p95", "ms", "overview", "p95_ms")
    ]
  },
  {
    name: "pushes",
    arguments: () => ["pushes", "--documents", "20000"],
    figures: [
      figure("accepted alone", "documents/processor s", "accepted_alone", "per_processor_s"),
      figure("accepted beside applying", "documents/s", "accepted_beside_applying", "per_s"),
      figure("applied", "documents/s", "applied", "per_s")
    ]
  },
  {
    name: "feeds",
    arguments: () => ["feeds", "--offers", "50000", "--imported", "20000"],
    figures: [
      figure("reader alone", "offers/s", "reader", "per_s"),
      figure("reader alone", "offers/processor s", "reader", "per_processor_s"),
      figure("reader alone, highest", "MB", "reader", "rss_highest_mb"),
      figure("windows-1251", "offers/processor s", "reader_windows_1251", "per_processor_s"),
      figure("whole program", "offers/s", "program", "per_s"),
      figure("whole program", "offers/processor s", "program", "per_processor_s"),
      figure("whole program, highest", "MB", "program", "rss_highest_mb")
    ]
  },
  {
    name: "crawl",
    arguments: () => ["crawl", "--pages", "200"],
    figures: [
      figure("pages", "pages/s", "latency_0_ms", "pages_per_s"),
      figure("a page", "processor ms", "latency_0_ms", "processor_ms_per_page"),
      figure("a page, answering thread", "processor ms", "latency_0_ms", "first_thread_ms_per_page"),
      figure("pages of 20 ms", "pages/s", "latency_20_ms", "pages_per_s"),
      figure("highest", "MB", "latency_20_ms", "rss_highest_mb")
    ]
  },
  {
    name: "webhooks",
    arguments: () => ["webhooks", "--events", "200", "--endpoints", "5", "--seconds", "2"],
    figures: [
      figure("one endpoint", "deliveries/s", "one_endpoint", "per_s"),
      figure("many endpoints", "deliveries/s", "many_endpoints", "per_s"),
      figure("whole program", "deliveries/processor s", "many_endpoints", "per_processor_s"),
      figure("beside a hanging one, p99", "ms", "beside_a_hanging_endpoint", "p99_ms")
    ]
  },
  {
    name: "replays",
    arguments: () => ["replays", "--events", "50000", "--seconds", "3"],
    figures: [
      figure("replay", "events/s", "replay", "events_per_s"),
      figure("visible, quiet, p95", "ms", "visible_quiet", "p95_ms"),
      figure("visible beside a replay, p95", "ms", "replay", "visible", "p95_ms"),
      figure("erasure", "s", "erasure", "took_s")
    ]
  },
  {
    name: "embeddings",
    missing: embeddingsMissing,
    arguments: () => ["embeddings", "--products", "2000", "--seconds", "4"],
    figures: [
      figure("a short text", "ms", "short_alone", "ms_per_text"),
      figure("a short text among others", "ms", "short_together", "ms_per_text"),
      figure("100 words", "ms", "words_100_alone", "ms_per_text"),
      figure("memory", "MB", "rss_worked_mb"),
      figure("products", "products/s", "products_per_s"),
      figure("a query beside them, p99", "ms", "query_beside", "p99_ms"),
      figure("searches, quiet, p99", "ms", "searches_quiet", "p99_ms"),
      figure("searches beside them, p99", "ms", "searches_beside", "p99_ms")
    ]
  },
  {
    name: "assistants",
    missing: () =>
      existsSync(join(data, "xquad"))
        ? undefined
        : "the questions of xquad are not beside the project (../shared/data)",
    arguments: () => ["assistants", "--data", join(data, "xquad"), "--languages", "en,de,es"],
    figures: ["en", "de", "es"].flatMap((language) => [
      figure(
        `${language}: the answer is in two sentences`,
        "",
        "languages",
        language,
        "the answer is in two sentences"
      ),
      figure(`${language}: answered`, "", "languages", language, "answered"),
      figure(`${language}: answered rightly`, "", "languages", language, "answered rightly"),
      figure(`${language}: refused without its paragraph`, "", "languages", language, "refused without its paragraph"),
      figure(`${language}: one question, p50`, "ms", "languages", language, "p50_ms")
    ])
  },
  {
    name: "voice",
    missing: voiceMissing,
    arguments: () => ["voice", "--texts", "20", "--voices", "slt"],
    figures: [
      figure("wrong words, as heard", "", "voices", "slt", "wer_raw"),
      figure("wrong words, corrected", "", "voices", "slt", "wer_corrected"),
      figure("right product in the first five", "", "voices", "slt", "first_five"),
      figure("a spoken query, p50", "ms", "voices", "slt", "took", "p50_ms"),
      figure("five seconds of speech, p50", "ms", "five_seconds", "took", "p50_ms")
    ]
  },
  {
    name: "voice-stream",
    arguments: () => ["voice-stream", "--seconds", "5", "--times", "2"],
    figures: [
      figure("200 streams without sound, of a processor", "", "idle_share"),
      figure("200 streams of silence, of a processor", "", "silence_share"),
      figure("first words, of sound", "ms", "first_interim_ms"),
      figure("the end, behind stop", "ms", "final_ms")
    ]
  },
  {
    name: "requests",
    arguments: () => ["requests"],
    figures: [
      figure("read exactly", "", "exact", "all"),
      figure("read exactly, English", "", "exact", "en"),
      figure("read exactly, German", "", "exact", "de"),
      figure("read exactly, Spanish", "", "exact", "es"),
      figure("read exactly, French", "", "exact", "fr"),
      figure("read exactly, Russian", "", "exact", "ru"),
      figure("other words kept", "", "kept"),
      figure("one request, p50", "µs", "p50"),
      figure("one request, p99", "µs", "p99")
    ]
  },
  {
    name: "understanding",
    arguments: () => ["understanding", "--query-count", "500"],
    figures: [
      figure("beyond the search, plain, p50", "µs", "beyond_us", "plain", "p50"),
      figure("beyond the search, plain, p99", "µs", "beyond_us", "plain", "p99"),
      figure("beyond the search, corrected, p50", "µs", "beyond_us", "corrected", "p50"),
      figure("rewriting a query, p50", "µs", "beyond_us", "rewritten", "p50"),
      figure("rewriting a query, p99", "µs", "beyond_us", "rewritten", "p99"),
      figure("values in memory", "bytes/value", "bytes_per_value"),
      figure("found on another layout", "", "shares", "layout"),
      figure("found in another script", "", "shares", "translit"),
      figure("typing errors corrected", "", "shares", "corrected"),
      figure("clean queries left alone", "", "shares", "clean"),
      figure("entities, precision", "", "shares", "entity_precision"),
      figure("entities, recall", "", "shares", "entity_recall")
    ]
  },
  {
    name: "quality",
    arguments: () => ["quality", "--products", "20000", "--query-count", "1000", "--seconds", "4"],
    figures: [
      figure("a run", "s", "run_s"),
      figure("a run, processor time", "s", "run_processor_s"),
      figure("searches alone, p99", "ms", "quiet", "p99_ms"),
      figure("searches beside runs, p99", "ms", "beside_runs", "p99_ms")
    ]
  },
  {
    name: "seo",
    arguments: () => ["seo", "--values", "2000", "--products", "20000", "--seconds", "4"],
    figures: [
      figure("pages of all values", "s", "generation_s"),
      figure("pages of all values, processor time", "s", "generation_processor_s"),
      figure("the same once more", "s", "again_s"),
      figure("an audit", "s", "audit_s"),
      figure("searches alone, p99", "ms", "quiet", "p99_ms"),
      figure("searches beside, p99", "ms", "beside", "p99_ms")
    ]
  },
  {
    name: "graph",
    arguments: () => ["graph", "--products", "20000", "--seconds", "4"],
    figures: [
      figure("graph of 20,000 products", "s", "generation_s"),
      figure("processor time", "s", "generation_processor_s"),
      figure("the same once more", "s", "again_s"),
      figure("searches alone, p99", "ms", "quiet", "p99_ms"),
      figure("searches beside, p99", "ms", "beside", "p99_ms")
    ]
  },
  {
    name: "images",
    arguments: () => ["images", "--pictures", "200"],
    figures: [
      figure("changed pictures found first", "", "first"),
      figure("mean average precision, shape and colour", "", "map_shape_and_colour"),
      figure("looked at", "pictures/processor s", "per_processor_s")
    ]
  },
  {
    name: "synonyms",
    arguments: () => ["synonyms", "--products", "2000", "--sessions", "6000"],
    figures: [
      figure("precision", "", "precision"),
      figure("recall", "", "recall"),
      figure("processor time", "s", "processor_s")
    ]
  },
  {
    name: "suggestions",
    arguments: () => ["suggestions", "--query-count", "5000", "--products", "2000", "--seconds", "2"],
    figures: [
      figure("index", "bytes/query", "in_process", "bytes_per_query"),
      figure("completion, p99", "ms", "in_process", "p99_ms"),
      figure("one connection, p99", "ms", "http", "one_connection", "p99_ms"),
      figure("fixed rate, p99", "ms", "http", "fixed", "p99_ms")
    ]
  },
  {
    name: "suggestions bestbuy",
    missing: () =>
      existsSync(popularQueries)
        ? undefined
        : "the popular queries query_suggestions_bestbuy are not beside the project (../shared/data)",
    arguments: () => [
      "suggestions",
      "--query-count",
      "500",
      "--products",
      "200",
      "--seconds",
      "1",
      "--queries-file",
      popularQueries
    ],
    figures: [
      figure("success@10, 3 letters", "", "quality", "success_3"),
      figure("MRR, 3 letters", "", "quality", "mrr_3"),
      figure("success@10, 6 letters, one wrong", "", "quality", "error_success_6"),
      figure("the same, plain popularity", "", "quality", "plain_error_success_6")
    ]
  },
  {
    name: "relevance generated",
    prepare: (folder) => ["fixtures", folder, "--products", "2000", "--query-count", "200", "--sessions", "10"],
    arguments: (folder) => [
      "relevance",
      "--docs",
      join(folder, "docs.jsonl"),
      "--queries",
      join(folder, "topics.jsonl"),
      "--qrels",
      join(folder, "qrels.tsv"),
      "--schema",
      join(folder, "schema.json"),
      "--query-by",
      "title,brand,category,attributes",
      "--compare"
    ],
    figures: [
      figure("nDCG@10", "", "relevance", "nDCG@10"),
      figure("nDCG@10, our BM25", "", "bm25", "nDCG@10"),
      figure("recall@100", "", "relevance", "recall@100"),
      figure("p50", "ms", "relevance", "p50_ms")
    ]
  },
  judgedSet("cranfield", "queries.jsonl.gz", "title,text"),
  judgedSet("chorus_icecat", "queries.jsonl", "title,supplier,short_description,attr_t_*"),
  judgedByMeaning("cranfield", "queries.jsonl.gz", "title,text", "minilm"),
  judgedByMeaning("cacm", "queries.jsonl.gz", "title,text", "minilm"),
  judgedByMeaning("cranfield", "queries.jsonl.gz", "title,text", "lsa"),
  {
    name: "recommendations, sessions",
    missing: sharedMissing("yoochoose_sessions"),
    arguments: () => [
      "recommendations",
      "--without-ease",
      "--train",
      join(data, "yoochoose_sessions", "train_tr.tsv.gz"),
      "--test",
      join(data, "yoochoose_sessions", "train_valid.tsv.gz")
    ],
    figures: [
      figure("HR@20", "", "model", "hr_at_20"),
      figure("MRR@20", "", "model", "mrr_at_20"),
      figure("answer, p50", "ms", "model", "p50_ms")
    ]
  },
  {
    name: "recommendations, speed",
    arguments: () => ["recommendations", "--kind", "speed", "--items", "20000", "--sessions", "50000"],
    figures: [
      figure("taken", "events/processor s", "taken_events_per_s"),
      figure("state", "bytes/event", "bytes_per_event"),
      figure("answer with a filter, p50", "ms", "answer", "p50_ms"),
      figure("answer with a filter, p99", "ms", "answer", "p99_ms")
    ]
  },
  {
    name: "recommendations, baskets",
    missing: sharedMissing("groceries_baskets"),
    arguments: () => [
      "recommendations",
      "--kind",
      "baskets",
      "--train",
      join(data, "groceries_baskets", "baskets.csv.gz")
    ],
    figures: [
      figure("hit@5", "", "model", "hit_at_5"),
      figure("distinct items", "", "model", "distinct_items"),
      figure("hit@5, EASE", "", "baselines", "ease", "hit_at_5")
    ]
  },
  { name: "pipeline", arguments: () => ["pipeline", "--products", "3000"], figures: pipelineFigures },
  {
    missing: judgedSet("chorus_icecat", "queries.jsonl", "").missing,
    name: "pipeline chorus_icecat",
    figures: pipelineFigures,
    arguments: () => [
      "pipeline",
      "--docs",
      join(data, "chorus_icecat", "docs.jsonl.gz"),
      "--queries",
      join(data, "chorus_icecat", "queries.jsonl"),
      "--qrels",
      join(data, "chorus_icecat", "qrels.tsv")
    ]
  },
  {
    name: "vectors",
    arguments: () => [
      "vectors",
      "--vectors",
      "3000",
      "--dim",
      "64",
      "--query-count",
      "50",
      "--approximate-from",
      "1000"
    ],
    figures: [
      figure("approximate, recall@10", "", "clustered", "approximate, 100 % pass", "recall_at_10"),
      figure("approximate, p50", "ms", "clustered", "approximate, 100 % pass", "p50_ms"),
      figure("exact, p50", "ms", "clustered", "exact, 100 % pass", "p50_ms"),
      figure("with words, p50", "ms", "clustered", "hybrid", "p50_ms"),
      figure("graph", "bytes/vector", "clustered", "graph_bytes_per_vector"),
      figure("vectors and graph, in memory", "bytes/vector", "clustered", "bytes_per_vector_in_memory")
    ]
  },
  {
    name: "package",
    arguments: () => ["package"],
    figures: [
      figure("createSearch, gzip", "kB", "{ createSearch }", "gzip_kb"),
      figure("./query, gzip", "kB", "./query", "gzip_kb")
    ]
  }
]
