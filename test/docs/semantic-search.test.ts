/** `docs/semantic-search.md`, request by request, over the demo shop and the real model. */
import { expect, it } from "vitest"
import { stepsOfGuide } from "../support/guide.ts"
import { installedModels } from "../support/models.ts"
import { startProgram } from "../support/program.ts"
import { eventually } from "../support/receiver.ts"

const { missing } = await installedModels()
it("answers every request of the guide as it says", async (context) => {
  if (missing !== undefined) return context.skip(missing)
  const program = await startProgram({ demoProducts: 60 })
  try {
    const { full_key: key, organization_id } = program.demo!
    await program.topUp(organization_id, 1)
    const statuses: Array<number> = []
    let job = ""
    for (const { answer, body, method, path } of stepsOfGuide("semantic-search.md")) {
      const at = path.replace("$JOB", job)
      const response = await program.request(method, at, { key, ...(body === undefined ? {} : { body }) })
      statuses.push(response.status)
      if (answer !== undefined) expect([path, response.body]).toMatchObject([path, answer])
      if (response.status === 409) job = response.body.job_id ?? response.body.data.job_id
      if (path.includes("$JOB"))
        await eventually(
          "the vectors are made",
          async () => {
            const { status } = (await program.request("GET", at, { key })).body
            return status === "ready" ? true : undefined
          },
          100_000
        )
    }
    expect(statuses).toEqual([409, 200, 200, 201, 200])
  } finally {
    await program.stop()
  }
})
