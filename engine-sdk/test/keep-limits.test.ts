/**
 * Storage limits of a namespace, as its writer counts them: in memory, on disk behind a worker, and after a restart.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, describe, expect, it } from "vitest"
import { createEngine, type KeepLimits, openEngine, type SearchEngine, type WriteOperation } from "../src/mod.ts"
import { parseCreateBody } from "../src/schema/mod.ts"

const schemaOf = (name: string, fields: ReadonlyArray<object> = [{ name: "title", type: "string" }]) => {
  const schema = parseCreateBody({ name, fields }, { hasSynonymSet: () => false, hasCurationSet: () => false })
  if (!schema.ok) throw new Error(schema.error.message)
  return schema.value
}
const put = (document: object, action: "create" | "upsert" | "update" = "create"): WriteOperation => ({
  kind: "put",
  action,
  dirtyValues: undefined,
  document: JSON.stringify(document)
})
const limits = (given: Omit<KeepLimits, "plan">): KeepLimits => ({ plan: "small", ...given })

const folders: Array<string> = []
afterEach(() => {
  for (const path of folders.splice(0)) rmSync(path, { recursive: true, force: true })
})
const folder = () => {
  const path = mkdtempSync(join(tmpdir(), "dowser-keeps-"))
  folders.push(path)
  return path
}
const outcome = async (
  engine: SearchEngine,
  collection: string,
  operations: ReadonlyArray<WriteOperation>,
  keeps: KeepLimits
) => {
  const written = await engine.write("a", collection, operations, { keeps })
  return written.ok
    ? written.value.map(({ result }) =>
        result.ok ? "ok" : result.error.kind === "CapReached" ? result.error.cap : result.error.kind
      )
    : [written.error.kind]
}

for (const [name, open] of [
  ["in memory", async () => createEngine()],
  ["on disk", () => openEngine({ path: folder(), worker: true })]
] as const)
  describe(`limits of a namespace ${name}`, () => {
    it("bytes: growth beyond them is refused, replacing and shrinking are not, and deletes make room", async () => {
      const engine = await open()
      await engine.createCollection(
        "a",
        schemaOf("c", [
          { name: "title", type: "string" },
          { name: "hidden", type: "string", optional: true, store: false }
        ]),
        1
      )
      const size = (document: object) => JSON.stringify(document).length
      const document = (id: string, bytes: number) => ({ id, title: "x".repeat(bytes - size({ id, title: "" })) })
      const keeps = limits({ stored_bytes: 1_000 })
      expect(
        await outcome(
          engine,
          "c",
          [put(document("1", 400)), put(document("2", 400)), put(document("3", 201)), put(document("4", 200))],
          keeps
        )
      ).toEqual(["ok", "ok", "stored_bytes", "ok"])
      expect(engine.usage("a", "c")!.document_bytes).toBe(1_000)
      // At the limit: the same size passes, one more byte does not, and a smaller document makes room for it.
      expect(
        await outcome(
          engine,
          "c",
          [put({ ...document("1", 400), title: "y".repeat(400 - size({ id: "1", title: "" })) }, "upsert")],
          keeps
        )
      ).toEqual(["ok"])
      expect(await outcome(engine, "c", [put(document("1", 401), "upsert")], keeps)).toEqual(["stored_bytes"])
      expect(
        await outcome(engine, "c", [put(document("2", 300), "upsert"), put(document("1", 401), "upsert")], keeps)
      ).toEqual(["ok", "ok"])
      expect(await outcome(engine, "c", [{ kind: "delete", id: "1" }, put(document("5", 400))], keeps)).toEqual([
        "ok",
        "ok"
      ])
      // Values that are indexed but not shown count as well.
      expect(await outcome(engine, "c", [put({ id: "6", title: "x", hidden: "h".repeat(200) })], keeps)).toEqual([
        "stored_bytes"
      ])
      expect(
        await outcome(
          engine,
          "c",
          [{ kind: "delete", id: "2" }, put({ id: "6", title: "x", hidden: "h".repeat(200) })],
          keeps
        )
      ).toEqual(["ok", "ok"])
      expect(await outcome(engine, "c", [put(document("7", 200))], keeps)).toEqual(["stored_bytes"])
      await engine.close()
    })
    it("documents: as many concurrent writes pass as there is room for, in each namespace separately", async () => {
      const engine = await open()
      for (const namespace of ["a", "b"])
        for (const name of ["c", "d"]) await engine.createCollection(namespace, schemaOf(name), 1)
      const keeps = limits({ documents: 10 })
      const all = await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          outcome(
            engine,
            i % 2 === 0 ? "c" : "d",
            [put({ id: `${i}`, title: "x" }), put({ id: `${i}-2`, title: "x" })],
            keeps
          )
        )
      )
      expect(all.flat().filter((each) => each === "ok")).toHaveLength(10)
      const other = await engine.write("b", "c", [put({ title: "x" })], { keeps })
      expect(other.ok && other.value[0]!.result.ok).toBe(true)
      // Reindexing is not growth.
      const kept = all.flatMap((each, i) =>
        each.flatMap((one, j) =>
          one === "ok" ? [[i % 2 === 0 ? "c" : "d", j === 0 ? `${i}` : `${i}-2`] as const] : []
        )
      )[0]!
      expect(
        await outcome(
          engine,
          kept[0],
          [{ kind: "put", action: "upsert", dirtyValues: undefined, document: "{}", id: kept[1], rewrite: true }],
          limits({ documents: 0 })
        )
      ).toEqual(["ok"])
      await engine.dropCollection("a", "c")
      const left = engine.usage("a", "d")!.documents
      expect(
        (
          await outcome(
            engine,
            "d",
            Array.from({ length: 11 }, (_, i) => put({ id: `n${i}`, title: "x" })),
            keeps
          )
        ).filter((each) => each === "ok")
      ).toHaveLength(10 - left)
      await engine.close()
    })
    it("fields and collections", async () => {
      const engine = await open()
      const keeps = limits({ collections: 1, fields_per_collection: 2 })
      const kindOf = (result: { readonly ok: boolean; readonly error?: { readonly kind: string } }) =>
        result.ok ? "ok" : result.error!.kind
      expect(
        kindOf(
          await engine.createCollection(
            "a",
            schemaOf(
              "wide",
              ["p", "q", "r"].map((field) => ({ name: field, type: "string" }))
            ),
            1,
            keeps
          )
        )
      ).toBe("CapReached")
      const made = await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          engine.createCollection("a", schemaOf(`c${i}`, [{ name: ".*", type: "auto" }]), 1, keeps)
        )
      )
      expect(made.filter(({ ok }) => ok)).toHaveLength(1)
      const {
        schema: { name }
      } = engine.listCollections("a")[0]!
      expect(
        await outcome(
          engine,
          name,
          [put({ id: "1", a: "x" }), put({ id: "2", a: "x", b: "y" }), put({ id: "3", a: "z" })],
          keeps
        )
      ).toEqual(["ok", "fields_per_collection", "ok"])
      expect(engine.describeCollection("a", name)!.schema.fields.map((field) => field.name)).toEqual([".*", "a"])
      await engine.close()
    })
  })

it("a restart counts what is stored, also after concurrent writes", async () => {
  const path = folder()
  const first = await openEngine({ path, worker: true })
  await first.createCollection("a", schemaOf("c"), 1)
  await Promise.all(
    Array.from({ length: 40 }, (_, i) =>
      first.write(
        "a",
        "c",
        Array.from({ length: 30 }, (_each, j) => put({ id: `${i}-${j}`, title: "x" }))
      )
    )
  )
  await first.write("a", "c", [
    { kind: "delete", id: "0-0" },
    { kind: "delete", id: "39-29" }
  ])
  await first.close()
  const again = await openEngine({ path, worker: true })
  expect(again.describeCollection("a", "c")!.num_documents).toBe(1_198)
  const written = await again.write(
    "a",
    "c",
    Array.from({ length: 4 }, (_, i) => put({ id: `n${i}`, title: "x" })),
    { keeps: limits({ documents: 1_200 }) }
  )
  expect(written.ok && written.value.map(({ result }) => result.ok)).toEqual([true, true, false, false])
  await again.close()
})
