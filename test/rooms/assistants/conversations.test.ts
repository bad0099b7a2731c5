/**
 * The memory of chats: the newest fifty turns, for as long as the assistant's settings say, within an organization's
 * bound.
 */
import { it as effectIt } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { afterAll, beforeAll, expect, it } from "vitest"
import { expireConversations, makeConversationsRepository } from "../../../src/assistants/conversations-repository.ts"
import { atTime } from "../../support/clock.ts"
import { layerTestSql } from "../../support/postgres.ts"
import { type Program, startProgram, type Tenant } from "../../support/program.ts"

let program: Program, tenant: Tenant, assistant: string
const send = (method: string, path: string, body?: unknown) =>
  program.request(method, `/v1${path}`, { key: tenant.full_key, ...(body === undefined ? {} : { body }) })
const ask = async (more: object = {}) => {
  const messages = [{ role: "user", content: "What is the noise level?" }]
  const answer = await send("POST", `/assistants/${assistant}/chat/completions`, { messages, ...more })
  expect(answer.status, answer.text).toBe(200)
  return answer.body.conversation_id as string
}

beforeAll(async () => {
  program = await startProgram()
  tenant = await program.tenant("shop")
  await program.topUp(tenant.organization_id, 1_000)
  await send("POST", "/collections", { name: "goods", fields: [{ name: "text", type: "string" }] })
  await send("POST", "/collections/goods/documents", { id: "1", text: "Its noise level is 34 dB." })
  assistant = (await send("POST", "/assistants", { name: "Shop", collections: ["goods"] })).body.id
})
afterAll(() => program.stop())

it("keeps the newest fifty turns of a conversation", async () => {
  const conversation_id = await ask()
  for (let turn = 2; turn <= 52; turn++) await ask({ conversation_id })
  const { body } = await send("GET", `/assistants/${assistant}/conversations/${conversation_id}`)
  expect(body.turns).toBe(50)
  expect(body.messages).toHaveLength(100)
})
it("is deleted with the person that it names, and no other is", async () => {
  const ada = await ask({ user_id: "ada" })
  const bob = await ask({ user_id: "bob" })
  const erased = await send("DELETE", "/events/subjects/ada")
  expect(erased.status, erased.text).toBeLessThan(300)
  await expect
    .poll(async () => (await send("GET", `/assistants/${assistant}/conversations/${ada}`)).status, { timeout: 60_000 })
    .toBe(404)
  expect((await send("GET", `/assistants/${assistant}/conversations/${bob}`)).status).toBe(200)
})

const furnished = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const id of ["org_a", "org_b"]) {
    yield* sql`INSERT INTO organizations (id, name, status, plan, created_at) VALUES (${id}, ${id}, 'active', 'standard', 0)`
    yield* sql`INSERT INTO assistants (organization_id, id, value, created_at, updated_at) VALUES (${id}, 'ast_1', '{}', 0, 0)`
  }
  return { sql, repository: yield* makeConversationsRepository }
})
const conversation = (id: string, organization_id = "org_a") => ({
  organization_id,
  assistant_id: "ast_1",
  id,
  session_id: "ses",
  user_id: undefined,
  title: "A question",
  created_at: 0
})
const DAY_MS = 86_400_000

effectIt.live("a conversation is gone when its days are over, before and after it is swept away", () =>
  Effect.gen(function* () {
    const { repository, sql } = yield* furnished
    yield* repository.insert(conversation("cnv_old"), 0, 30 * DAY_MS, 100)
    yield* repository.insert(conversation("cnv_young"), 0, 31 * DAY_MS, 100)
    const get = (id: string, at: number) => repository.get("org_a", "ast_1", id, at)
    expect(yield* get("cnv_old", 30 * DAY_MS - 1)).toBeDefined()
    expect(yield* get("cnv_old", 30 * DAY_MS)).toBeUndefined()
    expect(yield* atTime(30 * DAY_MS)(expireConversations(10))).toBe(0)
    expect(yield* atTime(30 * DAY_MS + 1)(expireConversations(10))).toBe(1)
    expect((yield* sql`SELECT id FROM conversations`).map(({ id }) => id)).toEqual(["cnv_young"])
  }).pipe(Effect.provide(layerTestSql))
)
effectIt.live("an organization keeps as many as it may, those that went on last, and no other's go for it", () =>
  Effect.gen(function* () {
    const { repository, sql } = yield* furnished
    yield* repository.insert(conversation("cnv_b", "org_b"), 0, DAY_MS, 2)
    for (const [n, id] of ["cnv_1", "cnv_2", "cnv_3"].entries())
      yield* repository.insert(conversation(id), n, DAY_MS, 2)
    expect((yield* sql`SELECT id FROM conversations ORDER BY id`).map(({ id }) => id)).toEqual([
      "cnv_2",
      "cnv_3",
      "cnv_b"
    ])
    expect(yield* repository.insert({ ...conversation("cnv_4"), assistant_id: "ast_none" }, 9, DAY_MS, 2)).toBe(false)
  }).pipe(Effect.provide(layerTestSql))
)
