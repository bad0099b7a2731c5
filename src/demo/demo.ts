/**
 * The demo shop: its organization and collection, the key of its page, and the figures in its strip. The page's key
 * is created at every start and the previous one revoked, because no key is stored in plain text.
 */
import { readFileSync, renameSync, writeFileSync } from "node:fs"
import { Clock, Context, Effect, Layer } from "effect"
import { Access, NEVER_EXPIRES } from "../access/access.ts"
import { Analytics } from "../analytics/service.ts"
import { Ingest } from "../ingest/ingest.ts"
import { type Looked, looksOf, makeLooks } from "./looks.ts"
import { type DemoModels, makeDemoModels } from "./models.ts"
import { makeStorefront } from "./storefront.ts"

interface Shop {
  readonly organizationId: string
  readonly collection: string
  readonly searchKey: string
  readonly models: DemoModels
}

/** Figures in the page's strip, over the last 24 hours. */
interface Figures {
  readonly searches: number
  readonly clicks: number
  readonly add_to_carts: number
  readonly purchases: number
  readonly revenue: number
  readonly ctr: number
  readonly zero_result_rate: number
  readonly popular: ReadonlyArray<string>
  readonly feed?: {
    readonly name: string
    readonly status: string
    readonly progress: number
    readonly imported: number
  }
}

/** What a data folder stores about its demo. */
interface DemoRecord {
  readonly organization_id: string
  readonly collection: string
  readonly is_seeded: boolean
}

const pageKeyDescription = "Demo page"
const DAY_MS = 86_400_000
const POPULAR_SHOWN = 5

export const readDemoRecord = (file: string): DemoRecord | undefined => {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as DemoRecord
  } catch (error) {
    if ((error as { readonly code?: string }).code === "ENOENT") return undefined
    throw error
  }
}
export const writeDemoRecord = (file: string, record: DemoRecord): void => {
  writeFileSync(`${file}.new`, JSON.stringify(record))
  renameSync(`${file}.new`, file)
}

export class Demo extends Context.Service<
  Demo,
  {
    /** Undefined until the shop is open, and always if there is no demo. */ readonly shop: () => Shop | undefined
    readonly open: (organizationId: string, collection: string) => Effect.Effect<Shop>
    readonly figures: (shop: Shop) => Effect.Effect<Figures>
    /** Starts indexing the shop's pictures, unless that has begun, and returns the progress. */
    readonly looks: (shop: Shop) => Effect.Effect<Looked>
  }
>()("dowser/demo/Demo") {
  static readonly layer = Layer.effect(
    Demo,
    Effect.gen(function* () {
      const access = yield* Access
      const analytics = yield* Analytics
      const ingest = yield* Ingest
      const latestFeed = Effect.fnUntraced(function* ({ collection, organizationId }: Shop) {
        const [job] = yield* ingest.list(organizationId, {
          status: undefined,
          cursor: undefined,
          limit: 1,
          collections: [collection]
        })
        if (job === undefined) return {}
        const { name, progress, stats, status } = job
        return { feed: { name, status, progress, imported: stats.imported } }
      })
      const storefront = yield* makeStorefront
      const modelsOf = yield* makeDemoModels
      const looked = yield* makeLooks
      let shop: Shop | undefined
      return Demo.of({
        shop: () => shop,
        looks: ({ collection, organizationId }) => looked(organizationId, collection),
        open: Effect.fn("Demo.open")(function* (organizationId, collection) {
          for (const key of access.listKeys(organizationId)) {
            if (key.description === pageKeyDescription) yield* Effect.orDie(access.revokeKey(organizationId, key.id))
          }
          const { value } = yield* Effect.orDie(
            access.createKey({
              organization_id: organizationId,
              scope: "search",
              description: pageKeyDescription,
              actions: ["documents:search"],
              collections: [collection, looksOf(collection)],
              isGateway: false,
              cidrs: [],
              origins: [],
              filter_by: {},
              rate_limit_per_minute: 0,
              expires_at: NEVER_EXPIRES
            })
          )
          yield* storefront(organizationId, collection)
          const models = yield* modelsOf(organizationId, collection)
          shop = { organizationId, collection, searchKey: value, models }
          return shop
        }),
        figures: Effect.fn("Demo.figures")(function* (own) {
          const { collection, organizationId } = own
          const now = yield* Clock.currentTimeMillis
          const filter = {
            organizationId,
            collection,
            segment: undefined,
            range: { from: now - DAY_MS, before: now + 60_000 }
          }
          const [overview, queries] = yield* Effect.all(
            [
              analytics.getOverviewMetrics(filter),
              analytics.getQueryMetrics({ ...filter, limit: POPULAR_SHOWN, offset: 0 })
            ],
            { concurrency: 2 }
          )
          const { add_to_carts, clicks, ctr, purchases, revenue, searches, zero_result_rate } = overview.totals
          return {
            searches,
            clicks,
            add_to_carts,
            purchases,
            revenue,
            ctr,
            zero_result_rate,
            popular: queries.data.map(({ q }) => q),
            ...(yield* latestFeed(own))
          }
        })
      })
    })
  )
}
