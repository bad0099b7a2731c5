/** A publication that names a suite: what the suite is asked, and what its verdict does. */
import { Effect } from "effect"
import { afterAll, beforeAll, expect, it } from "vitest"
import { NotFound } from "../../src/http/errors.ts"
import type { GateQuestion, GateVerdict } from "../../src/profiles/publish-gate.ts"
import { type Program, startProgram, type Tenant } from "../support/program.ts"

let program: Program
let tenant: Tenant
const questions: Array<GateQuestion> = []
let verdict: GateVerdict = { before: null, after: 0.9, worst: [], passes: true }
const send = (method: string, path: string, body?: unknown) =>
  program.request(method, `/v1/collections/goods/search-profiles${path}`, { key: tenant.full_key, body })

beforeAll(async () => {
  program = await startProgram({
    publishGate: {
      judge: (question) =>
        Effect.suspend(() => {
          questions.push(question)
          return question.suiteId === "qst_1"
            ? Effect.succeed(verdict)
            : Effect.fail(new NotFound({ message: "Quality suite not found" }))
        })
    }
  })
  tenant = await program.tenant("Gated")
  await program.request("POST", "/v1/collections", {
    key: tenant.full_key,
    body: { name: "goods", fields: [{ name: "title", type: "string" }] }
  })
  await send("POST", "", { name: "listing", searchable_fields: ["title"] })
})
afterAll(() => program.stop())

it("asks the suite with what is active and with the draft, and publishes what passes", async () => {
  const publish = (body: object) => send("POST", "/listing/publish", body)
  expect((await publish({ expected_revision: 1, quality: { suite_id: "qst_2" } })).status).toBe(404)
  const first = await publish({ expected_revision: 1, quality: { suite_id: "qst_1" } })
  expect(first).toMatchObject({ status: 200, body: { version: 1 } })
  expect(questions[1]).toEqual({
    organizationId: tenant.organization_id,
    collection: "goods",
    profile: "listing",
    suiteId: "qst_1",
    maxDrop: 0.02,
    before: undefined,
    after: first.body.manifest
  })
  await send("PUT", "/listing", { searchable_fields: ["title"], per_page_max: 9 })
  const quality = { suite_id: "qst_1", max_drop: 0.1 }
  const worst = [{ q: "lamp", before: 1, after: 0 }]
  verdict = { before: 0.9, after: 0.7, worst, passes: false }
  expect(await publish({ expected_revision: 2, quality })).toMatchObject({
    status: 409,
    body: { code: "CONFLICT", data: { quality: { before: 0.9, after: 0.7, worst } } }
  })
  expect(questions[2]).toMatchObject({ maxDrop: 0.1, before: first.body.manifest, after: { per_page_max: 9 } })
  expect((await send("GET", "/listing")).body.active_release_id).toBe(first.body.id)
  // What would be refused anyway is not run.
  expect((await publish({ expected_revision: 1, quality })).status).toBe(409)
  expect((await publish({ expected_revision: 2, quality: { suite_id: "qst_1", max_drop: 2 } })).status).toBe(400)
  expect(questions).toHaveLength(3)
  verdict = { before: 0.9, after: 0.88, worst: [], passes: true }
  expect(await publish({ expected_revision: 2, quality })).toMatchObject({ status: 200, body: { version: 2 } })
  // Without a suite nobody is asked.
  expect((await publish({ expected_revision: 2 })).status).toBe(200)
  expect(questions).toHaveLength(4)
})
