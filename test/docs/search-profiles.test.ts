/** `docs/search-profiles.md`, request by request: each answer is the one printed below it. */
import { afterAll, beforeAll, expect, it } from "vitest"
import { stepsOfGuide } from "../support/guide.ts"
import type { Program } from "../support/program.ts"
import { sharedProgram } from "../support/shared-program.ts"

const steps = stepsOfGuide("search-profiles.md")

let program: Program
let keys: Readonly<Record<string, string>>
beforeAll(async () => {
  program = await sharedProgram()
  const tenant = await program.tenant("Guide")
  keys = { KEY: tenant.full_key, SEARCH_KEY: tenant.search_key }
})
afterAll(() => program.stop())

it("answers every request of the guide as it says", async () => {
  expect(steps.length).toBe(10)
  const statuses: Array<number> = []
  let suite = ""
  let browserKey = ""
  for (const { answer, body, key, method, path } of steps) {
    const response = await program.request(method, path, {
      key: keys[key]!,
      ...(body === undefined ? {} : { body: body.replace("$SUITE", suite) })
    })
    statuses.push(response.status)
    if (answer !== undefined) expect([path, response.body]).toMatchObject([path, answer])
    if (path === "/v1/quality/suites") suite = response.body.id
    if (path === "/v1/browser_keys") browserKey = response.body.key
  }
  expect(statuses).toEqual([201, 200, 201, 200, 201, 200, 200, 200, 409, 201])
  const pinned = await program.request("GET", "/v1/collections/wares/documents/search?q=lamp&query_by=description", {
    key: browserKey
  })
  expect([pinned.status, pinned.body.found, pinned.body.profile]).toMatchObject([200, 2, { name: "shop", version: 1 }])
})
