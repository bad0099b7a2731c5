/**
 * Support threads: whose they are, live in both directions and across processes, their attachments, and how they are
 * deleted.
 */
import { afterAll, beforeAll, expect, it } from "vitest"
import { ONE_PIXEL } from "../../src/media/one-pixel.ts"
import { type Program, startProgram, type Tenant } from "../support/program.ts"
import { eventually, type Receiver, startReceiver } from "../support/receiver.ts"

let program: Program, tenant: Tenant, other: Tenant, searchKey: string, receiver: Receiver
const send = (
  method: string,
  path: string,
  body?: unknown,
  { headers = {}, key = tenant.full_key }: { headers?: Record<string, string>; key?: string } = {}
) => program.request(method, `/v1${path}`, { key, headers, ...(body === undefined ? {} : { body }) })
const visiting = (session: string) => ({ key: searchKey, headers: { "x-svc-session-id": session } })
const begun = async (session: string, body: object = {}) => {
  const made = await send(
    "POST",
    "/support/threads",
    { subject: "Lamp", text: "Where is it?", ...body },
    visiting(session)
  )
  expect(made.status, made.text).toBe(201)
  return made.body
}

beforeAll(async () => {
  receiver = await startReceiver()
  program = await startProgram({ allowPrivateAddresses: true })
  tenant = await program.tenant("shop")
  other = await program.tenant("other")
  const made = await send("POST", "/keys", { description: "page", scope: "search", collections: ["goods"] })
  searchKey = made.body.value
  await send("POST", "/webhooks", {
    name: "w",
    url: receiver.url,
    events: ["support.thread.created", "support.message.created"]
  })
})
afterAll(async () => {
  await program.stop()
  await receiver.stop()
})

/** What a stream sends, as it arrives. */
const listening = async (path: string, key: string, headers: Record<string, string> = {}, base = program.base) => {
  const aborting = new AbortController()
  const answer = await fetch(`${base}/v1${path}`, {
    headers: { "x-svc-api-key": key, ...headers },
    signal: aborting.signal
  })
  expect(answer.status).toBe(200)
  expect(answer.headers.get("content-type")).toContain("text/event-stream")
  let text = ""
  const reading = (async () => {
    for await (const piece of answer.body as unknown as AsyncIterable<Uint8Array>)
      text += new TextDecoder().decode(piece)
  })().catch(() => {})
  const events = () =>
    text
      .split("\n\n")
      .filter((frame) => frame.includes("event: "))
      .map((frame) => {
        const of = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(frame)?.[1]
        return { id: of("id"), event: of("event"), data: JSON.parse(of("data")!) }
      })
  return {
    events,
    close: async () => {
      aborting.abort()
      await reading
    }
  }
}

it("belongs to the session that began it, and to the shop", async () => {
  const thread = await begun("ses-a", { visitor: { name: "Ada", email: "ada@example.com" } })
  expect(thread).toMatchObject({
    subject: "Lamp",
    status: "open",
    session_id: "ses-a",
    visitor: { name: "Ada", email: "ada@example.com" },
    unread: 0
  })
  const path = `/support/threads/${thread.id}`
  expect((await send("GET", path, undefined, visiting("ses-a"))).body.id).toBe(thread.id)
  for (const [method, place, body] of [
    ["GET", "", undefined],
    ["PATCH", "", { status: "closed" }],
    ["GET", "/messages", undefined],
    ["POST", "/messages", { text: "x" }],
    ["GET", "/stream", undefined]
  ] as const) {
    expect((await send(method, path + place, body, visiting("ses-b"))).status).toBe(403)
    expect((await send(method, path + place, body, { key: searchKey })).status).toBe(400)
    expect((await send(method, path + place, body, { key: other.full_key })).status).toBe(404)
  }
  expect((await send("GET", "/support/threads", undefined, visiting("ses-b"))).body.data).toEqual([])
  expect((await send("GET", "/support/threads", undefined, { key: other.full_key })).body.data).toEqual([])
  expect((await send("GET", path)).body).toMatchObject({ id: thread.id, unread: 1 })
  // A key that does not reach everything reads no one's threads.
  const narrow = await send("POST", "/keys", { description: "n", scope: "full", collections: ["goods"] })
  expect((await send("GET", path, undefined, { key: narrow.body.value })).status).toBe(403)
})

it("counts what the other side has not read, and reopens", async () => {
  const { id } = await begun("ses-read")
  const path = `/support/threads/${id}`
  const unread = async () => [
    (await send("GET", path, undefined, visiting("ses-read"))).body.unread,
    (await send("GET", path)).body.unread
  ]
  expect(await unread()).toEqual([0, 1])
  await send("POST", `${path}/messages`, { text: "On its way." })
  // Writing marks the thread as read.
  expect(await unread()).toEqual([1, 0])
  const read = await send("GET", `${path}/messages`, undefined, visiting("ses-read"))
  expect(read.body.data.map(({ author, text }: any) => [author, text])).toEqual([
    ["visitor", "Where is it?"],
    ["agent", "On its way."]
  ])
  expect(await unread()).toEqual([0, 0])
  const page = await send("GET", `${path}/messages?limit=1`)
  expect([page.body.data.length, page.body.next_cursor]).toEqual([1, "1"])
  expect((await send("GET", `${path}/messages?limit=1&cursor=1`)).body.data[0].text).toBe("On its way.")
  expect((await send("PATCH", path, { status: "closed" }, visiting("ses-read"))).body.status).toBe("closed")
  await send("POST", `${path}/messages`, { text: "One more thing." }, visiting("ses-read"))
  expect((await send("GET", path)).body.status).toBe("open")
})

