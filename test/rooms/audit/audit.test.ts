/** The audit log is written with the change, contains the resulting state, and does not grow without bound. */
import { it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { expect } from "vitest"
import { AUDIT_KEPT_MS, expireAudit, makeAuditRepository } from "../../../src/audit/audit-repository.ts"
import { CurrentOrigin } from "../../../src/identity/origin.ts"
import { makeAuditRecorder } from "../../../src/audit/record.ts"
import { Configuration } from "../../../src/configuration/configuration.ts"
import { expireSessions } from "../../../src/console/members-repository.ts"
import { Identifiers } from "../../../log/identifiers.ts"
import { atTime } from "../../support/clock.ts"
import { layerTestSql } from "../../support/postgres.ts"

const layer = Layer.provideMerge(Layer.provideMerge(Configuration.layerEmbedded, Identifiers.layer), layerTestSql)
const everything = {
  kind: undefined,
  subjectId: undefined,
  actor: undefined,
  from: undefined,
  before: undefined,
  cursor: undefined,
  limit: 1_000
}
const entriesOf = (organizationId: string) =>
  Effect.flatMap(makeAuditRepository, ({ page }) => page(organizationId, everything))
const organization = (id: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) =>
      sql`INSERT INTO organizations (id, name, status, plan, created_at) VALUES (${id}, ${id}, 'active', 'standard', 0)`
  )

it.live(
  "a change that is rolled back takes its entry back; of concurrent ones each names what the one before it left",
  () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const configuration = yield* Configuration
      const subject = { kind: "organization", organizationId: "org_a", id: "org_a" } as const
      const rename = (name: string) => sql`UPDATE organizations SET name = ${name} WHERE id = 'org_a'`
      yield* configuration.write(subject, Effect.provideService(organization("org_a"), SqlClient.SqlClient, sql))
      expect(
        Exit.isFailure(
          yield* Effect.exit(
            configuration.write(subject, Effect.andThen(rename("never"), Effect.fail("refused" as const)))
          )
        )
      ).toBe(true)
      // Without a change there is no entry.
      yield* configuration.write(subject, rename("org_a"))
      expect((yield* entriesOf("org_a")).map(({ action }) => action)).toEqual(["created"])
      yield* Effect.forEach(
        Array.from({ length: 12 }),
        (_, i) =>
          Effect.provideService(configuration.write(subject, rename(`n${i}`)), CurrentOrigin, {
            actor: { type: "key", id: `key_${i}` },
            requestId: `r${i}`,
            operation: "rename"
          }),
        { concurrency: "unbounded" }
      )
      const changes = (yield* entriesOf("org_a")).filter(({ action }) => action === "updated") as ReadonlyArray<{
        actor: { id?: string }
        before?: any
        after?: any
        changed: ReadonlyArray<string>
      }>
      expect(changes.length).toBe(12)
      // One chain from the first name to the last: each name is the result of one change and the start of the next.
      const afters = changes.map(({ after }) => after.name as string),
        befores = changes.map(({ before }) => before.name as string)
      const [{ name: last }] = (yield* sql<{
        name: string
      }>`SELECT name FROM organizations WHERE id = 'org_a'`) as unknown as [{ name: string }]
      expect([...befores, last].sort()).toEqual(["org_a", ...afters].sort())
      for (const { actor, after, changed } of changes)
        expect([actor.id, changed]).toEqual([`key_${after.name.slice(1)}`, ["name"]])
    }).pipe(Effect.provide(layer), Effect.scoped)
)

it.live(
  "a change of another store is recorded before it happens; refused it leaves nothing, interrupted it stays unsettled",
  () =>
    Effect.gen(function* () {
      const audit = yield* makeAuditRecorder
      const note = {
        organizationId: "org_b",
        kind: "collection",
        id: "c",
        action: "updated",
        before: { a: 1, secret: "x" }
      }
      let seen: ReadonlyArray<unknown> = []
      const withLook = Effect.gen(function* () {
        seen = (yield* entriesOf("org_b")).map(({ settled }) => settled)
      })
      yield* audit.bracketed(note, withLook, () => ({ a: 2, secret: "y" }))
      expect(seen).toEqual([false])
      const [entry] = yield* entriesOf("org_b")
      expect(entry).toMatchObject({
        settled: true,
        before: { a: 1, secret: "[masked]" },
        after: { a: 2, secret: "[masked]" },
        changed: ["a", "secret"],
        actor: { type: "system" }
      })
      expect(Exit.isFailure(yield* Effect.exit(audit.bracketed(note, Effect.fail("refused"), () => undefined)))).toBe(
        true
      )
      expect((yield* entriesOf("org_b")).length).toBe(1)
      const cut = yield* Effect.forkChild(audit.bracketed(note, Effect.never, () => undefined))
      while ((yield* entriesOf("org_b")).length < 2) yield* Effect.sleep(5)
      yield* Fiber.interrupt(cut)
      expect((yield* entriesOf("org_b")).map(({ settled }) => settled).sort()).toEqual([false, true])
    }).pipe(Effect.provide(layer), Effect.scoped)
)

it.live(
  "entries are removed after 400 days, and the oldest beyond an organization's bound; so are sessions that are over",
  () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const now = Date.UTC(2026, 5, 10)
      const put = (
        organizationId: string,
        id: string,
        at: number
      ) => sql`INSERT INTO audit_log (organization_id, id, at, actor_type, subject_kind, subject_id, action, changed)
      VALUES (${organizationId}, ${id}, ${String(at)}::text::int8, 'system', 'k', 's', 'updated', '{}')`
      for (let i = 0; i < 5; i++) yield* put("org_c", `old${i}`, now - AUDIT_KEPT_MS - 1 - i)
      for (let i = 0; i < 9; i++) yield* put("org_c", `z${i}`, now - 100 + i)
      for (let i = 0; i < 4; i++) yield* put("org_d", `z${i}`, now - 100 + i)
      let removed = 0
      for (let found = -1; found !== 0; removed += found) found = yield* atTime(now)(expireAudit(2, 4))
      expect(removed).toBe(10)
      expect((yield* entriesOf("org_c")).map(({ id }) => id)).toEqual(["z8", "z7", "z6", "z5"])
      expect((yield* entriesOf("org_d")).length).toBe(4)

      yield* organization("org_c")
      yield* sql`INSERT INTO members (id, organization_id, email, name, role, password_hash, sessions_after, created_at, updated_at) VALUES ('mem_1', 'org_c', 'a@b', '', 'owner', 'x', 0, 0, 0)`
      for (let i = 0; i < 5; i++)
        yield* sql`INSERT INTO console_sessions (id, organization_id, member_id, token_hash, created_at, expires_at) VALUES (${`ses_${i}`}, 'org_c', 'mem_1', ${`h${i}`}, 0, ${String(now - 2 + i)}::text::int8)`
      expect([
        yield* atTime(now)(expireSessions(2)),
        yield* atTime(now)(expireSessions(2)),
        yield* atTime(now)(expireSessions(2))
      ]).toEqual([2, 1, 0])
    }).pipe(Effect.provide(layer), Effect.scoped)
)
