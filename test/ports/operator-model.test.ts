/** Models that the operator names by path and hash: the list, what runs them, and an organization that uses one. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Effect } from "effect"
import { layerLocalModels } from "../../src/ports/text-embedder/inference/local-embedder.ts"
import {
  type OperatorModel,
  operatorModel,
  readOperatorModels
} from "../../src/ports/text-embedder/operator/models-file.ts"
import { TextEmbedder } from "../../src/ports/text-embedder/text-embedder.ts"
import { cosine, installedModels } from "../support/models.ts"
import { startProgram } from "../support/program.ts"
import { eventually } from "../support/receiver.ts"
import { TINY_DIMENSIONS, writeTinyModel } from "../support/tiny-onnx.ts"

const { folder: runtime, missing } = await installedModels()
let folder: string, tiny: OperatorModel
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "dowser-onnx-"))
  tiny = writeTinyModel(folder)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const embedded = (model: OperatorModel, texts: ReadonlyArray<string>) =>
  Effect.runPromise(
    Effect.result(
      Effect.provide(
        Effect.flatMap(TextEmbedder, (port) =>
          port.embed({ model: `onnx/${model.name}`, texts, priority: "query", organizationId: "org_a" })
        ),
        layerLocalModels([operatorModel(model, () => ({ state: "installed", folder: runtime }))])
      )
    )
  )

describe("the operator's list", () => {
  const read = (content: unknown) => {
    const file = join(folder, "models.json")
    writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content))
    return () => readOperatorModels(file)
  }
  it("has paths relative to its own place, and names everything that is wrong with it", () => {
    const relative = { ...tiny, model: { ...tiny.model, path: "tiny.onnx" } }
    expect(read([relative])()).toEqual([{ ...tiny }])
    for (const wrong of ["{", {}, [{ ...tiny, name: "../x" }], [{ ...tiny, model: { path: "x", sha256: "1" } }]])
      expect(read(wrong)).toThrow("cannot be used")
    expect(read([tiny, tiny])).toThrow("names `tiny` twice")
    let told = ""
    try {
      read([{ ...tiny, dimensions: 0, pooling: "max" }])()
    } catch (error) {
      told = String(error)
    }
    for (const field of ["dimensions", "pooling"]) expect(told).toContain(field)
  })
})

describe("an operator's model", () => {
  it("makes vectors of length one, from the tokens of each text alone", async (context) => {
    if (missing !== undefined) return context.skip(missing)
    const texts = ["Lampe", "Leuchte", "Stuhl", "lampe stuhl sessel leuchte lampe", "", "!!", "Lampe"]
    const made = await embedded(tiny, texts)
    if (made._tag === "Failure") throw made.failure
    const { inputTokens, vectors } = made.success
    expect(vectors.map(({ length }) => length)).toEqual(texts.map(() => TINY_DIMENSIONS))
    // A longer text in the same run changes nothing: the rest of its row is masked.
    const expected = [1, 0, 1, 0].map((x) => x / Math.SQRT2)
    expect(cosine(vectors[0]!, expected)).toBeCloseTo(1, 5)
    expect(cosine(vectors[0]!, vectors[1]!)).toBeGreaterThan(cosine(vectors[0]!, vectors[2]!))
    expect(Array.from(vectors[4]!)).toEqual([0, 0, 0, 0])
    expect(inputTokens).toBe(3 + 3 + 3 + 7 + 0 + 4 + 3)
  })
  it("is not run when its bytes have changed, or when it is not what was declared", async (context) => {
    if (missing !== undefined) return context.skip(missing)
    const wrong: ReadonlyArray<readonly [OperatorModel, string]> = [
      [{ ...tiny, model: { ...tiny.model, sha256: "0".repeat(64) } }, "SHA-256"],
      [{ ...tiny, tokenizer: { ...tiny.tokenizer, sha256: "0".repeat(64) } }, "SHA-256"],
      [{ ...tiny, model: { ...tiny.model, path: join(folder, "nowhere.onnx") } }, "ENOENT"],
      [{ ...tiny, dimensions: 5 }, "5 numbers"]
    ]
    for (const [model, reason] of wrong) {
      const made = await embedded(model, ["Lampe"])
      expect([made._tag, String(made._tag === "Failure" && made.failure.message)]).toEqual([
        "Failure",
        expect.stringContaining(reason)
      ])
    }
    const other = mkdtempSync(join(tmpdir(), "dowser-onnx-"))
    const strange = await embedded(writeTinyModel(other, ["input_ids", "pixel_values"]), ["Lampe"])
    rmSync(other, { recursive: true, force: true })
    expect(String(strange._tag === "Failure" && strange.failure.message)).toContain("pixel_values")
  })
  it("is selected by name, by an organization and by a field", async (context) => {
    if (missing !== undefined) return context.skip(missing)
    const program = await startProgram({ embeddingModels: [tiny] })
    try {
      const [tenant, other] = [await program.tenant("Laden"), await program.tenant("Other")]
      for (const { organization_id } of [tenant, other]) await program.topUp(organization_id, 10)
      const send = (method: string, path: string, body?: unknown, owner = tenant) =>
        program.request(method, `/v1${path}`, { key: owner.full_key, body })
      const unknown = await send("PUT", "/ai/providers/text_embedder", { kind: "onnx", model: "huge" })
      expect([unknown.status, unknown.text]).toEqual([400, expect.stringContaining("model")])
      const needless = await send("PUT", "/ai/providers/text_embedder", {
        kind: "onnx",
        model: "tiny",
        url: "https://models.example",
        dimensions: 4
      })
      expect([needless.status, needless.body.data.issues.map(({ path }: { path: string }) => path)]).toEqual([
        400,
        ["url", "dimensions"]
      ])
      const put = await send("PUT", "/ai/providers/text_embedder", { kind: "onnx", model: "tiny" })
      expect([put.status, put.body.kind]).toEqual([200, "onnx"])
      expect((await send("GET", "/ai/providers")).body.text_embedder).toMatchObject({
        name: "onnx/tiny",
        embedded: true,
        dimensions: TINY_DIMENSIONS,
        languages: ["de"]
      })
      expect((await send("GET", "/ai/providers", undefined, other)).body.text_embedder.name).not.toBe("onnx/tiny")
      const fields = [
        { name: "title", type: "string" },
        { name: "v", type: "float[]", embed: { from: ["title"], model_config: { model_name: "onnx/tiny" } } }
      ]
      const goods = ["Stuhl", "Lampe", "Sessel"]
      for (const [name, of] of [
        ["declared", fields],
        ["plain", fields.slice(0, 1)]
      ] as const) {
        expect((await send("POST", "/collections", { name, fields: of })).status).toBe(201)
        for (const [i, title] of goods.entries())
          expect((await send("POST", `/collections/${name}/documents`, { id: String(i), title })).status).toBe(201)
      }
      const found = await send("GET", "/collections/declared/documents/search?q=leuchte&query_by=v&exclude_fields=v")
      expect(found.body.hits[0].document.title).toBe("Lampe")
      const search = () => send("POST", "/collections/plain/documents/semantic_search", { q: "leuchte" })
      expect((await search()).status).toBe(409)
      const meant = await eventually("the vectors are made", async () => {
        const answer = await search()
        return answer.status === 409 ? undefined : answer
      })
      expect([meant.status, meant.body.embedder]).toEqual([200, { name: "onnx/tiny", embedded: true, used: true }])
      expect(meant.body.hits[0].document.title).toBe("Lampe")
    } finally {
      await program.stop()
    }
  })
})
