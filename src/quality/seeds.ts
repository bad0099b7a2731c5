/** Bodies that the fuzz test starts from (`test/program/fuzz.test.ts`), referring to its fixtures. */
import type { Seeds } from "../room.ts"

const suite = {
  name: "suite",
  collection: "goods",
  params: { query_by: "title" },
  judgments: [{ q: "lamp", document_id: "1", grade: 2 }]
}
export const seeds: Seeds = {
  createQualitySuite: [suite, { ...suite, schedule_cron: "*/5 * * * *", tolerance: 0.1 }],
  replaceQualitySuite: [{ ...suite, judgments: [] }],
  weighMeaning: [{ profile: "one" }],
  judgeFromClicks: [{ from: "2026-01-01", to: "2026-01-02" }],
  runQualitySuite: [{}, { params: { query_by: "title" } }, { profile: "shop" }]
}
