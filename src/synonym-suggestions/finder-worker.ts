/** The entry of the thread that finds synonyms in the texts of one collection and in visitors' searches. */
import { answerJob } from "../jobs/answer-job.ts"
import { textsAt } from "../texts/texts-at.ts"
import { suggestionsOf } from "./finding/suggest.ts"
import { TermTexts } from "./finding/term-vectors.ts"
import type { ToFinder } from "./messages.ts"

const texts = new TermTexts()
let fields: ReadonlyArray<string> = []

answerJob<ToFinder>((ask) => {
  switch (ask.kind) {
    case "begin":
      fields = ask.fields
      return undefined
    case "documents":
      for (const line of ask.lines.split("\n")) {
        const document = JSON.parse(line) as Readonly<Record<string, unknown>>
        texts.add(fields.flatMap((field) => textsAt(document, field)))
      }
      return undefined
    case "find":
      // A query need not occur in any document: its context is the other words of queries.
      for (const { q } of ask.queries) texts.add([q])
      return suggestionsOf(ask.queries, ask.pairs, texts.vectors())
  }
})
