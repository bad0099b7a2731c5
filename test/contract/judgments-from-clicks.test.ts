/**
 * Judgments derived from clicks: generated visitors with known relevance read from top to bottom, with more attention
 * at the top, and the grades order documents by their relevance, independent of the positions at which they were shown.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { makeRandom } from "../../fixtures/random.ts"
import type { ServedSearch } from "../../log/event-schema.ts"
import { type Program, startProgram, type Tenant } from "../support/program.ts"
import { eventually } from "../support/receiver.ts"

let program: Program, tenant: Tenant, other: Tenant
const send = (method: string, path: string, body?: unknown) =>
  program.request(method, path, { key: tenant.full_key, body })
const made = async (...asked: Parameters<typeof send>) => {
  const answer = await send(...asked)
  if (answer.status >= 300) throw new Error(`${asked[0]} ${asked[1]}: ${answer.status} ${answer.text}`)
  return answer.body
}
const ended = (id: string) =>
  eventually(`the end of ${id}`, async () => {
    const body = await made("GET", `/v1/jobs/${id}`)
    return body.finished_at === undefined ? undefined : body
  })

const QUERIES = ["lamp", "desk", "chair", "shelf", "mug", "board", "clock", "vase"]
const DOCUMENTS = 10
const VISITORS = 150
const random = makeRandom(11)
/** Of the document at a row of the list: 0 to 3, in no order. */
const relevance = new Map(QUERIES.map((q) => [q, Array.from({ length: DOCUMENTS }, () => random.below(4))]))
/** The probability that a visitor who looks at a document takes it, by relevance. */
const TAKES = [0.05, 0.25, 0.55, 0.9]
const idOf = (q: string, row: number) => `${q}-${row}`

const now = Date.now()
const day = new Date(now).toISOString().slice(0, 10)
const yesterday = new Date(now - 86_400_000).toISOString().slice(0, 10)
const visit = (q: string, v: number) => {
  const at = now - 3_600_000 + v * 1_000
  const query_id = `qry_${q}_${v}`
  const served: ServedSearch = {
    organization_id: tenant.organization_id,
    query_id,
    collection: "goods",
    q,
    found: DOCUMENTS,
    session_id: `s${q}${v}`,
    at,
    isCounted: true
  }
  const taken = relevance
    .get(q)!
    .flatMap((grade, row) => (random.chance((1 / Math.log2(row + 2)) * TAKES[grade]!) ? [row] : []))
  const events = taken.map((row) => ({
    // One of four events names the search, the others are attributed by session.
    ...(v % 4 === 0 ? { query_id } : {}),
    type: v % 10 === 0 ? "add_to_cart" : "click",
    collection: "goods",
    document_id: idOf(q, row),
    session_id: `s${q}${v}`,
    timestamp: at + 5_000,
    event_id: `${q}${v}-${row}`,
    ...(v % 10 === 0 ? { price: 1 } : {})
  }))
  return { served, events }
}
const visitAll = async () => {
  const visits = QUERIES.flatMap((q) => Array.from({ length: VISITORS }, (_, v) => visit(q, v)))
  await program.answered(visits.map(({ served }) => served))
  const events = visits.flatMap((one) => one.events)
  for (let i = 0; i < events.length; i += 1_000)
    await made("POST", "/v1/events", { events: events.slice(i, i + 1_000) })
  await othersVisit(visits)
}
/** Visitors of another organization, with the same names at the same moments, buy what is irrelevant here. */
const othersVisit = async (visits: ReadonlyArray<ReturnType<typeof visit>>) => {
  await program.answered(visits.map(({ served }) => ({ ...served, organization_id: other.organization_id })))
  const events = visits.flatMap(({ served: { at, q, query_id, session_id } }) =>
    relevance.get(q)!.flatMap((grade, row) =>
      grade > 0
        ? []
        : [
            {
              type: "purchase",
              collection: "goods",
              document_id: idOf(q, row),
              revenue: 1,
              currency: "EUR",
              query_id,
              session_id,
              timestamp: at + 5_000
            }
          ]
    )
  )
  for (let i = 0; i < events.length; i += 1_000) {
    const body = { events: events.slice(i, i + 1_000) }
    const answer = await program.request("POST", "/v1/events", { key: other.full_key, body })
    expect([answer.status, answer.body.accepted]).toEqual([200, body.events.length])
  }
}

