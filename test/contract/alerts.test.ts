/**
 * Alerts over HTTP, from the search that is counted to the receiver that is notified. Two organizations side by side.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Program, Tenant } from "../support/program.ts"
import { sharedProgram } from "../support/shared-program.ts"
import { eventually, type Receiver, startReceiver } from "../support/receiver.ts"

let program: Program, tenant: Tenant, other: Tenant, receiver: Receiver
const send = (method: string, path: string, body?: unknown, key = tenant.full_key) =>
  program.request(method, path, { key, body })
const alert = { name: "Busy", metric: "searches", op: ">", threshold: 2, window_minutes: 5, collection: "goods" }

beforeAll(async () => {
  program = await sharedProgram({ allowPrivateAddresses: true })
  receiver = await startReceiver()
  tenant = await program.tenant("Watched")
  other = await program.tenant("Beside")
  for (const { full_key } of [tenant, other]) {
    await send("POST", "/v1/collections", { name: "goods", fields: [{ name: "title", type: "string" }] }, full_key)
  }
  await send("POST", "/v1/webhooks", { name: "w", url: receiver.url, events: ["alert.fired"] })
})
afterAll(async () => {
  await program.stop()
  await receiver.stop()
})

describe("alerts", () => {
  it("are sent once, with the measured value, to the organization whose figures they are", async () => {
    for (const q of ["lamp", "desk", "chair"])
      await send("GET", `/v1/collections/goods/documents/search?q=${q}&query_by=title`)
    const day = new Date().toISOString().slice(0, 10)
    await eventually("the searches are counted", async () => {
      const { totals } = (await send("GET", `/v1/analytics/metrics/overview?from=${day}&to=${day}`)).body
      return totals.searches === 3 ? true : undefined
    })
    for (const { full_key } of [tenant, other]) await send("POST", "/v1/alerts", alert, full_key)
    const [told] = await receiver.until(1, 45_000)
    const [{ id }] = (await send("GET", "/v1/alerts")).body.data
    expect(told!.json).toMatchObject({
      event: "alert.fired",
      organization_id: tenant.organization_id,
      data: { alert_id: id, metric: "searches", value: 3, threshold: 2 }
    })
    const shown = (await send("GET", `/v1/alerts/${id}`)).body
    expect(shown).toMatchObject({ ...alert, enabled: true, state: "firing", last_value: 3 })
    expect(shown.last_fired_at).toBeGreaterThan(Date.now() - 60_000)
    const [others] = (await send("GET", "/v1/alerts", undefined, other.full_key)).body.data
    expect(others).toMatchObject({ state: "ok", last_fired_at: null })
    // A new query re-arms the alert; a new name does not.
    expect((await send("PUT", `/v1/alerts/${id}`, { ...alert, name: "Very busy" })).body.state).toBe("firing")
    expect((await send("PUT", `/v1/alerts/${id}`, { ...alert, threshold: 9 })).body).toMatchObject({
      state: "ok",
      last_value: null
    })
  })
  it("are validated, each wrong field by its name, and belong to their organization", async () => {
    const wrong = await send("POST", "/v1/alerts", {
      name: "",
      metric: "weather",
      op: "=",
      threshold: "1",
      window_minutes: 1_441
    })
    expect(wrong.status).toBe(400)
    const issues = wrong.body.data.issues as ReadonlyArray<{ readonly path: string; readonly message: string }>
    expect(issues.map(({ path }) => path).sort()).toEqual(["metric", "name", "op", "threshold", "window_minutes"])
    expect(issues.find(({ path }) => path === "metric")!.message).toContain("zero_result_rate")
    const lag = await send("POST", "/v1/alerts", { ...alert, metric: "events_lag_seconds" })
    expect([lag.status, lag.body.data.issues[0].path]).toEqual([400, "collection"])
    const { id } = (await send("POST", "/v1/alerts", { ...alert, metric: "p95_latency_ms", collection: null })).body
    for (const method of ["GET", "PUT", "DELETE"]) {
      const answer = await send(method, `/v1/alerts/${id}`, method === "PUT" ? alert : undefined, other.full_key)
      expect([method, answer.status]).toEqual([method, 404])
    }
    expect((await send("DELETE", `/v1/alerts/${id}`)).body).toEqual({ id })
  })
  it("are deleted with their collection", async () => {
    await send("DELETE", "/v1/collections/goods")
    expect((await send("GET", "/v1/alerts")).body).toEqual({ data: [] })
    expect((await send("GET", "/v1/alerts", undefined, other.full_key)).body.data).toHaveLength(1)
  })
})
