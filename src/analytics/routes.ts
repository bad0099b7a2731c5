/** Handlers of analytics metrics: parameters become one request to the service. */
import { Effect } from "effect"
import type { Caller } from "../identity/caller.ts"
import { reachesCollection, reachesEverything } from "../identity/reach.ts"
import { invalidFields, issuesIn } from "../http/checks.ts"
import { CollectionNotAllowed, RestrictionNotApplicable } from "../http/errors.ts"
import { implement } from "../api/implement.ts"
import * as contract from "./contract.ts"
import { parseDateRange } from "./date-range.ts"
import { storable } from "@dowser/log/normalize-query"
import {
  type MetricsQuery,
  PAGE_LIMIT_DEFAULT,
  PAGE_LIMIT_MAX,
  type Segment,
  SEGMENT_DIMENSIONS,
  type SegmentDimension
} from "./schema.ts"
import { Analytics } from "./service.ts"

const wholeNumber = (text: string | undefined): number | undefined =>
  text === undefined || !/^\d{1,12}$/.test(text) ? undefined : Number(text)

const segmentOf = (text: string): Segment | undefined => {
  const colon = text.indexOf(":")
  const dimension = colon < 0 ? text : text.slice(0, colon)
  if (!(SEGMENT_DIMENSIONS as ReadonlyArray<string>).includes(dimension)) return undefined
  return { dimension: dimension as SegmentDimension, value: colon < 0 ? undefined : storable(text.slice(colon + 1)) }
}

/** A key for some collections sees the figures of one of those, never sums that include others. */
const checkReach = (caller: Caller, collection: string | undefined) => {
  if (reachesEverything(caller)) return Effect.void
  if (collection === undefined)
    return Effect.fail(
      new RestrictionNotApplicable({
        message: "This key reaches only some collections; name one of them in `collection`."
      })
    )
  return reachesCollection(caller, collection)
    ? Effect.void
    : Effect.fail(new CollectionNotAllowed({ message: "This key does not reach the collection." }))
}

const requestOf = Effect.fnUntraced(function* (caller: Caller, query: typeof MetricsQuery.Type) {
  const collection = query.collection === undefined || query.collection === "" ? undefined : storable(query.collection)
  yield* checkReach(caller, collection)
  const result = parseDateRange(query.from, query.to)
  const limit = query.limit === undefined ? PAGE_LIMIT_DEFAULT : wholeNumber(query.limit)
  const offset = query.offset === undefined ? 0 : wholeNumber(query.offset)
  const hasSegment = query.segment !== undefined && query.segment !== ""
  const segment = hasSegment ? segmentOf(query.segment!) : undefined
  const others = issuesIn([
    [
      "limit",
      limit === undefined || limit < 1 || limit > PAGE_LIMIT_MAX
        ? `A whole number from 1 to ${PAGE_LIMIT_MAX}`
        : undefined
    ],
    ["offset", offset === undefined ? "A whole number from 0 up" : undefined],
    [
      "segment",
      hasSegment && segment === undefined
        ? `One of ${SEGMENT_DIMENSIONS.join(", ")}, alone or with a value as in \`surface:search\``
        : undefined
    ]
  ])
  if (!result.ok) return yield* invalidFields([...result.issues, ...others])
  if (limit === undefined || offset === undefined || others.length > 0) return yield* invalidFields(others)
  return {
    organizationId: caller.organizationId,
    range: result.range,
    collection,
    isNarrow: !reachesEverything(caller),
    segment,
    limit,
    offset
  }
})

export const routes = Effect.gen(function* () {
  const analytics = yield* Analytics
  return [
    implement(contract.getQueryMetrics, ({ caller, query }) =>
      Effect.flatMap(
        Effect.flatMap(query, (asked) => requestOf(caller, asked)),
        analytics.getQueryMetrics
      )
    ),
    implement(contract.getZeroResultMetrics, ({ caller, query }) =>
      Effect.flatMap(
        Effect.flatMap(query, (asked) => requestOf(caller, asked)),
        analytics.getZeroResultMetrics
      )
    ),
    implement(contract.getOverviewMetrics, ({ caller, query }) =>
      Effect.flatMap(
        Effect.flatMap(query, (asked) => requestOf(caller, asked)),
        analytics.getOverviewMetrics
      )
    ),
    implement(contract.getProductMetrics, ({ caller, query }) =>
      Effect.flatMap(
        Effect.flatMap(query, (asked) => requestOf(caller, asked)),
        analytics.getProductMetrics
      )
    ),
    implement(contract.getFilterMetrics, ({ caller, query }) =>
      Effect.flatMap(
        Effect.flatMap(query, (asked) => requestOf(caller, asked)),
        analytics.getFilterMetrics
      )
    )
  ]
})
