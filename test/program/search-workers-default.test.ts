/**
 * The default number of search workers on a machine: none if it lacks the processors for a second thread per search.
 */
import { expect, it } from "vitest"
import { SEARCH_WORKERS_MAX, searchWorkersDefault } from "../../src/config.ts"

it("below four processors there are no search workers by default, otherwise one fewer than processors", () => {
  expect([1, 2, 3, 4, 8, 16, 17, 64].map(searchWorkersDefault)).toEqual([0, 0, 0, 3, 7, 15, 16, SEARCH_WORKERS_MAX])
})
