/** Everything at once, small; `npm run bench -- together` is the same with 100,000 products and 1,000,000 events. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { kafkaMissing } from "../support/kafka.ts"
import { opensearchMissing } from "../support/opensearch.ts"
import { together } from "../support/together/scenario.ts"

const PRODUCTS = 4_000,
  EVENTS = 40_000
const missing = kafkaMissing() ?? opensearchMissing()
const title = "loses nothing and counts nothing twice while one of each server and process is killed in turn"
if (missing !== undefined) it(title, (ctx) => ctx.skip(missing))
else
  it.live(
    title,
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const recount = yield* together({ products: PRODUCTS, events: EVENTS }, () => {})
          assert.deepStrictEqual(recount.load.failed, [])
          assert.isAbove(recount.load.searches, 50)
          assert.strictEqual(recount.documents, PRODUCTS)
          assert.strictEqual(recount.events, EVENTS)
          // One in eight buys for a cent.
          assert.strictEqual(recount.revenue_micros, (EVENTS / 8) * 10_000)
          assert.strictEqual(recount.kills.length, 5)
        })
      ),
    400_000
  )
