/** `docs/nl-search.md`, request by request, over the demo shop. */
import { expect, it } from "vitest"
import { stepsOfGuide } from "../support/guide.ts"
import { startProgram } from "../support/program.ts"

it("answers every request of the guide as it says", async () => {
  const program = await startProgram({ demoProducts: 3_000 })
  try {
    const { full_key: key } = program.demo!
    const found: Array<number> = []
    for (const { answer, body, method, path } of stepsOfGuide("nl-search.md")) {
      const response = await program.request(method, path, { key, ...(body === undefined ? {} : { body }) })
      expect([path, response.status, response.body]).toMatchObject([path, 200, answer])
      found.push((response.body.results?.[0] ?? response.body).found)
    }
    expect(found.length).toBe(2)
    expect(found).not.toContain(0)
  } finally {
    await program.stop()
  }
})
