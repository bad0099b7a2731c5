/** One search of one collection, in the form that all parts of an execution receive. */
import type { CollectionReader } from "../../index/reader.ts"
import type { SearchPlan } from "../../plan.ts"
import type { Grouping } from "../rank/groups.ts"
import type { SearchScope } from "../scope.ts"

export interface SearchRequest {
  readonly scope: SearchScope
  readonly reader: CollectionReader
  readonly plan: SearchPlan
  readonly grouping: Grouping | undefined
  /** Number of positions that will be requested; documents that cannot be among them need no score. */
  readonly rankedMax: number
}
