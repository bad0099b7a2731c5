/** Descriptions of the operations of quality suites, each with an example request that succeeds. */
import type { Described } from "../http/operation.ts"
import { sampleIds } from "../api/sample-ids.ts"

const params = { suiteId: sampleIds.suite }
const suite = {
  name: "Best sellers",
  collection: "products",
  params: { query_by: "title,brand" },
  judgments: [
    { q: "enamel mug", document_id: "p2", grade: 3 },
    { q: "enamel mug", document_id: "p4", grade: 2 },
    { q: "oak board", document_id: "p1", grade: 3 }
  ],
  tolerance: 0.05,
  schedule_cron: "0 3 * * *"
}
export const described = {
  listQualitySuites: {
    description:
      "Lists suites by id with the figures of their last run, without the judgments. A page has at most 250, 50 by default.",
    example: { query: { limit: "20" } }
  },
  createQualitySuite: {
    description:
      "Creates a suite of up to 100,000 judgments for up to 10,000 queries, with grades from 0 to 3, and the search parameters to measure. `schedule_cron` (five fields, UTC) runs it automatically. A wrong body is a 400 that names every field; a plan without room for another suite answers 403.",
    example: { body: suite }
  },
  getQualitySuite: {
    description:
      "Shows a suite with all of its judgments and the figures of its last run. An unknown id, or another organization's, is a 404.",
    example: { params }
  },
  replaceQualitySuite: {
    description:
      "Replaces a suite as a whole; omitted fields return to their defaults, but `judgments` must be sent, if only as an empty list. Runs stay, and the next one is compared with them.",
    example: { params, body: { ...suite, name: "Best sellers of spring" } }
  },
  deleteQualitySuite: {
    description:
      "Deletes a suite with its judgments and runs, and returns its id; a run in progress ends without leaving one. An unknown id is a 404.",
    example: { params: { suiteId: sampleIds.oldSuite } }
  },
  runQualitySuite: {
    description:
      "Queues a job that searches every judged query and measures nDCG@10, MRR, recall@100 and the share of the first ten that was judged. It is compared with the last run of the stored parameters; a drop beyond `tolerance` sends `quality.regression`. With `params` or `profile` it measures something else, and raises no alarm. An organization has one run at a time; a suite without a relevant document, or too many waiting jobs, is a 409.",
    example: { params, body: {} }
  },
  judgeFromClicks: {
    description:
      "Queues a job that reads the searches of a time range and the clicks, carts and purchases that followed, and grades each query's documents that were shown at least 20 times, corrected for their position. Judgments made by hand stay; those derived from earlier clicks are replaced. If a client sends no `search` events with `document_ids`, the list of a query is what the suite's parameters find today.",
    example: { params, body: { from: "2026-01-01", to: "2026-01-31" } }
  },
  weighMeaning: {
    description:
      "Starts a job that searches at most 1,000 of the suite's queries with the draft of a profile, weighing meaning against words with 0, 0.1, 0.3, 0.5 and 1, and writes the best weight and its figures into the draft: `meaning.weight` and `meaning.chosen`. A weight above 0 must gain 0.002 nDCG@10 on queries that did not choose it (five-fold cross-validation). The suite needs 20 queries judged by people, or 500 judged by clicks, 409 with fewer; a profile that the collection does not have is a 404.",
    example: { params: { suiteId: sampleIds.meaningSuite }, body: { profile: "weighed" } }
  },
  listQualityRuns: {
    description:
      "Lists the results of runs, newest first, each with what it was compared with; the 200 newest of a suite are kept. Figures of single queries are in the result of a run's job.",
    example: { params, query: { limit: "10" } }
  }
} as const satisfies Readonly<Record<string, Described>>
