/**
 * Descriptions of the operations of the search gateway, each with an example request that succeeds
 * (`src/http/operation.ts`).
 */
import type { Described } from "../http/operation.ts"

const collectionName = "products"
const slow = "What takes longer than 10 seconds is a 504."
const foreign = "An index that the key's organization lacks is a 403 `tenant_mismatch`."

export const described = {
  getCapabilities: {
    description:
      "Shows which operations this gateway has, what its engine can do, which models run in it, and the limits of a request. It does not count towards any rate.",
    example: {}
  },
  gatewaySearch: {
    description: `Searches one index with the search parameters in the body and counts as one search unit. ${slow} ${foreign} A month's quota that is used up is a 402 \`quota_exhausted\`.`,
    example: {
      params: { collectionName },
      body: { q: "mug", query_by: "title,brand", facet_by: "category", per_page: 10 }
    }
  },
  gatewaySuggest: {
    description: `Completes what is being typed, from popular queries and facet values of an index, typing errors corrected. It counts as one search unit. ${slow} ${foreign}`,
    example: { params: { collectionName }, query: { q: "mu", limit: "5" } }
  },
  gatewayMultiSearch: {
    description: `Runs up to 50 searches side by side and answers one result for each, a failed one with its \`code\` and \`error\`. The request counts as one search unit. ${slow}`,
    example: {
      body: {
        searches: [
          { index: "products", q: "mug", query_by: "title" },
          { index: "brands", q: "hearth", query_by: "name" }
        ]
      }
    }
  },
  gatewayFederatedSearch: {
    description: `Runs up to 50 searches and merges their hits into one list with pages of its own. All of them must sort by the same keys; a document that several find stands in the list once. ${slow}`,
    example: {
      body: {
        searches: [
          { index: "products", q: "mug", query_by: "title" },
          { index: "products", q: "board", query_by: "title" }
        ],
        per_page: 10
      }
    }
  },
  gatewayGeoSearch: {
    description: `Finds documents within \`radius_km\` of a point, nearest first; each hit carries \`distance_m\`. \`field\` names a geopoint field of the index, anything else is a 400. ${slow} ${foreign}`,
    example: {
      params: { collectionName },
      body: { field: "store", lat: 52.52, lng: 13.4, radius_km: 50, q: "*", query_by: "title" }
    }
  },
  gatewayPutDocuments: {
    description:
      "Stores 1 to 1,000 documents by their ids, replacing whole documents, and returns one result for each in the same order. The next search finds those that succeeded, whatever happened to the others. The body has at most 5 MB.",
    example: {
      params: { collectionName },
      body: {
        documents: [
          {
            id: "p103",
            title: "Stone mug",
            brand: "Grain",
            category: "Kitchen",
            price: 18,
            popularity: 4,
            discontinued: false
          }
        ]
      }
    }
  },
  gatewayDeleteDocuments: {
    description:
      "Deletes 1 to 1,000 documents by their ids and returns one result for each. An id that does not exist has a result with status 404 and does not fail the others.",
    example: { params: { collectionName }, body: { ids: ["p8"] } }
  },
  createScopedToken: {
    description:
      "Signs a token that narrows the search key to one index and a filter, for at most a day. The filter is ANDed with every search that uses the token. The token is not stored, and ends early with its key.",
    example: { body: { index: "products", scopedFilter: "brand:=Hearth", expiresInSeconds: 900 } }
  }
} as const satisfies Readonly<Record<string, Described>>
