/**
 * A typed client is generated from the program's own OpenAPI document, compiles, and calls the program: the document
 * matches what the program does, with a name for every schema.
 */
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Program, Tenant } from "../support/program.ts"
import { sharedProgram } from "../support/shared-program.ts"

const root = new URL("../..", import.meta.url).pathname
let program: Program
let tenant: Tenant
let folder: string
beforeAll(async () => {
  program = await sharedProgram()
  tenant = await program.tenant("Typed")
  // Beside the project's node_modules, so that the client's runtime resolves; removed again below.
  folder = mkdtempSync(join(root, "node_modules", ".dowser-client-"))
})
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await program.stop()
})

const unnamed = (schema: unknown, path: string, found: Array<string>): ReadonlyArray<string> => {
  if (typeof schema !== "object" || schema === null) return found
  if ("$ref" in schema) return found
  const it = schema as {
    readonly type?: string
    readonly items?: unknown
    readonly properties?: Record<string, unknown>
  }
  if (it.type === "object" && it.properties !== undefined) found.push(path)
  if (it.items !== undefined) unnamed(it.items, `${path}[]`, found)
  return found
}

describe("OpenAPI document", () => {
  it("is 3.1, names every schema of a body or an answer, and gives every operation an id", async () => {
    const { body } = await program.request("GET", "/v1/openapi.json")
    expect(body.openapi).toMatch(/^3\.1\./)
    const found: Array<string> = []
    for (const [path, methods] of Object.entries(body.paths as Record<string, Record<string, any>>)) {
      for (const [method, entry] of Object.entries(methods)) {
        expect(entry.operationId, `${method} ${path}`).toMatch(/^[a-z][A-Za-z]+$/)
        for (const content of Object.values((entry.requestBody?.content ?? {}) as Record<string, any>))
          unnamed(content.schema, `${method} ${path} body`, found)
        for (const [status, answer] of Object.entries(entry.responses as Record<string, any>))
          for (const content of Object.values((answer.content ?? {}) as Record<string, any>))
            unnamed(content.schema, `${method} ${path} ${status}`, found)
      }
    }
    expect(found).toEqual([])
  })
  it("yields a client that compiles and works", async () => {
    const documentFile = join(folder, "openapi.json")
    writeFileSync(documentFile, (await program.request("GET", "/v1/openapi.json")).text)
    const clientFile = join(folder, "client.ts")
    const cli = join(root, "node_modules", "oazapfts", "dist", "cli.js")
    const generated = spawnSync("node", [cli, documentFile, clientFile], { encoding: "utf8" })
    expect(generated.stderr + generated.stdout, "generator").not.toContain("Error")
    writeFileSync(
      join(folder, "use.ts"),
      `import * as client from "./client"
export const run = async (base: string, key: string) => {
  client.defaults.baseUrl = base
  client.defaults.headers = { "X-SVC-API-KEY": key }
  const made = await client.createKey({ description: "typed", scope: "search" })
  const listed = await client.listKeys()
  if (made.status !== 201 || listed.status !== 200) throw new Error("unexpected status")
  const collection = await client.createCollection({ name: "typed", fields: [{ name: "title", type: "string", facet: true }] })
  if (collection.status !== 201) throw new Error("unexpected status")
  await client.indexDocument("typed", { id: "1", title: "A typed kettle" })
  const found = await client.searchCollection("typed", { q: "ketle", queryBy: "title", facetBy: "title" })
  if (found.status !== 200) throw new Error("unexpected status")
  const sent = await client.ingestEvents({ events: [{ type: "click", collection: "typed", document_id: "1", q: "kettle", session_id: "s" }] })
  if (sent.status !== 200) throw new Error("unexpected status")
  const missing = await client.getCollection("nowhere")
  return { id: made.data.id, count: listed.data.keys.length, found: found.data.found, hits: found.data.hits?.length, accepted: sent.data.accepted, fields: collection.data.fields.length, missing: missing.status === 404 ? missing.data.message : "" }
}
`
    )
    writeFileSync(
      join(folder, "tsconfig.json"),
      JSON.stringify({
        compilerOptions: {
          target: "ES2022",
          module: "ESNext",
          moduleResolution: "Bundler",
          strict: true,
          noEmit: true,
          skipLibCheck: true,
          lib: ["ES2022", "DOM"]
        },
        files: ["use.ts"]
      })
    )
    const compiled = spawnSync("node", [join(root, "node_modules", "typescript", "bin", "tsc"), "-p", folder], {
      encoding: "utf8"
    })
    expect(compiled.stdout).toBe("")
    const { run } = (await import(/* @vite-ignore */ join(folder, "use.ts"))) as {
      readonly run: (base: string, key: string) => Promise<Record<string, unknown>>
    }
    const answer = await run(program.base, tenant.full_key)
    expect(answer).toEqual({
      id: expect.stringMatching(/^key_/),
      count: 3,
      found: 1,
      hits: 1,
      accepted: 1,
      fields: 1,
      missing: "Collection not found"
    })
  })
})