it("lists the most recently written first, by status, member and words", async () => {
  const session = "ses-list"
  const ids: Array<string> = []
  for (const subject of ["First 100%", "Second", "Third"]) ids.push((await begun(session, { subject })).id)
  await send("POST", `/support/threads/${ids[0]}/messages`, { text: "bluebell" })
  const listed = async (query: string, given = visiting(session)) =>
    (await send("GET", `/support/threads?${query}`, undefined, given)).body.data.map(({ id }: any) => ids.indexOf(id))
  expect(await listed("")).toEqual([0, 2, 1])
  const first = await send("GET", "/support/threads?limit=2", undefined, visiting(session))
  expect(await listed(`limit=2&cursor=${first.body.next_cursor}`)).toEqual([1])
  expect(await listed("q=BLUEbell")).toEqual([0])
  expect(await listed("q=100%25")).toEqual([0])
  expect(await listed("q=_____________________")).toEqual([])
  await send("PATCH", `/support/threads/${ids[1]}`, { status: "pending" })
  expect(await listed("status=pending")).toEqual([1])
  for (const wrong of ["status=lost", "cursor=here", "limit=0"])
    expect((await send("GET", `/support/threads?${wrong}`)).status).toBe(400)
})

it("is assigned to members, only by the shop", async () => {
  const { id } = await begun("ses-assign")
  const path = `/support/threads/${id}`
  const member = await program.request("POST", `/console/v1/organizations/${tenant.organization_id}/members`, {
    headers: { authorization: `Bearer ${program.operatorToken}` },
    body: { email: "a@shop.example", role: "member", name: "A", password: "a long password of a member" }
  })
  const assignee_id = member.body.id as string
  expect((await send("PATCH", path, { assignee_id })).body.assignee_id).toBe(assignee_id)
  const mine = await send("GET", `/support/threads?assignee_id=${assignee_id}`)
  expect(mine.body.data.map((each: any) => each.id)).toEqual([id])
  expect((await send("PATCH", path, { assignee_id: "mem_nobody" })).status).toBe(400)
  const refused = await send(
    "PATCH",
    path,
    { assignee_id: null, subject: "x", status: "pending" },
    visiting("ses-assign")
  )
  expect([refused.status, refused.body.data.issues.map(({ path: at }: any) => at)]).toEqual([
    400,
    ["assignee_id", "subject", "status"]
  ])
  expect((await send("PATCH", path, { assignee_id: null })).body.assignee_id).toBeUndefined()
})

it("names every invalid field", async () => {
  const wrong = await send(
    "POST",
    "/support/threads",
    { subject: " ", text: "é".repeat(4_097), visitor: { email: "nobody" }, media_ids: ["x"] },
    visiting("ses-w")
  )
  expect([wrong.status, wrong.body.data.issues.map(({ path }: any) => path).sort()]).toEqual([
    400,
    ["media_ids[0]", "subject", "text", "visitor.email"]
  ])
  // The bound is 8,192 bytes.
  await begun("ses-w", { text: "é".repeat(4_096) })
  expect((await send("POST", "/support/threads", { subject: "x" })).body.data.issues[0].path).toBe("session_id")
  expect((await send("POST", "/support/threads", { subject: "x", session_id: "else" }, visiting("ses-w"))).status).toBe(
    400
  )
})

it("notifies webhooks", async () => {
  const thread = await begun("ses-hook", { subject: "Hooked" })
  const of = (event: string) => () =>
    receiver.received.map(({ json }) => json).find((sent) => sent.event === event && sent.data.thread_id === thread.id)
  const created = await eventually("the thread is told", of("support.thread.created"))
  expect(created.data).toEqual({ thread_id: thread.id, subject: "Hooked", session_id: "ses-hook" })
  const message = await eventually("the message is told", of("support.message.created"))
  expect(message.data).toEqual({ thread_id: thread.id, message_id: expect.stringMatching(/^msg_/), author: "visitor" })
})

