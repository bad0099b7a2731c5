/** Messages from a job to the thread that finds synonyms, one at a time. */
import type { AskedQuery, Reformulated } from "./finding/reformulations.ts"

export type ToFinder =
  | { readonly kind: "begin"; readonly fields: ReadonlyArray<string> }
  /** Documents, one line of JSON each. */
  | { readonly kind: "documents"; readonly lines: string }
  | { readonly kind: "find"; readonly queries: ReadonlyArray<AskedQuery>; readonly pairs: ReadonlyArray<Reformulated> }
