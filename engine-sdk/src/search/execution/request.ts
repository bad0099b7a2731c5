/** One search of one collection, as everything that takes part in it is given it. */
import type { CollectionReader } from "../../index/reader.ts"
import type { SearchPlan } from "../../plan.ts"
import type { Grouping } from "../rank/groups.ts"
import type { SearchScope } from "../scope.ts"

export interface SearchRequest {
  readonly scope: SearchScope
  readonly reader: CollectionReader
  readonly plan: SearchPlan
  readonly grouping: Grouping | undefined
  /** Positions that will be asked for; what cannot be among them need not be scored. */ readonly rankedMax: number
}
