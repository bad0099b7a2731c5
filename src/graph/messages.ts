/** Messages from a job to the thread that builds graphs; it handles one at a time. */
import type { BuildOptions, CommunityRow, EntityRow } from "./building/build.ts"
import type { EntityFields } from "./building/mentions.ts"

export type ToGraph =
  | { readonly kind: "begin"; readonly fields: EntityFields; readonly sameAs: ReadonlyMap<string, string> }
  /** Documents as JSON lines. */
  | { readonly kind: "documents"; readonly lines: string }
  | { readonly kind: "build"; readonly options: BuildOptions }
  | { readonly kind: "entities" | "communities"; readonly from: number; readonly count: number }
export interface Summary {
  readonly entities: number
  /** Undefined if the existing ones stay. */ readonly communities: number | undefined
  readonly documents: number
  readonly edges: Uint32Array
  readonly edgesChanged: number
  readonly leftOut: number
}
export type Rows<K extends "entities" | "communities"> = ReadonlyArray<K extends "entities" ? EntityRow : CommunityRow>
