/** Descriptions of the operations on graphs, each with an example request that succeeds. */
import type { Described } from "../http/operation.ts"

const params = { collectionName: "products" }
export const described = {
  listGraphEntities: {
    description:
      "Lists what the documents of the collection name, as the last job found it, most recently updated first: values of facet fields, and terms of long texts. At most 500, 100 by default; `q` searches in names, `type` and `community_id` narrow the list. A key that sees a part of the collection sees the entities that its documents name, with these documents alone, without figures and communities, by id. It changes nothing.",
    example: { params, query: { limit: "20", type: "brand" } }
  },
  generateGraphEntities: {
    description:
      "Queues a job that reads the collection's documents, at most 200,000, and replaces its entities; unchanged ones keep their times, and those with the fewest documents beyond the plan's room are left out. Communities stay, unless more than a tenth of the relations has changed: then they are computed again, and keep their ids where most members stayed. It costs one credit for every 1,000 documents begun, 402 if the wallet cannot pay; too many waiting jobs are a 409.",
    example: { params }
  },
  listGraphCommunities: {
    description:
      "Lists groups of entities that documents name together more often than by chance, largest first, each before its parts. Everything in a report is counted, and every line names documents that support it. A page has at most 100, 20 by default; a key that sees a part of the collection is a 403. It changes nothing.",
    example: { params, query: { limit: "10" } }
  },
  generateGraphCommunities: {
    description:
      "Queues a job that reads the collection's documents, at most 200,000, and replaces its entities and its communities. Ids continue where most members stayed. It costs one credit for every 1,000 documents begun. Too many waiting jobs are a 409.",
    example: { params }
  }
} as const satisfies Readonly<Record<string, Described>>
