/** Replays, erasure and jobs over HTTP: what is requested, what is refused, what a job reports, and who sees it. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Program, startProgram, type Tenant } from "../support/program.ts"

let program: Program
let tenant: Tenant
let other: Tenant
beforeAll(async () => {
  program = await startProgram({ allowPrivateAddresses: true })
  tenant = await program.tenant("Replayed")
  other = await program.tenant("Other")
})
afterAll(() => program.stop())

interface Job {
  readonly id: string
  readonly type: string
  readonly status: string
  readonly progress: number
  readonly config: Record<string, unknown>
  readonly result?: Record<string, any>
  readonly error?: string
  readonly created_at: number
  readonly finished_at?: number
}
const day = (at: number) => new Date(at).toISOString().slice(0, 10)
const [yesterday, today] = [day(Date.now() - 86_400_000), day(Date.now() + 86_400_000)]
const send = (method: string, path: string, body?: unknown, key = tenant.full_key) =>
  program.request(method, path, { key, body })
const replay = (over: Record<string, unknown> = {}, key = tenant.full_key) =>
  send("POST", "/v1/events/replays", { from: yesterday, to: today, target: "analytics", ...over }, key)
const ended = async (id: string, key = tenant.full_key): Promise<Job> => {
  for (let waited = 0; waited < 60_000; waited += 25) {
    const { body } = await send("GET", `/v1/jobs/${id}`, undefined, key)
    if (body.finished_at !== undefined) return body as Job
    await new Promise((settle) => setTimeout(settle, 25))
  }
  throw new Error(`job ${id} does not end`)
}
const overview = async (key = tenant.full_key) =>
  (await send("GET", `/v1/analytics/metrics/overview?from=${yesterday}&to=${today}`, undefined, key)).body
const counted = async (events: number, key = tenant.full_key) => {
  for (let waited = 0; waited < 60_000 && (await overview(key)).events !== events; waited += 20)
    await new Promise((settle) => setTimeout(settle, 20))
  expect((await overview(key)).events).toBe(events)
}

describe("replays", () => {
  it("rebuild the figures as they were, report it in a job, and notify webhooks subscribed to all events", async () => {
    const events = Array.from({ length: 40 }, (_, i) => ({
      type: i % 2 === 0 ? "search" : "click",
      q: `word ${i % 5}`,
      collection: "shop",
      session_id: `s${i % 7}`,
      document_id: "d",
      results_found: 1
    }))
    for (const key of [tenant.search_key, other.search_key]) await send("POST", "/v1/events", { events }, key)
    await counted(40)
    await counted(40, other.full_key)
    const before = await overview()
    const { id: webhookId } = (
      await send("POST", "/v1/webhooks", { name: "all", url: "http://127.0.0.1:9/", events: ["*"] })
    ).body
    const started = await replay()
    expect(started.status).toBe(202)
    expect(started.body).toMatchObject({
      type: "event_replay",
      status: "queued",
      progress: 0,
      config: { target: "analytics" }
    })
    expect(started.body.id).toMatch(/^job_[0-9A-Z]{26}$/)
    const job = await ended(started.body.id)
    expect(job).toMatchObject({ status: "ready", progress: 1, result: { target: "analytics", events: 40 } })
    expect(
      job.result!.tables.find(({ name }: { readonly name: string }) => name === "analytics_event_rollup").rows
    ).toBeGreaterThan(0)
    expect(await overview()).toEqual(before)
    const delivered = async () =>
      (
        (await send("GET", `/v1/webhooks/${webhookId}/deliveries`)).body.data as ReadonlyArray<{
          readonly id: string
          readonly event: string
        }>
      ).filter(({ event }) => event === "event.replayed")
    for (let waited = 0; waited < 60_000 && (await delivered()).length === 0; waited += 20)
      await new Promise((settle) => setTimeout(settle, 20))
    const [delivery] = await delivered()
    const { data } = JSON.parse((await send("GET", `/v1/webhooks/${webhookId}/deliveries/${delivery!.id}`)).body.body)
    expect(data).toEqual({
      job_id: job.id,
      target: "analytics",
      from: job.result!.from,
      to: job.result!.to,
      events: 40
    })
    await send("DELETE", `/v1/webhooks/${webhookId}`)
    const ofExperiments = await ended((await replay({ target: "experiments" })).body.id)
    expect(ofExperiments).toMatchObject({ status: "ready", result: { target: "experiments", events: 40 } })
    const rebuilt = ofExperiments.result!.tables as ReadonlyArray<{ readonly name: string; readonly rows: number }>
    expect(rebuilt).toContainEqual({ name: "experiment_runs", rows: 0 })
    expect(await overview()).toEqual(before)
    // New events count on from there.
    await send("POST", "/v1/events", { events: events.slice(0, 2) }, tenant.search_key)
    await counted(42)
    await counted(40, other.full_key)
  })
  it("retrain recommendation models of one organization, and report it", async () => {
    const views = (n: number) =>
      Array.from({ length: n }, (_, i) => ({
        type: "view",
        collection: "shop",
        session_id: `r${i % 9}`,
        document_id: `p${i % 4}`
      }))
    await send("POST", "/v1/events", { events: views(30) }, tenant.search_key)
    await send("POST", "/v1/events", { events: views(20) }, other.search_key)
    const { id: webhookId } = (
      await send("POST", "/v1/webhooks", { name: "all", url: "http://127.0.0.1:9/", events: ["*"] })
    ).body
    const started = await replay({ target: "recommendations" })
    expect(started).toMatchObject({
      status: 202,
      body: { type: "recommendation_replay", status: "queued", config: { target: "recommendations" } }
    })
    const again = await replay({ target: "recommendations" })
    expect([again.status, again.body.message]).toEqual([409, expect.stringContaining(started.body.id)])
    // Another target is a separate job.
    expect((await ended((await replay()).body.id)).status).toBe("ready")
    const job = await ended(started.body.id)
    // Of the 42 before, every second is a click, which teaches like a view; searches do not.
    expect(job).toMatchObject({ status: "ready", progress: 1, result: { target: "recommendations", events: 51 } })
    const theirs = await ended((await replay({ target: "recommendations" }, other.full_key)).body.id, other.full_key)
    expect(theirs.result).toMatchObject({ events: 40, from: job.result!.from, to: job.result!.to })
    const told = async () =>
      (
        (await send("GET", `/v1/webhooks/${webhookId}/deliveries`)).body.data as ReadonlyArray<{
          readonly id: string
          readonly event: string
        }>
      ).filter(({ event }) => event === "event.replayed")
    for (let waited = 0; waited < 60_000 && (await told()).length < 2; waited += 20)
      await new Promise((settle) => setTimeout(settle, 20))
    const bodies = await Promise.all(
      (await told()).map(async ({ id }) =>
        JSON.parse((await send("GET", `/v1/webhooks/${webhookId}/deliveries/${id}`)).body.body)
      )
    )
    expect(bodies.map(({ data }) => data)).toContainEqual({ job_id: job.id, ...job.result })
    await send("DELETE", `/v1/webhooks/${webhookId}`)
  })
  it("refuse meaningless values, naming the field", async () => {
    const path = async (answer: ReturnType<typeof replay>) => {
      const { body, status } = await answer
      return [status, body.data?.issues?.[0]?.path ?? body.issues?.[0]?.path]
    }
    expect(await path(replay({ target: "nothing" }))).toEqual([400, "target"])
    expect(await path(replay({ types: ["view"] }))).toEqual([400, "types"])
    expect(await path(replay({ from: "soon" }))).toEqual([400, "from"])
    expect(await path(replay({ to: "2020-01-01" }))).toEqual([400, "to"])
    expect(await path(replay({ unknown: 1 }))).toEqual([400, "unknown"])
    expect((await replay({}, tenant.search_key)).status).toBe(403)
  })
  it("run once at a time in an organization", async () => {
    const [first, second] = await Promise.all([
      replay({ types: ["search", "view", "click", "add_to_cart", "purchase", "conversion", "custom"] }),
      replay()
    ])
    const [winner, loser] = first.status === 202 ? [first, second] : [second, first]
    expect([winner.status, loser.status]).toEqual([202, 409])
    expect(loser.body.message).toContain(winner.body.id)
    expect((await replay({}, other.full_key)).status).toBe(202)
    await ended(winner.body.id)
    expect((await replay()).status).toBe(202)
  })
})

describe("jobs", () => {
  it("are listed by type and status, including ingest jobs, to their organization alone", async () => {
    await send("POST", "/v1/collections", { name: "goods", fields: [{ name: "title", type: "string" }] })
    const reindex = await send("POST", "/v1/collections/goods/reindex")
    await ended(reindex.body.id)
    const { body: all } = await send("GET", "/v1/jobs")
    expect(all.data.map(({ type }: Job) => type)).toContain("ingest")
    expect(all.data.map(({ id }: Job) => id)).toEqual(
      all.data
        .map(({ id }: Job) => id)
        .toSorted()
        .reverse()
    )
    const { body: first } = await send("GET", "/v1/jobs?limit=2")
    const { body: rest } = await send("GET", `/v1/jobs?limit=250&cursor=${first.next_cursor}`)
    expect([...first.data, ...rest.data].map(({ id }: Job) => id)).toEqual(all.data.map(({ id }: Job) => id))
    expect((await send("GET", "/v1/jobs?type=ingest")).body.data.map(({ id }: Job) => id)).toEqual([reindex.body.id])
    expect((await send("GET", "/v1/jobs?type=event_replay&status=failed")).body.data).toEqual([])
    expect((await send("GET", "/v1/jobs?status=done")).status).toBe(400)
    expect((await send("GET", `/v1/jobs/${reindex.body.id}`, undefined, other.full_key)).status).toBe(404)
    expect((await send("POST", `/v1/jobs/${reindex.body.id}/cancel`, undefined, other.full_key)).status).toBe(404)
    expect((await send("POST", `/v1/jobs/${reindex.body.id}/cancel`)).body).toMatchObject({
      status: "ready",
      type: "ingest"
    })
  })
  it("can be cancelled before anything is changed", async () => {
    for (const { id } of (await send("GET", "/v1/jobs?type=event_replay")).body.data as ReadonlyArray<Job>)
      await ended(id)
    const job = await replay()
    const cancelled = await send("POST", `/v1/jobs/${job.body.id}/cancel`)
    // Its partition may have completed the takeover by then.
    if (cancelled.status === 200 && cancelled.body.status === "cancelled")
      expect((await ended(job.body.id)).status).toBe("cancelled")
    else expect((await ended(job.body.id)).status).toBe("ready")
    expect((await replay()).status).toBe(202)
  })
})

describe("erasure", () => {
  it("removes a person from the figures and the log, with a receipt, for one organization alone", async () => {
    const events = [
      { type: "view", collection: "erased", document_id: "d", user_id: "a person/ä", session_id: "sp" },
      { type: "view", collection: "erased", document_id: "d", session_id: "sp" },
      { type: "view", collection: "erased", document_id: "d", user_id: "someone else" },
      { type: "nothing", user_id: "a person/ä" }
    ]
    const at = (await overview()).events as number
    const atOther = (await overview(other.full_key)).events as number
    for (const key of [tenant.search_key, other.search_key]) await send("POST", "/v1/events", { events }, key)
    await counted(at + 3)
    await counted(atOther + 3, other.full_key)
    const started = await send("DELETE", `/v1/events/subjects/${encodeURIComponent("a person/ä")}`)
    expect(started.status).toBe(202)
    expect(started.body).toMatchObject({ type: "subject_erasure", status: "queued" })
    const job = await ended(started.body.id)
    expect(job.error).toBeUndefined()
    expect(JSON.stringify(job)).not.toContain("person")
    expect(job.result).toMatchObject({ linked_ids: 1, state: [{ name: "attribution" }] })
    expect(Object.fromEntries(job.result!.models.map(({ name, ...how }: any) => [name, how]))).toEqual({
      rejections: { outcome: "removed", rows: 1 },
      rollups: { outcome: "rebuilt" },
      popularity: { outcome: "removed", rows: 0 },
      rules: { outcome: "removed", rows: 0 },
      experiments: { outcome: "removed", rows: 0 },
      // The histories of the user, and of the session that was seen with the user.
      affinities: { outcome: "removed", rows: 2 },
      recommendations: { outcome: "rebuilt" }
    })
    expect(
      Object.fromEntries(
        job.result!.topics.map(({ entries, name, records_rewritten }: any) => [name, [entries, records_rewritten]])
      )
    ).toMatchObject({ "behaviour.events.v1": [2, 1], "behaviour.rejected.v1": [1, 1] })
    await counted(at + 1)
    await counted(atOther + 3, other.full_key)
    const failed = async (key: string) =>
      ((await send("GET", "/v1/events/failed", undefined, key)).body.data as ReadonlyArray<unknown>).length
    expect([await failed(tenant.full_key), await failed(other.full_key)]).toEqual([0, 1])
    // A person who returns is counted.
    await send("POST", "/v1/events", { events: events.slice(0, 1) }, tenant.search_key)
    await counted(at + 2)
    expect((await send("POST", `/v1/jobs/${job.id}/cancel`)).body.status).toBe("ready")
  })
  it("refuses an id that no event can carry, and a search key", async () => {
    expect((await send("DELETE", `/v1/events/subjects/${"x".repeat(257)}`)).status).toBe(400)
    expect((await send("DELETE", `/v1/events/subjects/${encodeURIComponent("ä".repeat(128))}`)).status).toBe(202)
    expect((await send("DELETE", "/v1/events/subjects/u", undefined, tenant.search_key)).status).toBe(403)
  })
})
