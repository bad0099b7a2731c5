/**
 * What a restart restores: schema, aliases, presets, synonyms, stemming dictionaries and search rules, with their
 * effect.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { launchPrepared, type Launched } from "../support/launched.ts"

it("named resources and their effect survive a restart", async () => {
  const folder = mkdtempSync(join(tmpdir(), "dowser-restart-"))
  try {
    let program: Launched = await launchPrepared(join(folder, "data"))
    const key = program.ready.full_key
    const send = async (method: string, path: string, body?: unknown) => {
      const response = await fetch(`http://127.0.0.1:${program.port}/v1${path}`, {
        method,
        headers: { "x-svc-api-key": key },
        ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) })
      })
      return { status: response.status, body: (await response.json().catch(() => undefined)) as any }
    }
    await send(
      "POST",
      "/stemming/dictionaries/import?id=plurals",
      `{"word":"people","root":"person"}\n{"word":"mice","root":"mouse"}`
    )
    await send("POST", "/collections", {
      name: "things",
      fields: [{ name: "title", type: "string", stem_dictionary: "plurals" }],
      metadata: { kept: true }
    })
    await send("PUT", "/synonym_sets/words", { items: [{ id: "1", synonyms: ["sofa", "couch"] }] })
    await send("PUT", "/aliases/current", { collection_name: "things" })
    await send("PUT", "/presets/titles", { value: { query_by: "title", synonym_sets: "words" } })
    await send("POST", "/collections/things/documents", { id: "before", title: "a person on a couch" })
    const rules = (
      await send("PUT", "/collections/current/search_rules", {
        pins: [{ query: "couch", doc_id: "after", position: 1 }],
        starts_at: "2026-01-01"
      })
    ).body
    process.kill(program.pid(), "SIGKILL")
    await program.exited
    program = await launchPrepared(join(folder, "data"))
    expect((await send("GET", "/collections/current")).body).toMatchObject({
      name: "things",
      num_documents: 1,
      metadata: { kept: true }
    })
    // The dictionary must apply to newly written documents and to queries.
    await send("POST", "/collections/things/documents", { id: "after", title: "two mice" })
    expect((await send("GET", "/collections/current/documents/search?q=people&preset=titles")).body.found).toBe(1)
    expect(
      (await send("GET", "/collections/current/documents/search?q=mouse&preset=titles")).body.hits[0].document.id
    ).toBe("after")
    expect((await send("GET", "/collections/current/documents/search?q=sofa&preset=titles")).body.found).toBe(1)
    expect((await send("GET", "/collections/things/search_rules")).body).toEqual(rules)
    expect(
      (await send("GET", "/collections/things/documents/search?q=couch&query_by=title")).body.hits.map(
        (hit: { document: { id: string } }) => hit.document.id
      )
    ).toEqual(["after", "before"])
    program.signal("SIGTERM")
    expect(await program.exited).toBe(0)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
