/** Benches of the engine and of the layers around a search. */
import { Option } from "effect"
import { Command, Flag } from "effect/cli"
import {
  benchAccess,
  benchConfiguration,
  benchEngine,
  benchFirstSearches,
  benchPackage,
  benchOpensearch,
  benchProfiles,
  benchRemoteEngine,
  benchRelevance,
  benchSearch,
  benchSearchWorkers,
  benchTogether,
  benchVectors
} from "../bench.ts"
import { optionalText, inputs, inputsOf, load } from "./bench-flags.ts"

export const engineBenches = [
  Command.make(
    "engine",
    {
      ...inputs,
      realWords: Flag.Boolean("real-words").pipe(
        Flag.withDescription(
          "Generated texts and a third of the queries with function words as often as English has them"
        ),
        Flag.withDefault(false)
      ),
      catalogue: Flag.Literals("catalogue", ["chorus_icecat", "catalogue_goodbooks10k", "catalogue_world_cities"]).pipe(
        Flag.withDescription("A real catalogue beside the project, with queries from its own titles"),
        Flag.optional
      ),
      peer: Flag.Literals("peer", ["lucene", "tantivy", "sqlite", "minisearch", "orama"]).pipe(
        Flag.withDescription("Run a peer in the same run; may be repeated"),
        Flag.between(0, 5)
      ),
      writes: Flag.Boolean("writes").pipe(
        Flag.withDescription(
          "Also imports in memory, on disk and in a worker, with single upserts and searches beside them"
        ),
        Flag.withDefault(false)
      ),
      relevance: Flag.Boolean("relevance").pipe(
        Flag.withDescription("Also each query by ranking=relevance, in turn with the plain one"),
        Flag.withDefault(false)
      ),
      stalls: Flag.Literals("stalls", ["memory", "worker"]).pipe(
        Flag.withDescription(
          "Also what holds the searching thread beside imports, merges and a start, by name, with documents written there or in a worker; may be repeated"
        ),
        Flag.between(0, 2)
      )
    },
    (flags) =>
      benchEngine({
        ...inputsOf(flags),
        realWords: flags.realWords,
        catalogue: Option.getOrUndefined(flags.catalogue),
        peers: flags.peer,
        writes: flags.writes,
        relevance: flags.relevance,
        stalls: flags.stalls
      })
  ).pipe(Command.withDescription("The engine on one thread, in process")),
  Command.make(
    "search",
    {
      ...inputs,
      ...load,
      mixed: Flag.Boolean("mixed").pipe(
        Flag.withDescription("Again while events and documents stream in"),
        Flag.withDefault(false)
      ),
      rules: Flag.Boolean("rules").pipe(
        Flag.withDescription("Again with 1,000 rules, rerank and diversity"),
        Flag.withDefault(false)
      )
    },
    (flags) =>
      benchSearch({
        ...inputsOf(flags),
        seconds: flags.seconds,
        connections: flags.connections,
        rate: Option.getOrUndefined(flags.rate),
        mixed: flags.mixed,
        rules: flags.rules
      })
  ).pipe(Command.withDescription("Searches over HTTP from a load process")),
  Command.make(
    "profiles",
    {
      ...inputs,
      rounds: Flag.Int("rounds").pipe(
        Flag.withDescription("Times that every query is asked both ways"),
        Flag.withDefault(5)
      )
    },
    (flags) => benchProfiles({ ...inputsOf(flags), rounds: flags.rounds })
  ).pipe(Command.withDescription("Searches by a profile beside the same parameters written out")),
  Command.make(
    "search-workers",
    {
      ...inputs,
      rounds: Flag.Int("rounds").pipe(Flag.withDescription("Repeats; medians are shown"), Flag.withDefault(3))
    },
    (flags) => benchSearchWorkers({ ...inputsOf(flags), rounds: flags.rounds })
  ).pipe(Command.withDescription("Searches by 0, 1, 2 and 4 threads over one index, and beside a heavy one")),
  Command.make(
    "first-searches",
    {
      products: Flag.Int("products").pipe(Flag.withDescription("To import"), Flag.withDefault(200_000)),
      seed: inputs.seed,
      workers: Flag.Int("workers").pipe(Flag.withDescription("Search workers"), Flag.withDefault(0)),
      out: inputs.out
    },
    (flags) => benchFirstSearches({ ...flags, out: Option.getOrUndefined(flags.out) })
  ).pipe(Command.withDescription("The cost of the first searches after a start and after a merge")),
  Command.make("remote-engine", inputs, (flags) => benchRemoteEngine(inputsOf(flags))).pipe(
    Command.withDescription("Searches in another process's engine, by its port and by /v1, beside the same in process")
  ),
  Command.make(
    "opensearch",
    {
      ...inputs,
      collections: Flag.Int("collections").pipe(
        Flag.withDescription("Small collections that share the pool"),
        Flag.withDefault(2_000)
      ),
      organizations: Flag.Int("organizations").pipe(Flag.withDescription("Their owners"), Flag.withDefault(200))
    },
    (flags) =>
      benchOpensearch({
        ...inputsOf(flags),
        collections: flags.collections,
        organizations: flags.organizations
      })
  ).pipe(Command.withDescription("A node of OpenSearch behind the port beside the embedded engine")),
  Command.make(
    "together",
    {
      products: Flag.Int("products").pipe(Flag.withDescription("To import"), Flag.withDefault(100_000)),
      events: Flag.Int("events").pipe(
        Flag.withDescription("To stream; a multiple of 800, so that the money comes out even"),
        Flag.withDefault(1_000_000)
      ),
      out: inputs.out
    },
    ({ events, out, products }) => benchTogether({ events, products, out: Option.getOrUndefined(out) })
  ).pipe(Command.withDescription("Kafka, Postgres, OpenSearch, API and streams at once, one of each killed")),
  Command.make(
    "relevance",
    {
      docs: Flag.String("docs").pipe(Flag.withDescription("Documents, .jsonl or .jsonl.gz")),
      queries: Flag.String("queries").pipe(Flag.withDescription("Judged queries {id, text}, .jsonl or .jsonl.gz")),
      qrels: Flag.String("qrels").pipe(Flag.withDescription("Judgments: query, document, grade, separated by tabs")),
      queryBy: Flag.String("query-by").pipe(
        Flag.withDescription("Fields to search, the title first; wildcards allowed")
      ),
      schema: optionalText("schema", "Collection schema, .json (detected by default)"),
      ranking: Flag.Literals("ranking", ["plain", "bm25", "relevance"]).pipe(
        Flag.withDescription("The ranking to measure"),
        Flag.withDefault("relevance" as const)
      ),
      compare: Flag.Boolean("compare").pipe(
        Flag.withDescription("All rankings with intervals, times, and queries with errors"),
        Flag.withDefault(false)
      ),
      embedder: Flag.Literals("embedder", ["none", "minilm", "lsa"]).pipe(
        Flag.withDescription("Also what vectors of this model add to the ranking by words"),
        Flag.withDefault("none" as const)
      ),
      run: optionalText("run", "Write query, document, rank, score, separated by tabs, 100 a query"),
      seed: inputs.seed,
      out: inputs.out
    },
    (flags) =>
      benchRelevance({
        docs: flags.docs,
        queries: flags.queries,
        qrels: flags.qrels,
        queryBy: flags.queryBy,
        ranking: flags.ranking,
        compare: flags.compare,
        embedder: flags.embedder,
        seed: flags.seed,
        schema: Option.getOrUndefined(flags.schema),
        run: Option.getOrUndefined(flags.run),
        out: Option.getOrUndefined(flags.out)
      })
  ).pipe(Command.withDescription("Quality on judged queries: nDCG@10, MRR, recall@100")),
  Command.make(
    "configuration",
    {
      processes: Flag.Int("processes").pipe(Flag.withDefault(5)),
      writes: Flag.Int("writes").pipe(Flag.withDefault(300)),
      seconds: Flag.Int("seconds").pipe(Flag.withDescription("Seconds of doing nothing"), Flag.withDefault(10)),
      out: inputs.out
    },
    (flags) => benchConfiguration({ ...flags, out: Option.getOrUndefined(flags.out) })
  ).pipe(
    Command.withDescription("The cost of a configuration write that every process sees, of a read, and of being idle")
  ),
  Command.make(
    "access",
    {
      organizations: Flag.Int("organizations").pipe(Flag.withDefault(10_000)),
      keys: Flag.Int("keys").pipe(Flag.withDescription("Of each organization"), Flag.withDefault(100)),
      requests: Flag.Int("requests").pipe(Flag.withDescription("Of each kind of key"), Flag.withDefault(100_000)),
      out: inputs.out
    },
    (flags) => benchAccess({ ...flags, out: Option.getOrUndefined(flags.out) })
  ).pipe(Command.withDescription("The cost of key, limits and quota for a request, and of keys at rest")),
  Command.make("package", { out: inputs.out }, (flags) => benchPackage({ out: Option.getOrUndefined(flags.out) })).pipe(
    Command.withDescription("Bytes of each entry of engine-sdk in a bundle")
  ),
  Command.make(
    "vectors",
    {
      vectors: Flag.Int("vectors").pipe(
        Flag.withDescription("Generated vectors of each kind"),
        Flag.withDefault(20_000)
      ),
      dim: Flag.Int("dim").pipe(Flag.withDescription("Dimensions"), Flag.withDefault(384)),
      queryCount: Flag.Int("query-count").pipe(Flag.withDefault(200)),
      approximateFrom: Flag.Int("approximate-from").pipe(
        Flag.withDescription("Vectors from which a segment gets an approximate index"),
        Flag.withDefault(10_000)
      ),
      seed: inputs.seed,
      out: inputs.out
    },
    (flags) =>
      benchVectors({
        vectors: flags.vectors,
        dim: flags.dim,
        queryCount: flags.queryCount,
        approximateFrom: flags.approximateFrom,
        seed: flags.seed,
        out: Option.getOrUndefined(flags.out)
      })
  ).pipe(Command.withDescription("Vector search: approximate beside exact"))
] as const
