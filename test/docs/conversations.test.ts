/** `docs/conversations.md`, request by request, over the demo shop. */
import { expect, it } from "vitest"
import { stepsOfGuide } from "../support/guide.ts"
import { startProgram } from "../support/program.ts"

it("answers every request of the guide as it says", async () => {
  const program = await startProgram({ demoProducts: 3_000 })
  try {
    const { full_key: key, organization_id } = program.demo!
    await program.topUp(organization_id, 1)
    const said: Array<string> = []
    let conversation = ""
    for (const { answer, body, method, path } of stepsOfGuide("conversations.md")) {
      const own = path.replace("$CONVERSATION", conversation)
      const response = await program.request(method, own, { key, ...(body === undefined ? {} : { body }) })
      expect([path, response.status, response.body]).toMatchObject([path, method === "POST" ? 201 : 200, answer])
      if (response.body.conversation === undefined) continue
      said.push(response.body.conversation.answer)
      conversation = response.body.conversation.conversation_id
    }
    expect(said.length).toBe(2)
    expect(said[1]).toMatch(/^Maison Orle Duo 110 Summer Dress.*black/i)
  } finally {
    await program.stop()
  }
})
