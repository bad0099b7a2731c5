/** Search by picture. */
import { defineRoom } from "../room.ts"
import { ImageSearch } from "./image-search.ts"
import { routes } from "./routes.ts"

export const room = defineRoom({
  name: "image-search",
  routes,
  layer: ImageSearch.layer,
  groups: { "image search": "Search by what a picture looks like." },
  engineGroups: ["image search"],
  reaches: { imageSearch: "path" },
  seeds: {
    imageSearch: [{ image: "iVBORw0KGgo=", per_page: 3 }, { media_id: "med_1", filter_by: "price:>1" }, "GIF89a"]
  }
})
