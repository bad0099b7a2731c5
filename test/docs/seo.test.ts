/** `docs/seo.md`, request by request: each answer is the one printed below it. */
import { afterAll, beforeAll, expect, it } from "vitest"
import { stepsOfGuide } from "../support/guide.ts"
import { type Program, startProgram } from "../support/program.ts"
import { eventually } from "../support/receiver.ts"

const all = stepsOfGuide("seo.md")
const steps = all.slice(0, 7)

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
it("generates pages for the demo shop, as the guide shows them", async () => {
  const shop = await startProgram({ demoProducts: 1_500 })
  try {
    const demo_key = shop.demo!.full_key
    let rule = ""
    let page = ""
    for (const { body, method, path } of all.slice(7)) {
      const answer = await shop.request(method, path.replace("$RULE", rule), {
        key: demo_key,
        ...(body === undefined ? {} : { body })
      })
      expect(answer.status, answer.text).toBeLessThan(300)
      if (path === "/v1/seo/rules") rule = answer.body.id
      page = answer.text
      if (answer.status === 202)
        await eventually("the job's end", async () =>
          (await shop.request("GET", `/v1/jobs/${answer.body.id}`, { key: demo_key })).body.status === "ready"
            ? true
            : undefined
        )
    }
    expect(all.slice(7)).toHaveLength(3)
    expect(page).toMatch(/<h1 dir="auto">Accessories<\/h1>/)
    expect(page).toContain('<link rel="canonical" href="https://shop.example/c/accessories">')
    expect(page.match(/<li><bdi>/g)!.length).toBeGreaterThanOrEqual(20)
  } finally {
    await shop.stop()
  }
})
