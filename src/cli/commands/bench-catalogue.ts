/** Benches of catalogue imports, of search by meaning, and of answers. */
import { Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import {
  benchAssistants,
  benchEmbeddings,
  benchVoice,
  benchVoiceStream,
  benchQuality,
  benchCrawl,
  benchFeeds,
  benchGraph,
  benchImages,
  benchSeo,
  benchSynonyms,
  benchRequests,
  benchUnderstanding,
  writeFixtures
} from "../bench.ts"
import { inputs, load } from "./bench-flags.ts"

export const catalogueBenches = [
  Command.make(
    "fixtures",
    {
      folder: Argument.String("folder"),
      products: inputs.products,
      queryCount: inputs.queryCount,
      seed: inputs.seed,
      sessions: Flag.Int("sessions").pipe(Flag.withDescription("Generated visitor sessions"), Flag.withDefault(1_000))
    },
    ({ folder, products, queryCount, seed, sessions }) =>
      writeFixtures({ folder, products, queries: queryCount, sessions, seed })
  ).pipe(Command.withDescription("Write generated documents, queries, judgments and events as files")),
  Command.make(
    "feeds",
    {
      offers: Flag.Int("offers").pipe(Flag.withDescription("Of the feed that is read"), Flag.withDefault(1_000_000)),
      imported: Flag.Int("imported").pipe(Flag.withDescription("Of one that is imported"), Flag.withDefault(100_000)),
      seed: inputs.seed,
      out: inputs.out
    },
    (flags) => benchFeeds({ ...flags, out: Option.getOrUndefined(flags.out) })
  ).pipe(Command.withDescription("A YML feed: read alone, and imported by the whole program")),
  Command.make(
    "crawl",
    {
      pages: Flag.Int("pages").pipe(Flag.withDescription("Of the site"), Flag.withDefault(1_000)),
      out: inputs.out
    },
    (flags) => benchCrawl({ ...flags, out: Option.getOrUndefined(flags.out) })
  ).pipe(Command.withDescription("Pages of a site on loopback, crawled by the whole program")),
  Command.make(
    "requests",
    {
      count: Flag.Int("count").pipe(Flag.withDescription("Generated requests"), Flag.withDefault(500)),
      seed: Flag.Int("seed").pipe(Flag.withDescription("Of the requests"), Flag.withDefault(1)),
      out: inputs.out
    },
    (flags) => benchRequests({ ...flags, out: Option.getOrUndefined(flags.out) })
  ).pipe(
    Command.withDescription("How often requests in words are read exactly as they are meant, by language, and how fast")
  ),
  Command.make(
    "understanding",
    {
      queryCount: Flag.Int("query-count").pipe(
        Flag.withDescription("Generated queries of each kind"),
        Flag.withDefault(2_000)
      ),
      out: inputs.out
    },
    (flags) => benchUnderstanding({ ...flags, out: Option.getOrUndefined(flags.out) })
  ).pipe(Command.withDescription("The cost and the accuracy of understanding, correcting and rewriting a query")),
  Command.make(
    "quality",
    {
      products: Flag.Int("products").pipe(Flag.withDefault(20_000)),
      queryCount: Flag.Int("query-count").pipe(Flag.withDescription("Judged queries"), Flag.withDefault(1_000)),
      seconds: load.seconds,
      rate: Flag.Int("rate").pipe(Flag.withDescription("Searches a second beside the runs"), Flag.withDefault(200)),
      seed: inputs.seed,
      out: inputs.out
    },
    (flags) => benchQuality({ ...flags, out: Option.getOrUndefined(flags.out) })
  ).pipe(Command.withDescription("A run of a quality suite, and what searches beside it notice")),
  Command.make(
    "seo",
    {
      products: Flag.Int("products").pipe(Flag.withDefault(100_000)),
      values: Flag.Int("values").pipe(Flag.withDescription("Values that get a page"), Flag.withDefault(10_000)),
      seconds: load.seconds,
      rate: Flag.Int("rate").pipe(Flag.withDescription("Searches a second beside it"), Flag.withDefault(200)),
      seed: inputs.seed,
      out: inputs.out
    },
    (flags) => benchSeo({ ...flags, out: Option.getOrUndefined(flags.out) })
  ).pipe(Command.withDescription("Landing pages of all values of a field, and what searches beside it notice")),
  Command.make(
    "assistants",
    {
      data: Flag.String("data").pipe(Flag.withDescription("Folder of XQuAD: documents, questions, judgments")),
      languages: Flag.String("languages").pipe(
        Flag.withDescription("Of en, de, es, zh and ar"),
        Flag.withDefault("en,de,es,zh,ar")
      ),
      threshold: Flag.Finite("threshold").pipe(
        Flag.withDescription("Share of a question that a sentence has to hold"),
        Flag.withDefault(0.5)
      ),
      out: inputs.out
    },
    (flags) => benchAssistants({ ...flags, out: Option.getOrUndefined(flags.out) })
  ).pipe(
    Command.withDescription("How often the embedded model says the sentence that answers, and refuses where none does")
  ),
  Command.make(
    "embeddings",
    {
      products: Flag.Int("products").pipe(
        Flag.withDescription("Generated products, embedded beside a program that answers searches (0: none)"),
        Flag.withDefault(20_000)
      ),
      portable: Flag.Boolean("portable").pipe(
        Flag.withDescription("The model in WebAssembly"),
        Flag.withDefault(false)
      ),
      seconds: load.seconds,
      rate: Flag.Int("rate").pipe(Flag.withDescription("Searches a second beside it"), Flag.withDefault(200)),
      seed: inputs.seed,
      out: inputs.out
    },
    ({ out, portable, ...flags }) =>
      benchEmbeddings({ ...flags, isPortable: portable, out: Option.getOrUndefined(out) })
  ).pipe(
    Command.withDescription("Vectors of texts by the embedded model: time, memory, and a catalogue beside serving")
  ),
  Command.make(
    "voice",
    {
      texts: Flag.Int("texts").pipe(Flag.withDescription("Product queries"), Flag.withDefault(200)),
      voices: Flag.String("voices").pipe(
        Flag.withDescription("Synthetic voices, with commas, each of which speaks all of them"),
        Flag.withDefault("joe,af_heart,am_michael,slt,rms,kal")
      ),
      seed: inputs.seed,
      out: inputs.out
    },
    (flags) => benchVoice({ ...flags, out: Option.getOrUndefined(flags.out) })
  ).pipe(Command.withDescription("Spoken product queries: wrong words, the right product, time")),
  Command.make(
    "voice-stream",
    {
      streams: Flag.Int("streams").pipe(Flag.withDescription("Open at once, at most 250"), Flag.withDefault(200)),
      seconds: Flag.Int("seconds").pipe(Flag.withDescription("Duration of each load"), Flag.withDefault(10)),
      times: Flag.Int("times").pipe(Flag.withDescription("Five seconds are spoken so often"), Flag.withDefault(5)),
      out: inputs.out
    },
    (flags) => benchVoiceStream({ ...flags, out: Option.getOrUndefined(flags.out) })
  ).pipe(Command.withDescription("Live voice streams: what idle ones cost, how soon somebody is heard")),
  Command.make(
    "graph",
    {
      products: Flag.Int("products").pipe(Flag.withDefault(100_000)),
      seconds: load.seconds,
      rate: Flag.Int("rate").pipe(Flag.withDescription("Searches a second beside it"), Flag.withDefault(200)),
      seed: inputs.seed,
      out: inputs.out
    },
    (flags) => benchGraph({ ...flags, out: Option.getOrUndefined(flags.out) })
  ).pipe(Command.withDescription("Entities and communities of a collection, and what searches beside it notice")),
  Command.make(
    "images",
    {
      pictures: Flag.Int("pictures").pipe(Flag.withDescription("Drawn pictures"), Flag.withDefault(1_000)),
      seed: inputs.seed,
      out: inputs.out
    },
    (flags) => benchImages({ ...flags, out: Option.getOrUndefined(flags.out) })
  ).pipe(Command.withDescription("Pictures found again that were changed, look-alikes, and pictures a second")),
  Command.make(
    "synonyms",
    {
      products: Flag.Int("products").pipe(Flag.withDefault(5_000)),
      sessions: Flag.Int("sessions").pipe(Flag.withDescription("Generated visitors"), Flag.withDefault(20_000)),
      planted: Flag.Int("planted").pipe(Flag.withDescription("Planted synonyms"), Flag.withDefault(60)),
      seed: inputs.seed,
      out: inputs.out
    },
    (flags) => benchSynonyms({ ...flags, out: Option.getOrUndefined(flags.out) })
  ).pipe(Command.withDescription("How many planted synonyms are found, and how many suggestions are none"))
] as const
