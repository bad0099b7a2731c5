/** `docs/media.md`, request by request: each answer is the one printed below it. */
import { afterAll, beforeAll, expect, it } from "vitest"
import { stepsOfGuide } from "../support/guide.ts"
import { type Program, startProgram, type Tenant } from "../support/program.ts"

let program: Program
let tenant: Tenant
beforeAll(async () => {
  program = await startProgram()
  tenant = await program.tenant("Guide")
  await program.topUp(tenant.organization_id, 1)
})
afterAll(() => program.stop())

it("answers every request of the guide as it says", async () => {
  const statuses: Array<number> = []
  let media = ""
  for (const { answer, body, method, path } of stepsOfGuide("media.md")) {
    const response = await program.request(method, path.replace("$MEDIA", media), {
      key: tenant.full_key,
      ...(body === undefined ? {} : { body: body.replace("$MEDIA", media) })
    })
    statuses.push(response.status)
    if (answer !== undefined) expect([path, response.body]).toMatchObject([path, answer])
    if (path === "/v1/media/images") media = response.body.id
  }
  expect(statuses).toEqual([201, 201, 201, 200, 200, 200])
})
