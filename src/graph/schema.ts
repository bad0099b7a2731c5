/** Entities and communities as the API shows them. */
import { Schema } from "effect"

const strings = Schema.Array(Schema.String)
export const GraphEntity = Schema.Struct({
  id: Schema.String,
  collection: Schema.String,
  name: Schema.String,
  type: Schema.String,
  description: Schema.String,
  aliases: strings,
  source_doc_ids: strings,
  community_id: Schema.String,
  created_at: Schema.Int,
  updated_at: Schema.Int
}).annotate({
  identifier: "GraphEntity",
  description:
    "`type`: the facet field, or `term`. `source_doc_ids`: the first 20 by id. `community_id`: the smallest community that it is in, empty where it is in none."
})
export const GraphEntityList = Schema.Struct({ entities: Schema.Array(GraphEntity) }).annotate({
  identifier: "GraphEntityList",
  description: "Most recently updated first."
})
export const GraphCommunity = Schema.Struct({
  id: Schema.String,
  collection: Schema.String,
  title: Schema.String,
  size: Schema.Int,
  parent_id: Schema.optionalKey(Schema.String),
  entity_ids: strings,
  report: Schema.Struct({
    facts: Schema.Array(
      Schema.Struct({ text: Schema.String, document_ids: strings }).annotate({ identifier: "GraphFact" })
    ),
    links: Schema.Array(
      Schema.Struct({ a: Schema.String, b: Schema.String, support: Schema.Int, document_ids: strings }).annotate({
        identifier: "GraphLink"
      })
    ),
    documents: strings
  }).annotate({ identifier: "GraphReport" }),
  updated_at: Schema.Int
}).annotate({
  identifier: "GraphCommunity",
  description:
    "`size`: number of entities; `entity_ids` has the first 500. `support`: documents that name both. A community of more than 50 is the parent of its parts."
})
export const GraphCommunityList = Schema.Struct({
  data: Schema.Array(GraphCommunity),
  next_cursor: Schema.optionalKey(Schema.String)
}).annotate({
  identifier: "GraphCommunityList",
  description: "Largest first; each community precedes its sub-communities."
})