it("streams both ways, and resumes at the last position", async () => {
  const { id } = await begun("ses-live")
  const { id: foreign } = await begun("ses-foreign")
  const path = `/support/threads/${id}`
  const visitor = await listening(`${path}/stream?session_id=ses-live&api_key=${searchKey}`, "")
  const agent = await listening(`${path}/stream`, tenant.full_key)
  const texts = (stream: { events: () => Array<any> }) => () =>
    stream
      .events()
      .filter(({ event }) => event === "message")
      .map(({ data }) => data.text)
      .join()
  await send("POST", `${path}/messages`, { text: "hello" })
  await send("POST", `/support/threads/${foreign}/messages`, { text: "for somebody else" })
  await send("POST", `${path}/messages`, { text: "hi" }, visiting("ses-live"))
  for (const stream of [visitor, agent]) await expect.poll(texts(stream), { timeout: 60_000 }).toBe("hello,hi")
  await send("PATCH", path, { status: "pending" })
  await expect
    .poll(() => agent.events().at(-1), { timeout: 60_000 })
    .toMatchObject({ event: "thread", data: { status: "pending" } })
  const last = visitor.events().find(({ data }) => data.text === "hello")!
  await visitor.close()
  await send("POST", `${path}/messages`, { text: "are you there?" })
  const again = await listening(`${path}/stream`, searchKey, {
    "x-svc-session-id": "ses-live",
    "last-event-id": last.id!
  })
  await expect.poll(texts(again), { timeout: 60_000 }).toBe("hi,are you there?")
  await again.close()
  await send("DELETE", path)
  await expect.poll(texts(agent), { timeout: 60_000 }).toBe("hello,hi,are you there?")
  await agent.close()
})

it("allows a session five streams", async () => {
  const { id } = await begun("ses-many")
  const path = `/support/threads/${id}/stream`
  const open = []
  for (let i = 0; i < 5; i++) open.push(await listening(path, searchKey, { "x-svc-session-id": "ses-many" }))
  const refused = await send("GET", path, undefined, visiting("ses-many"))
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "5"])
  await open.pop()!.close()
  await expect
    .poll(
      async () => {
        const stream = await fetch(`${program.base}/v1${path}`, {
          headers: { "x-svc-api-key": searchKey, "x-svc-session-id": "ses-many" }
        })
        await stream.body?.cancel()
        return stream.status
      },
      { timeout: 60_000 }
    )
    .toBe(200)
  for (const stream of open) await stream.close()
})

it("attaches what the visitor uploaded, and nothing else", async () => {
  await program.topUp(tenant.organization_id, 10)
  const uploaded = await send("POST", "/media/images", { image: ONE_PIXEL }, visiting("ses-pic"))
  expect(uploaded.body.expires_at).toBeGreaterThan(0)
  const shops = await send("POST", "/media/images", { image: ONE_PIXEL })
  const thread = await begun("ses-pic", { media_ids: [uploaded.body.id] })
  const path = `/support/threads/${thread.id}`
  const attached = (await send("GET", `${path}/messages`)).body.data[0].media_ids
  expect(attached).toEqual([uploaded.body.id])
  expect((await send("GET", `/media/${uploaded.body.id}`)).body.expires_at).toBeUndefined()
  // Neither the shop's own files nor those already attached.
  for (const id of [shops.body.id, uploaded.body.id, "med_none"]) {
    const refused = await send("POST", `${path}/messages`, { text: "x", media_ids: [id] }, visiting("ses-pic"))
    expect([refused.status, refused.body.data.issues[0].path]).toEqual([400, "media_ids[0]"])
  }
  expect((await send("POST", `${path}/messages`, { text: "Look", media_ids: [shops.body.id] })).status).toBe(201)
  const content = await fetch(`${program.base}/v1${path}/media/${shops.body.id}?session_id=ses-pic`, {
    headers: { "x-svc-api-key": searchKey }
  })
  expect([content.status, content.headers.get("content-type")]).toEqual([200, "image/png"])
  await content.body?.cancel()
  const elsewhere = await begun("ses-pic")
  expect(
    (await send("GET", `/support/threads/${elsewhere.id}/media/${shops.body.id}`, undefined, visiting("ses-pic")))
      .status
  ).toBe(404)
  await send("DELETE", path)
  // The next sweep of media removes it.
  expect((await send("GET", `/media/${uploaded.body.id}`)).body.expires_at).toBe(0)
  expect((await send("GET", `/media/${shops.body.id}`)).body.expires_at).toBeUndefined()
})

it("is deleted with the person, and limits a session to fifty", async () => {
  const thread = await begun("ses-erased", { user_id: "user-7" })
  const theirs = await program.request("POST", "/v1/support/threads", {
    key: other.full_key,
    body: { subject: "x", session_id: "s", user_id: "user-7" }
  })
  await send("DELETE", "/events/subjects/user-7")
  expect((await send("GET", `/support/threads/${thread.id}`)).status).toBe(404)
  expect((await send("GET", `/support/threads/${theirs.body.id}`, undefined, { key: other.full_key })).status).toBe(200)
  for (let i = 0; i < 50; i++) await begun("ses-flood")
  const flooded = await send("POST", "/support/threads", { subject: "x" }, visiting("ses-flood"))
  expect([flooded.status, flooded.body.data?.limit ?? flooded.body.limit]).toEqual([429, 50])
})
