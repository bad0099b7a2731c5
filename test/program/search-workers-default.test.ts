/**
 * The default number of search workers of a machine: none where it lacks the processors for a second thread per search.
 */
import { expect, it } from "vitest"
import { SEARCH_WORKERS_MAX, searchWorkersDefault } from "../../src/config.ts"

it("machines below four processors get no search workers by default, others all processors but one", () => {
  expect([1, 2, 3, 4, 8, 16, 17, 64].map(searchWorkersDefault)).toEqual([0, 0, 0, 3, 7, 15, 16, SEARCH_WORKERS_MAX])
})
