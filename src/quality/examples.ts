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
      "Keeps up to 100,000 judgments of up to 10,000 queries, with grades from 0 to 3, and search parameters to measure them with. `schedule_cron` (five fields, UTC) runs it by itself. A body that is wrong is a 400 that names every field; a plan without room for one more refuses it with 403.",
    example: { body: suite }
  },
  getQualitySuite: {
    description:
      "Shows a suite with all of its judgments and the figures of its last run. An unknown id, or another organization's, is a 404.",
    example: { params }
  },
  replaceQualitySuite: {
    description:
      "Replaces all of a suite; fields that are left out reset, but `judgments` have to be sent, be it as an empty list. Runs stay, and the next one is compared with them.",
    example: { params, body: { ...suite, name: "Best sellers of spring" } }
  },
  deleteQualitySuite: {
    description:
      "Deletes a suite with its judgments and its runs; a run that is under way ends without leaving one. It answers the id, and 404 when there is nothing.",
    example: { params: { suiteId: sampleIds.oldSuite } }
  },
  runQualitySuite: {
    description:
      "Queues a job that searches every judged query and measures nDCG@10, MRR, recall@100 and the share of the first ten that was judged. Its result compares with the last run of what is stored; a drop beyond `tolerance` sends `quality.regression`. With `params` or `profile` it measures something else, which raises no alarm. One run of an organization is done at a time; a suite without a relevant document, or too many that wait, is a 409.",
    example: { params, body: {} }
  },
  judgeFromClicks: {
    description:
      "Queues a job that reads the searches of a time and what was clicked, put into carts and bought of them, and grades each query's documents that were shown at least 20 times, with less weight on what stands where everybody looks. Judgments made by hand stay; those that clicks gave before are made anew. Where a client sends no `search` event with `document_ids`, the list of a query is what the suite's parameters find today.",
    example: { params, body: { from: "2026-01-01", to: "2026-01-31" } }
  },
  weighMeaning: {
    description:
      "Starts a job that searches the suite's queries, at most 1,000 of them, with the draft of a profile under the weights 0, 0.1, 0.3, 0.5 and 1 of meaning beside words, and writes the best into the draft with its figures: `meaning.weight` and `meaning.chosen`. A weight above 0 has to be worth 0.002 nDCG@10 on queries that did not choose it (five-fold cross-validation). The suite needs 20 queries that people judged, or 500 that clicks did, 409 with fewer; a profile that the collection does not have is a 404.",
    example: { params: { suiteId: sampleIds.meaningSuite }, body: { profile: "weighed" } }
  },
  listQualityRuns: {
    description:
      "Lists what runs found, newest first, with what each was compared with; the 200 newest of a suite are kept. Figures of single queries are in the result of a run's job.",
    example: { params, query: { limit: "10" } }
  }
} as const satisfies Readonly<Record<string, Described>>
