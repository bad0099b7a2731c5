/** `docs/support.md`, request by request: each answer is the one printed below it. */
import { afterAll, beforeAll, expect, it } from "vitest"
import { stepsOfGuide } from "../support/guide.ts"
import { type Program, startProgram, type Tenant } from "../support/program.ts"

let program: Program
let tenant: Tenant
beforeAll(async () => {
  program = await startProgram()
  tenant = await program.tenant("Guide")
})
afterAll(() => program.stop())

it("answers every request of the guide as it says", async () => {
  const statuses: Array<number> = []
  let thread = ""
  for (const { answer, body, headers, key, method, path } of stepsOfGuide("support.md")) {
    const response = await program.request(method, path.replace("$THREAD", thread), {
      key: key === "KEY" ? tenant.full_key : tenant.search_key,
      headers,
      ...(body === undefined ? {} : { body })
    })
    statuses.push(response.status)
    if (answer !== undefined) expect([path, response.body]).toMatchObject([path, answer])
    if (statuses.length === 1) thread = response.body.id
  }
  expect(statuses).toEqual([201, 200, 201, 200, 200, 200])
})
