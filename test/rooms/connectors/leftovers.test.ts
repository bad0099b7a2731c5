/**
 * Leftovers of connectors: a journal is kept short enough, and the rows of a deleted connector are removed in portions.
 */
import { it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { expect } from "vitest"
import { makeApplyingRepository } from "../../../src/connectors/applying/applying-repository.ts"
import { makeDocumentsRepository } from "../../../src/connectors/applying/documents-repository.ts"
import { makeConnectorsRepository } from "../../../src/connectors/connectors-repository.ts"
import {
  expireJournal,
  expireLeftovers,
  JOURNAL_ENTRIES_MAX,
  shortenJournal
} from "../../../src/connectors/journal-repository.ts"
import { ulid } from "../../../log/identifiers.ts"
import { layerTestSql } from "../../support/postgres.ts"

const NOW = Date.now()
const DAY_MS = 86_400_000
const prepared = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const repository = yield* makeApplyingRepository
  for (const id of ["org_a", "org_b"]) {
    yield* sql`INSERT INTO organizations (id, name, status, plan, created_at) VALUES (${id}, ${id}, 'active', 'standard', 0)`
    yield* (yield* makeConnectorsRepository).insert({
      id: `con_${id}`,
      organization_id: id,
      name: "Shop",
      collection: "products",
      provider: "generic",
      sync_mode: "push",
      mapping: undefined,
      secrets: [],
      secret_preview: "",
      enabled: true,
      created_at: 0,
      updated_at: 0
    } as never)
  }
  const entry = (connectorId: string, i: number) => ({
    connectorId,
    external_id: `p${i}`,
    op: "upsert" as const,
    status: "applied" as const,
    attempts: 1,
    at: 0
  })
  const known = { version: 1, deleted: false, place: { partition: 0, offset: 1, index: 0 } }
  /** Rows as a batch leaves them. */
  const leave = Effect.fnUntraced(function* (connectorId: string, from: number, n: number, at: number) {
    const entries = Array.from({ length: n }, (_, i) => entry(connectorId, from + i))
    yield* repository.note(entries, { at, base: `cje_${ulid(at, new Uint8Array(10).fill(from))}` })
    yield* (yield* makeDocumentsRepository).add(
      entries.map(({ external_id }) => ({ connectorId, externalId: external_id, known })),
      at
    )
    yield* repository.state([[connectorId, { error: "", entries: n }]], at)
  })
  const counted = Effect.map(
    sql<{
      n: number
    }>`SELECT s.journal_entries::int4 AS n FROM connectors c JOIN connector_states s ON s.connector_id = c.id ORDER BY c.id`,
    (rows) => rows.map(({ n }) => n)
  )
  const ids = (connectorId: string) =>
    Effect.map(
      sql<{ id: string }>`SELECT id FROM connector_journal WHERE connector_id = ${connectorId} ORDER BY id`,
      (rows) => rows.map(({ id }) => id)
    )
  return { sql, leave, counted, ids }
})

it.live("a journal is shortened by its length, and keeps its newest 500,000 entries of seven days", () =>
  Effect.gen(function* () {
    const { counted, ids, leave } = yield* prepared
    yield* leave("con_org_a", 0, 10, NOW - 8 * DAY_MS)
    yield* leave("con_org_a", 10, 30, NOW)
    yield* leave("con_org_b", 0, 20, NOW)
    expect(yield* counted).toEqual([40, 20])
    expect(yield* expireJournal(7)).toBe(7)
    expect([yield* expireJournal(7), yield* expireJournal(7)]).toEqual([3, 0])
    expect(yield* counted).toEqual([30, 20])
    expect(JOURNAL_ENTRIES_MAX).toBe(500_000)
    // The oldest five of 30.
    expect([yield* shortenJournal(3, 25), yield* shortenJournal(3, 25), yield* shortenJournal(3, 25)]).toEqual([
      3, 2, 0
    ])
    expect(yield* counted).toEqual([25, 20])
    expect((yield* ids("con_org_a"))[0]).toMatch(/_00005$/)
    expect((yield* ids("con_org_b")).length).toBe(20)
  }).pipe(Effect.provide(layerTestSql))
)

it.live("rows of a deleted connector are removed in small statements, and no other's are", () =>
  Effect.gen(function* () {
    const { ids, leave, sql } = yield* prepared
    yield* leave("con_org_a", 0, 25, NOW)
    yield* leave("con_org_b", 0, 5, NOW)
    const connectors = yield* makeConnectorsRepository
    // With another organization's id, nothing happens.
    yield* connectors.remove("org_b", "con_org_a")
    expect(yield* expireLeftovers(10)).toBe(0)
    yield* connectors.remove("org_a", "con_org_a")
    const removed: Array<number> = []
    for (let n = yield* expireLeftovers(10); n > 0; n = yield* expireLeftovers(10)) removed.push(n)
    expect(removed).toEqual([10, 10, 5, 10, 10, 5, 1])
    expect([yield* ids("con_org_a"), (yield* ids("con_org_b")).length]).toEqual([[], 5])
    const documents = yield* sql`SELECT DISTINCT connector_id FROM connector_documents`
    expect(documents).toEqual([{ connector_id: "con_org_b" }])
  }).pipe(Effect.provide(layerTestSql))
)
