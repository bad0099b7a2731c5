/** `docs/experiments.md`, request by request: each answer is the one printed below it. */
import { afterAll, beforeAll, expect, it } from "vitest"
import { stepsOfGuide } from "../support/guide.ts"
import type { Program } from "../support/program.ts"
import { sharedProgram } from "../support/shared-program.ts"

const steps = stepsOfGuide("experiments.md")

let program: Program
let keys: Readonly<Record<string, string>>
beforeAll(async () => {
  program = await sharedProgram()
  const tenant = await program.tenant("Guide")
  keys = { KEY: tenant.full_key, SEARCH_KEY: tenant.search_key }
})
afterAll(() => program.stop())

it("answers every request of the guide as it says", async () => {
  expect(steps.length).toBe(12)
  const statuses: Array<number> = []
  let experiment = ""
  for (const { answer, body, key, method, path } of steps) {
    const response = await program.request(method, path.replace("$EXPERIMENT", experiment), {
      key: keys[key]!,
      ...(body === undefined ? {} : { body })
    })
    statuses.push(response.status)
    if (path === "/v1/experiments") experiment = response.body.id
    if (answer === undefined) continue
    const wanted = JSON.parse(JSON.stringify(answer).replaceAll("$EXPERIMENT", experiment))
    expect([path, response.body]).toMatchObject([path, wanted])
  }
  expect(statuses).toEqual([201, 200, 200, 201, 200, 200, 200, 200, 409, 200, 200, 200])
})
