/** Bodies that the fuzz test starts from (`test/program/fuzz.test.ts`), referring to its fixtures. */
import type { Seeds } from "../room.ts"

const body = {
  label: "Goods",
  searchable_fields: ["title"],
  facet_fields: [{ field: "tags", label: "Tags" }],
  filterable_fields: ["stock", "id"],
  sorts: [{ id: "stock", label: "Most", sort_by: "stock:desc" }],
  default_sort_id: "stock",
  fixed_filter_by: "stock:>0",
  highlight_fields: ["title"],
  per_page_max: 20
}
export const seeds: Seeds = {
  createSearchProfile: [
    { name: "listing", ...body },
    { name: "all", searchable_fields: ["title"], is_default: true }
  ],
  replaceSearchProfile: [body, { searchable_fields: ["title"] }],
  publishSearchProfile: [{ expected_revision: 1, note: "first" }, { expected_revision: 2 }],
  activateProfileRelease: [{ release_id: "rel_01KAQ5V8Z3N4M6T7W9X0Y1B2J1", expected_revision: 1 }]
}
