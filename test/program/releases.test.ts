/**
 * A release never changes: not when its draft is replaced, its schema is changed, the database is edited by hand, or
 * the program is restarted. It is deleted only with its profile.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { afterAll, beforeAll, expect, it } from "vitest"
import { layerSql } from "../../src/runtime/embedded.ts"
import { startEmbeddedPostgres } from "../../src/runtime/embedded-postgres.ts"
import { type Program, startProgram, type Tenant } from "../support/program.ts"

const folder = mkdtempSync(join(tmpdir(), "dowser-releases-"))
const dataFolder = join(folder, "data")
let program: Program
let tenant: Tenant
const send = (method: string, path: string, body?: unknown) =>
  program.request(method, `/v1/${path}`, { key: tenant.full_key, body })
const profile = "collections/goods/search-profiles/listing"
const search = () => send("GET", "collections/goods/documents/search?q=lamp&profile=listing")

beforeAll(async () => {
  program = await startProgram({ dataFolder })
  tenant = await program.tenant("Releases")
})
afterAll(async () => {
  await program.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** Runs statements that would change a release; returns how the database refuses each. */
const goAt = async (releaseId: string) => {
  const server = await startEmbeddedPostgres(join(dataFolder, "postgres"))
  const said = await Effect.runPromise(
    Effect.provide(
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const tried = (statement: string, parameters: ReadonlyArray<unknown> = [releaseId]) =>
          Effect.match(sql.unsafe(statement, parameters), {
            onFailure: (error) => String(error.reason.cause),
            onSuccess: () => "done"
          })
        return [
          yield* tried("UPDATE search_profile_releases SET note = 'forged' WHERE id = $1"),
          yield* tried(`UPDATE search_profile_releases SET manifest = '{}' WHERE id = $1`),
          yield* tried("UPDATE search_profile_releases SET note = note WHERE id = $1"),
          yield* tried("DELETE FROM search_profile_releases WHERE id = $1"),
          yield* tried("TRUNCATE search_profile_releases", []),
          yield* tried("TRUNCATE search_profiles CASCADE", [])
        ]
      }),
      layerSql(server)
    )
  )
  await server.stop()
  return said
}

it("a release survives drafts, schemas, statements and restarts, and is deleted with its profile", async () => {
  await send("POST", "collections", {
    name: "goods",
    fields: [
      { name: "title", type: "string" },
      { name: "price", type: "int32" }
    ]
  })
  await send("POST", "collections/goods/documents", { id: "1", title: "lamp", price: 1 })
  await send("POST", "collections/goods/search-profiles", {
    name: "listing",
    searchable_fields: ["title"],
    fixed_filter_by: "price:<5"
  })
  const release = (await send("POST", `${profile}/publish`, { expected_revision: 1, note: "first" })).body
  await send("PUT", profile, { searchable_fields: ["title"], fixed_filter_by: "price:>5" })
  await send("PATCH", "collections/goods", { fields: [{ name: "colour", type: "string", optional: true }] })
  await send("PATCH", "collections/goods?force=true", { fields: [{ name: "price", drop: true }] })
  await send("PATCH", "collections/goods", { fields: [{ name: "price", type: "int32" }] })
  const before = await search()
  expect(before.body).toMatchObject({ found: 1, profile: { release_id: release.id, version: 1 } })
  await program.stop()

  for (const said of await goAt(release.id)) expect(said).toContain("a release is never changed")
  program = await startProgram({ dataFolder })
  expect((await send("GET", `${profile}/releases/${release.id}`)).body).toEqual(release)
  expect((await search()).body).toMatchObject({ found: 1, profile: { release_id: release.id, version: 1 } })
  expect((await send("GET", profile)).body).toMatchObject({ revision: 2, fixed_filter_by: "price:>5" })

  expect((await send("DELETE", profile)).status).toBe(200)
  await send("POST", "collections/goods/search-profiles", { name: "listing", searchable_fields: ["title"] })
  expect((await send("GET", `${profile}/releases`)).body.releases).toEqual([])
  expect((await send("GET", `${profile}/releases/${release.id}`)).status).toBe(404)
})
