/** `docs/assistants.md`, request by request, over the demo shop. */
import { expect, it } from "vitest"
import { stepsOfGuide } from "../support/guide.ts"
import { startProgram } from "../support/program.ts"

it("answers every request of the guide as it says", async () => {
  const program = await startProgram({ demoProducts: 3_000 })
  try {
    const demo = program.demo!
    await program.topUp(demo.organization_id, 10)
    const statuses: Array<number> = []
    let assistant = "",
      conversation = ""
    for (const { answer, body, headers, key, method, path } of stepsOfGuide("assistants.md")) {
      const response = await program.request(
        method,
        path.replace("$ASSISTANT", assistant).replace("$CONVERSATION", conversation),
        {
          key: key === "KEY" ? demo.full_key : demo.search_key,
          headers,
          ...(body === undefined ? {} : { body: body.replace("$CONVERSATION", conversation) })
        }
      )
      statuses.push(response.status)
      expect([path, response.body]).toMatchObject([path, answer])
      if (statuses.length === 1) assistant = response.body.id
      if (statuses.length === 2) conversation = response.body.conversation_id
      if (statuses.length === 3) expect(response.body.message.content).toContain("price: 27.99")
    }
    expect(statuses).toEqual([201, 200, 200, 200, 200, 202])
  } finally {
    await program.stop()
  }
})
