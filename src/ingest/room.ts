/** Imports from sources that the service reads itself. */
import { Clock, Effect, Layer } from "effect"
import { Crawler } from "./crawl/crawl.ts"
import { crawlExpiries } from "./crawl/crawl-repository.ts"
import { FetchPage } from "./crawl/fetch-page.ts"
import { Hosts } from "./crawl/hosts.ts"
import { migrations as crawlMigrations } from "./crawl/migration.ts"
import { PageReader } from "./crawl/reading/page-reader.ts"
import { VisitPage } from "./crawl/visit-page.ts"
import { KeptFeeds } from "./feeds/kept-feeds.ts"
import { Ingest } from "./ingest.ts"
import { migrations } from "./migrations.ts"
import { routes } from "./routes.ts"
import { seeds } from "./seeds.ts"
import { defineRoom } from "../room.ts"
import { errorSamples } from "./error-samples.ts"
import { metrics } from "./metrics.ts"
import { Uploads } from "./uploads.ts"

/** Shared services of crawls, below the page reader. */
const crawlLayer = Crawler.layer.pipe(
  Layer.provide(VisitPage.layer),
  Layer.provide(Layer.mergeAll(FetchPage.layer, PageReader.layer())),
  Layer.provideMerge(Hosts.layer)
)
/** The collection that a body or a query names. */
const named = (value: unknown): ReadonlyArray<string> => (typeof value === "string" ? [value] : [])
const inQuery = ({ search }: { readonly search: Readonly<Record<string, string>> }) => named(search.collection)

export const room = defineRoom({
  name: "ingest",
  routes,
  errorSamples,
  metrics,
  migrations: { ...migrations, ...crawlMigrations },
  expiries: [(rowsMax) => Effect.flatMap(Clock.currentTimeMillis, (now) => crawlExpiries(now, rowsMax))],
  reaches: {
    createIngestJob: ({ body }) => named((body as { readonly collection?: unknown } | null | undefined)?.collection),
    uploadIngestFeed: inQuery,
    createIngestUpload: inQuery,
    getIngestUpload: "filtered",
    appendIngestUpload: "filtered",
    deleteIngestUpload: "filtered",
    reindexCollection: "path",
    listIngestJobs: "filtered",
    getIngestJob: "filtered",
    cancelIngestJob: "filtered"
  },
  groups: {
    "ingest jobs": "Jobs that write many documents.",
    "ingest uploads": "Feeds that are uploaded, whole or in parts that can be resumed, to be imported by a job."
  },
  seeds,
  layer: Layer.provideMerge(
    Uploads.layer,
    Layer.provideMerge(Ingest.layer, Layer.mergeAll(KeptFeeds.layer, crawlLayer))
  )
})
