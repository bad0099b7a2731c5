/** `docs/connectors.md`, request by request: each answer is the one printed below it. */
import { createHmac } from "node:crypto"
import { readFileSync } from "node:fs"
import { afterAll, beforeAll, expect, it } from "vitest"
import type { Program } from "../support/program.ts"
import { sharedProgram } from "../support/shared-program.ts"
import { eventually } from "../support/receiver.ts"

interface Step {
  readonly method: string
  readonly path: string
  readonly body: string | undefined
  /** The JSON printed below: what the answer contains, or the body of the push. */ readonly json: unknown
}
const text = readFileSync(new URL("../../docs/connectors.md", import.meta.url), "utf8")
const steps: ReadonlyArray<Step> = text
  .split("```sh\n")
  .slice(1)
  .map((part) => {
    const [, method = "GET", path, , body] =
      /curl (?:-X (\w+) )?"\$DOWSER([^"]+)" -H "([^"]+)"(?: -d '([\s\S]*?)')?/.exec(part)!
    const json = /```json\n([\s\S]*?)```/.exec(part)?.[1]
    return { method, path: path!, body, json: json === undefined ? undefined : JSON.parse(json) }
  })

let program: Program
let key: string
beforeAll(async () => {
  program = await sharedProgram()
  key = (await program.tenant("Guide")).full_key
})
afterAll(() => program.stop())

it("answers every request of the guide as it says", async () => {
  expect(steps.length).toBe(7)
  let connector = { id: "", secret: "" },
    job = ""
  const statuses: Array<number> = []
  for (const { body, json, method, path: written } of steps) {
    const path = written.replace("$CONNECTOR", connector.id).replace("$JOB", job)
    if (path.endsWith("/webhook")) {
      const pushed = JSON.stringify(json)
      const time = String(Math.floor(Date.now() / 1_000))
      const signature = createHmac("sha256", connector.secret).update(`${time}.${pushed}`).digest("hex")
      const headers = { "x-signature-timestamp": time, "x-signature": signature }
      const answer = await program.request(method, path, { body: pushed, headers })
      expect(answer.body).toMatchObject({ received: 4, upserts: 3, deletes: 1, rejected: [] })
      statuses.push(answer.status)
      job = answer.body.job_id
      await eventually(
        "the job is over",
        async () => (await program.request("GET", `/v1/jobs/${job}`, { key })).body.finished_at
      )
      continue
    }
    const answer = await program.request(method, path, { key, ...(body === undefined ? {} : { body }) })
    statuses.push(answer.status)
    if (path === "/v1/connectors") connector = answer.body
    if (json !== undefined) expect([path, answer.body]).toMatchObject([path, json])
  }
  expect(statuses).toEqual([201, 201, 200, 202, 200, 200, 200])
})
