/** A publication that names a suite of judged queries: what the suite measures, and the effect of its verdict. */
import { afterAll, beforeAll, expect, it } from "vitest"
import type { Program, Tenant } from "../support/program.ts"
import { sharedProgram } from "../support/shared-program.ts"

let program: Program
let tenant: Tenant, other: Tenant
const own = (method: string, path: string, body?: unknown, key = tenant.full_key) =>
  program.request(method, `/v1${path}`, { key, body })
const send = (method: string, path: string, body?: unknown) =>
  own(method, `/collections/goods/search-profiles${path}`, body)
const suiteOf = async (collection: string, key = tenant.full_key): Promise<string> =>
  (
    await own(
      "POST",
      "/quality/suites",
      {
        name: "Lamps",
        collection,
        // Used by the suite's own runs; a publication searches by manifests alone.
        params: { query_by: "blurb", filter_by: "price:<0" },
        judgments: [
          { q: "lamp", document_id: "1", grade: 3 },
          { q: "oak", document_id: "2", grade: 3 }
        ]
      },
      key
    )
  ).body.id

beforeAll(async () => {
  program = await sharedProgram()
  tenant = await program.tenant("Gated")
  other = await program.tenant("Other")
  for (const [key, name] of [
    [tenant.full_key, "goods"],
    [tenant.full_key, "elsewhere"],
    [other.full_key, "goods"]
  ] as const) {
    const fields = [
      { name: "title", type: "string" },
      { name: "blurb", type: "string" },
      { name: "price", type: "int32" }
    ]
    await own("POST", "/collections", { name, fields }, key)
  }
  for (const document of [
    { id: "1", title: "lamp", blurb: "of oak", price: 5 },
    { id: "2", title: "oak", blurb: "beside a lamp", price: 500 }
  ])
    await own("POST", "/collections/goods/documents", document)
  // A page of one hit: the suite looks deeper than any page.
  await send("POST", "", { name: "listing", searchable_fields: ["title"], per_page_max: 1 })
})
afterAll(() => program.stop())

it("measures the active release and the draft, and publishes what passes", async () => {
  const publish = (body: object) => send("POST", "/listing/publish", body)
  const suite = await suiteOf("goods")
  for (const suite_id of ["qst_none", await suiteOf("elsewhere"), await suiteOf("goods", other.full_key)])
    expect((await publish({ expected_revision: 1, quality: { suite_id } })).status).toBe(404)
  const first = await publish({ expected_revision: 1, quality: { suite_id: suite } })
  expect(first).toMatchObject({ status: 200, body: { version: 1 } })
  // One of the two judged documents can no longer be found: nDCG@10 falls from 1 to 0.5.
  await send("PUT", "/listing", { searchable_fields: ["title"], fixed_filter_by: "price:<100" })
  const refused = await publish({ expected_revision: 2, quality: { suite_id: suite } })
  expect(refused).toMatchObject({
    status: 409,
    body: { code: "CONFLICT", data: { quality: { before: 1, after: 0.5, worst: [{ q: "oak", before: 1, after: 0 }] } } }
  })
  expect((await send("GET", "/listing")).body.active_release_id).toBe(first.body.id)
  // Any other refusal is reported first.
  expect((await publish({ expected_revision: 1, quality: { suite_id: suite } })).body.data.current_revision).toBe(2)
  const quality = (max_drop: number) => ({ expected_revision: 2, quality: { suite_id: suite, max_drop } })
  expect((await publish(quality(2))).status).toBe(400)
  expect((await publish(quality(0.49))).status).toBe(409)
  expect(await publish(quality(0.5))).toMatchObject({ status: 200, body: { version: 2 } })
  // Without a suite nothing is measured.
  await send("PUT", "/listing", { searchable_fields: ["blurb"] })
  expect(await publish({ expected_revision: 3 })).toMatchObject({ status: 200, body: { version: 3 } })
  // A run of the suite with the active profile, whatever its page size.
  const run = await own("POST", `/quality/suites/${suite}/run`, { profile: "listing" })
  expect(run.status).toBe(202)
  await expect
    .poll(async () => (await own("GET", `/jobs/${run.body.id}`)).body.result, { timeout: 60_000 })
    .toMatchObject({ profile: "listing", ndcg_at_10: 0, judged_at_10: expect.any(Number) })
})
