/**
 * Descriptions of the operations of search rules, each with an example request that succeeds (`src/http/operation.ts`).
 */
import type { Described } from "../http/operation.ts"

export const described = {
  getSearchRule: {
    description:
      "Shows the search rules of a collection, with unset fields at their defaults. An unknown collection is a 404.",
    example: { params: { collectionName: "products" } }
  },
  upsertSearchRule: {
    description:
      "Replaces the search rules of a collection as a whole: omitted fields return to their defaults. They act from the next search on, and a search key cannot bypass them. A 400 lists everything that is wrong with a set.",
    example: {
      params: { collectionName: "products" },
      body: {
        pins: [{ query: "mug", match: "exact", doc_id: "p1", position: 1 }],
        boosts: [{ filter_by: "brand:=Hearth", weight: 2 }],
        banners: [{ id: "winter", query: "coat", match: "partial", content: { text: "Winter sale" } }]
      }
    }
  },
  deleteSearchRule: {
    description:
      "Deletes the search rules of a collection; its searches then reach the engine unchanged. An unknown collection is a 404.",
    example: { params: { collectionName: "drafts" } }
  },
  previewSearchRule: {
    description:
      "Runs one search twice, without and with rules, and explains which of them acted; nothing is stored or counted. `rules` tries a set before it is saved, and `at`, `device`, `country` and `language` stand in for a visitor's.",
    example: {
      params: { collectionName: "products" },
      body: {
        search: { q: "mug", query_by: "title" },
        rules: { pins: [{ doc_id: "p2", position: 1 }] },
        device: "mobile"
      }
    }
  }
} as const satisfies Readonly<Record<string, Described>>
