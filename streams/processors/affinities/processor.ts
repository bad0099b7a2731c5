/**
 * Histories of visitors: what each of them last did to documents, for personalized searches (`src/personalization`).
 * Nothing stays in memory between flushes; a row in Postgres takes some 600 bytes with its key. The documents'
 * properties, and so what a visitor likes, are derived where the documents are.
 */
import type { FactProcessor } from "../../facts/fact-processor.ts"
import { Takes } from "./emitted.ts"
import { emptyShadowHistories, firstShadowDay, forgetHistories, swapHistoryDay } from "./rebuild.ts"
import { writeHistories, writeShadowHistories } from "./write.ts"

export const affinities: FactProcessor<undefined, Takes> = {
  name: "affinities",
  open: () => undefined,
  newEmitted: () => new Takes(),
  sizeOf: ({ size }) => size,
  write: writeHistories,
  rebuilding: {
    emptyShadows: emptyShadowHistories,
    writeShadow: writeShadowHistories,
    firstDay: firstShadowDay,
    swapDay: swapHistoryDay
  },
  erasing: { outcome: "removed", forget: forgetHistories }
}
