/** `docs/recommendations.md`, request by request: each answer is the one printed below it. */
import { afterAll, beforeAll, expect, it } from "vitest"
import { stepsOfGuide } from "../support/guide.ts"
import type { Program } from "../support/program.ts"
import { sharedProgram } from "../support/shared-program.ts"

const steps = stepsOfGuide("recommendations.md")

let program: Program
let keys: Readonly<Record<string, string>>
beforeAll(async () => {
  program = await sharedProgram()
  const tenant = await program.tenant("Guide")
  keys = { KEY: tenant.full_key, SEARCH_KEY: tenant.search_key }
})
afterAll(() => program.stop())

it("answers every request of the guide as it says", async () => {
  const statuses: Array<number> = []
  let model = ""
  for (const { answer, body, key, method, path } of steps) {
    const ask = () =>
      program.request(method, path.replace("$MODEL", model), {
        key: keys[key]!,
        ...(body === undefined ? {} : { body: body.replace("$MODEL", model) })
      })
    let response = await ask()
    // An event affects answers within two seconds.
    for (let i = 0; path === "/v1/recommendations" && response.body.fallback_used !== null && i < 100; i++) {
      await new Promise((settle) => setTimeout(settle, 20))
      response = await ask()
    }
    statuses.push(response.status)
    if (answer !== undefined) expect([path, response.body]).toMatchObject([path, answer])
    if (path === "/v1/recommendations/models") model = response.body.id
  }
  expect(statuses).toEqual([201, 200, 200, 201, 200, 202])
})
