/** Descriptions of the operations of the graph, each with an example request that succeeds. */
import type { Described } from "../http/operation.ts"

const params = { collectionName: "products" }
export const described = {
  listGraphEntities: {
    description:
      "Lists what the documents of the collection name, as the last job found it, most recently updated first: values of facet fields, and terms of long texts. At most 500, 100 by default; `q` is looked for in names, `type` and `community_id` narrow the list. A key that sees a part of the collection sees entities that documents of its part name, as those write them, with these documents alone, without figures and communities, by id. It changes nothing.",
    example: { params, query: { limit: "20", type: "brand" } }
  },
  generateGraphEntities: {
    description:
      "Queues a job that reads the collection's documents, at most 200,000, and replaces its entities; what did not change keeps its times, and those of fewest documents beyond the plan's room are left out. Communities stay as they are, unless more than a tenth of what belongs together has changed: then they are made anew, and keep their ids where most members stayed. It costs a credit a started 1,000 documents, 402 where the wallet cannot pay for those that there are; too many jobs that wait are a 409.",
    example: { params }
  },
  listGraphCommunities: {
    description:
      "Lists groups of entities that documents name together more often than chance would have it, largest first, each before its parts. What a report says is counted, and every line names documents that bear it out. A page has at most 100, 20 by default; a key that sees a part of the collection is a 403. It changes nothing.",
    example: { params, query: { limit: "10" } }
  },
  generateGraphCommunities: {
    description:
      "Queues a job that reads the collection's documents, at most 200,000, and replaces its entities and its communities. Ids go on where most members stayed. It costs a credit a started 1,000 documents, as for entities. Too many jobs that wait are a 409.",
    example: { params }
  }
} as const satisfies Readonly<Record<string, Described>>
