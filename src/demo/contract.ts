/** The demo page and its requests; not part of the tenant API. */
import { Schema } from "effect"
import { operation } from "../http/operation.ts"
import { NotFound } from "../http/errors.ts"
import { described } from "./examples.ts"

const at = { group: "demo", plane: "control", scope: "public", method: "GET", isRateFree: true } as const
export const getPage = operation({
  ...at,
  ...described.getPage,
  id: "getDemoPage",
  summary: "The demo shop",
  path: "/",
  successType: "html"
})
export const getConsole = operation({
  ...at,
  ...described.getConsole,
  id: "getConsole",
  summary: "Where a person starts",
  path: "/console",
  status: 302,
  successType: "text"
})
export const getFile = operation({
  ...at,
  ...described.getFile,
  id: "getDemoFile",
  summary: "A file of the demo page",
  path: "/demo/:file",
  successType: "text",
  errors: [NotFound]
})
export const getPicture = operation({
  ...at,
  ...described.getPicture,
  id: "getDemoPicture",
  summary: "The picture of a product of the demo shop",
  path: "/demo/pictures/:productId",
  params: { productId: Schema.String.annotate({ description: "The id of a product of the demo shop." }) },
  successType: "bytes",
  successMedia: ["image/png"],
  errors: [NotFound]
})
export const getConfig = operation({
  ...at,
  ...described.getConfig,
  id: "getDemoConfig",
  summary: "Collection, profile, models and search key of the page",
  path: "/demo/config.json",
  success: Schema.Struct({
    collection: Schema.String,
    profile: Schema.String,
    search_key: Schema.String,
    products: Schema.Int,
    models: Schema.Struct({
      also_viewed: Schema.String,
      bought_together: Schema.String,
      similar: Schema.String
    }).annotate({
      identifier: "DemoModels"
    })
  }).annotate({
    identifier: "DemoConfig"
  }),
  errors: [NotFound]
})
export const lookAtPictures = operation({
  ...at,
  ...described.lookAtPictures,
  id: "lookAtDemoPictures",
  summary: "Prepare the shop's pictures for image search",
  method: "POST",
  path: "/demo/looks",
  success: Schema.Struct({
    collection: Schema.String,
    status: Schema.Literals(["working", "ready", "failed"]),
    done: Schema.Int,
    total: Schema.Int
  }).annotate({ identifier: "DemoLooks" }),
  errors: [NotFound]
})
export const getFigures = operation({
  ...at,
  ...described.getFigures,
  id: "getDemoFigures",
  summary: "Live figures of the demo shop",
  path: "/demo/figures.json",
  success: Schema.Struct({
    searches: Schema.Int,
    clicks: Schema.Int,
    add_to_carts: Schema.Int,
    purchases: Schema.Int,
    revenue: Schema.Number,
    /** The latest feed imported, or being imported, into the shop. */
    feed: Schema.optionalKey(
      Schema.Struct({
        name: Schema.String,
        status: Schema.String,
        progress: Schema.Number,
        imported: Schema.Int
      }).annotate({ identifier: "DemoFeed" })
    ),
    ctr: Schema.Number,
    zero_result_rate: Schema.Number,
    popular: Schema.Array(Schema.String)
  }).annotate({ identifier: "DemoFigures" }),
  errors: [NotFound]
})