beforeAll(async () => {
  program = await startProgram()
  tenant = await program.tenant("Clicked")
  other = await program.tenant("Other")
  await made("POST", "/v1/collections", {
    name: "goods",
    fields: [
      { name: "title", type: "string" },
      { name: "rank", type: "int32" }
    ]
  })
  await made(
    "POST",
    "/v1/collections/goods/documents/import",
    QUERIES.flatMap((q) =>
      Array.from({ length: DOCUMENTS }, (_, row) =>
        JSON.stringify({ id: idOf(q, row), title: `${q} ${row}`, rank: DOCUMENTS - row })
      )
    ).join("\n")
  )
  await visitAll()
})
afterAll(() => program.stop())

describe("judgments from clicks", () => {
  it("order 85 of 100 pairs of documents by their relevance, and leave manual judgments alone", async () => {
    const { id } = await made("POST", "/v1/quality/suites", {
      name: "Clicks",
      collection: "goods",
      params: { query_by: "title", sort_by: "rank:desc" },
      judgments: [{ q: "lamp", document_id: "lamp-0", grade: 3 }]
    })
    const started = await send("POST", `/v1/quality/suites/${id}/judgments/from-clicks`, { from: yesterday, to: day })
    expect(started.status).toBe(202)
    const job = await ended(started.body.id)
    expect(job).toMatchObject({
      type: "judgments_from_clicks",
      status: "ready",
      result: {
        searches: QUERIES.length * VISITORS,
        queries: QUERIES.length,
        judgments_from_clicks: QUERIES.length * DOCUMENTS - 1,
        judgments: QUERIES.length * DOCUMENTS,
        left_out: 0
      }
    })
    const { judgments } = await made("GET", `/v1/quality/suites/${id}`)
    expect(judgments[0]).toEqual({ q: "lamp", document_id: "lamp-0", grade: 3 })
    const graded = new Map<string, number>(
      judgments.map(({ document_id, grade }: { document_id: string; grade: number }) => [document_id, grade])
    )
    let right = 0,
      wrong = 0,
      even = 0
    for (const [q, grades] of relevance)
      for (let a = 0; a < DOCUMENTS; a++)
        for (let b = 0; b < a; b++) {
          if (grades[a] === grades[b] || (q === "lamp" && b === 0)) continue
          const difference = (graded.get(idOf(q, a))! - graded.get(idOf(q, b))!) * (grades[a]! - grades[b]!)
          if (difference > 0) right++
          else if (difference < 0) wrong++
          else even++
        }
    console.log(`${right} pairs right, ${even} even, ${wrong} wrong`)
    expect(right / (right + wrong + even)).toBeGreaterThanOrEqual(0.85)
    expect(wrong / (right + wrong)).toBeLessThanOrEqual(0.02)
  })
  it("are not made from pairs shown fewer than 20 times, nor from what an erased person did", async () => {
    const { id } = await made("POST", "/v1/quality/suites", {
      name: "Few",
      collection: "goods",
      params: { query_by: "title" },
      judgments: []
    })
    const few = Array.from({ length: 19 }, (_, v) => ({
      ...visit("lamp", v).served,
      q: "brass lamp",
      query_id: `few${v}`
    }))
    await program.answered(few.map((one, v) => ({ ...one, session_id: `few${v}` })))
    const job = await ended(
      (await made("POST", `/v1/quality/suites/${id}/judgments/from-clicks`, { from: yesterday, to: day })).id
    )
    expect(job.result).toMatchObject({ searches: QUERIES.length * VISITORS + 19, queries: QUERIES.length })
    // A person's searches no longer count once the person was erased.
    const own = Array.from({ length: 30 }, (_, v) => ({
      ...visit("desk", v).served,
      q: "secret desk",
      query_id: `own${v}`,
      session_id: `own${v}`,
      user_id: "somebody"
    }))
    await program.answered(own)
    const counted = async () => {
      const body = await made("POST", `/v1/quality/suites/${id}/judgments/from-clicks`, { from: yesterday, to: day })
      return (await ended(body.id)).result
    }
    expect(await counted()).toMatchObject({ queries: QUERIES.length + 1 })
    await ended((await made("DELETE", "/v1/events/subjects/somebody")).id)
    expect(await counted()).toMatchObject({
      searches: QUERIES.length * VISITORS + 19,
      queries: QUERIES.length
    })
    const wrong = await send("POST", `/v1/quality/suites/${id}/judgments/from-clicks`, { from: day, to: "soon" })
    expect([wrong.status, wrong.body.data.issues[0].path]).toEqual([400, "to"])
  })
})
