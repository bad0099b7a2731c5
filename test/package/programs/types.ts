// The package's types: documents derived from fields, every kind of failure, every entry.
import { createSearch, SearchError, type SearchFailure } from "@dowser/engine-sdk"
import { createAnalyzer } from "@dowser/engine-sdk/analysis"
import { select } from "@dowser/engine-sdk/documents"
import { createEngine } from "@dowser/engine-sdk/memory"
import { search } from "@dowser/engine-sdk/operations"
import { parseFilter } from "@dowser/engine-sdk/query"
import { parseCreateBody } from "@dowser/engine-sdk/schema"
import { engineSuite } from "@dowser/engine-sdk/testing"

const products = createSearch({
  fields: { name: "string", price: "float", tags: "string[]", rating: { type: "float", optional: true } },
  engine: createEngine()
})
await products.add({ name: "Kettle", price: 40, tags: [] })
const { facets, hits } = await products.search("kettle", { facets: ["tags"] })
const price: number = hits[0].document.price
const rating: number | undefined = hits[0].document.rating
const count: number = facets.tags[0].count
// @ts-expect-error: not declared
hits[0].document.colour
// @ts-expect-error: a price is a number
await products.add({ name: "Kettle", price: "40", tags: [] })

export const sentenceOf = (failure: SearchFailure): string => {
  switch (failure.kind) {
    case "Invalid":
    case "Closed":
    case "RestrictionNotApplicable":
    case "NotFound":
    case "Conflict":
    case "CapReached":
    case "Damaged":
    case "CapabilityMissing":
    case "Overloaded":
    case "Unavailable":
    case "TimedOut":
      return failure.message
    case "RulesRefused":
      return failure.issues.map(({ path }) => path).join()
    case "DocumentsRefused":
      return `${failure.refused.length} refused`
    case "OptionalPackageMissing":
      return `install ${failure.package}`
  }
}
export const used = [
  price,
  rating,
  count,
  SearchError,
  createAnalyzer,
  select,
  search,
  parseFilter,
  parseCreateBody,
  engineSuite
]
