/** Entities that documents name, and communities of them. */
import { Schema } from "effect"
import { optionalText } from "../http/checks.ts"
import { Conflict, NotFound } from "../http/errors.ts"
import { engineErrors } from "../engine-plane/engine-errors.ts"
import { operation } from "../http/operation.ts"
import { pageFields, pageLimit } from "../http/page.ts"
import { Job } from "../jobs/schema.ts"
import { aiErrors } from "../metering/errors.ts"
import { described } from "./examples.ts"
import { GraphCommunityList, GraphEntityList } from "./schema.ts"

const at = { group: "graph", plane: "control" } as const
const path = "/v1/collections/:collectionName/graph" as const
const short = (charactersMax: number) =>
  optionalText((text) => (text.length > charactersMax ? `At most ${charactersMax} characters` : undefined))

export const listGraphEntities = operation({
  ...at,
  ...described.listGraphEntities,
  id: "listGraphEntities",
  summary: "List the entities of a collection",
  scope: "search",
  method: "GET",
  path: `${path}/entities`,
  query: Schema.Struct({
    limit: pageLimit({ max: 500, byDefault: 100 }),
    q: short(100),
    type: short(1_000),
    community_id: short(100)
  }),
  success: GraphEntityList,
  errors: [...engineErrors(), NotFound]
})
export const generateGraphEntities = operation({
  ...at,
  ...described.generateGraphEntities,
  id: "generateGraphEntities",
  summary: "Find the entities of a collection",
  scope: "full",
  method: "POST",
  path: `${path}/entities/generate`,
  success: Job,
  status: 202,
  errors: [Conflict, NotFound, ...aiErrors]
})
export const listGraphCommunities = operation({
  ...at,
  ...described.listGraphCommunities,
  id: "listGraphCommunities",
  summary: "List communities of entities",
  scope: "full",
  method: "GET",
  path: `${path}/communities`,
  query: Schema.Struct(pageFields({ max: 100, byDefault: 20 })),
  success: GraphCommunityList,
  errors: [NotFound]
})
export const generateGraphCommunities = operation({
  ...at,
  ...described.generateGraphCommunities,
  id: "generateGraphCommunities",
  summary: "Find communities of entities",
  scope: "full",
  method: "POST",
  path: `${path}/communities/generate`,
  success: Job,
  status: 202,
  errors: [Conflict, NotFound, ...aiErrors]
})
