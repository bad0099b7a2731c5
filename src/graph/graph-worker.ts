/** The entry of the thread that builds the graph of one collection and returns it in chunks. */
import { answerJob } from "../jobs/answer-job.ts"
import { type Built, buildGraph } from "./building/build.ts"
import { EntityCounts } from "./building/entity-counts.ts"
import type { DocumentRead } from "./building/mentions.ts"
import type { Summary, ToGraph } from "./messages.ts"

let counts: EntityCounts | undefined
let built: Built | undefined

const summaryOf = ({ communities, documents, edges, edgesChanged, entities, leftOut }: Built): Summary => ({
  entities: entities.length,
  communities: communities?.length,
  documents,
  edges,
  edgesChanged,
  leftOut
})

answerJob<ToGraph>((ask) => {
  switch (ask.kind) {
    case "begin":
      counts = new EntityCounts(ask)
      return undefined
    case "documents":
      for (const line of ask.lines.split("\n")) counts!.add(JSON.parse(line) as DocumentRead)
      return undefined
    case "build":
      built = buildGraph(counts!, ask.options)
      counts = undefined
      return summaryOf(built)
    case "entities":
    case "communities":
      return (built![ask.kind] ?? []).slice(ask.from, ask.from + ask.count)
  }
})
