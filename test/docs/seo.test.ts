/** `docs/seo.md`, request by request: each answers what stands below it. */
import { afterAll, beforeAll, expect, it } from "vitest"
import { stepsOfGuide } from "../support/guide.ts"
import { type Program, startProgram } from "../support/program.ts"
import { eventually } from "../support/receiver.ts"

const steps = stepsOfGuide("seo.md")

let program: Program
let key: string
beforeAll(async () => {
  program = await startProgram()
  key = (await program.tenant("Guide")).full_key
})
afterAll(() => program.stop())

it("answers every request of the guide as it says", async () => {
  const statuses: Array<number> = []
  let rule = ""
  for (const { answer, body, method, path } of steps) {
    const response = await program.request(method, path.replace("$RULE", rule), {
      key,
      ...(body === undefined ? {} : { body })
    })
    statuses.push(response.status)
    if (answer !== undefined) expect([path, response.body]).toMatchObject([path, answer])
    if (path === "/v1/seo/rules") rule = response.body.id
    if (path.endsWith("sitemap.xml"))
      expect(response.text.match(/<loc>[^<]*<\/loc>/g)).toEqual(["<loc>https://shop.example/brands/muller-sohne</loc>"])
    if (response.status === 202)
      await eventually("the job's end", async () =>
        (await program.request("GET", `/v1/jobs/${response.body.id}`, { key })).body.status === "ready"
          ? true
          : undefined
      )
  }
  expect(statuses).toEqual([201, 200, 201, 202, 200, 200, 202])
})
