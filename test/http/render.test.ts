/**
 * Every declared error on every plane, against one golden file. Errors are found by walking the source tree, so that a
 * new one without a sample fails here. `UPDATE_GOLDEN=1` rewrites the file; review the diff.
 */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import { errorSchemasOf } from "../../src/api/error-schemas.ts"
import type { DeclaredError, ErrorClass } from "../../src/http/declared.ts"
import { render } from "../../src/http/render.ts"
import { EngineRefusal, InputInvalid } from "../../src/http/errors.ts"
import { samples } from "./error-samples.ts"

const source = new URL("../../src", import.meta.url).pathname
const goldenFile = new URL("../golden/wire-errors.json", import.meta.url).pathname

const filesNamed = (folder: string, name: string): ReadonlyArray<string> =>
  readdirSync(folder).flatMap((entry) => {
    const path = join(folder, entry)
    return statSync(path).isDirectory() ? filesNamed(path, name) : entry === name ? [path] : []
  })

const declaredTags = (): ReadonlySet<string> =>
  new Set(
    filesNamed(source, "errors.ts").flatMap((file) =>
      [...readFileSync(file, "utf8").matchAll(/Schema\.TaggedError<\w+>\(\)\(\s*"(\w+)"/g)].map((match) => match[1])
    )
  )

const rendered = () =>
  Object.fromEntries(
    samples.map(([name, error]) => [
      name,
      Object.fromEntries(
        (["engine", "control", "gateway"] as const).map((plane) => [plane, render(error as DeclaredError, plane)])
      )
    ])
  )

describe("wire errors", () => {
  it("has a sample of every declared error", () => {
    const sampled = new Set(samples.map(([, error]) => error._tag))
    expect([...declaredTags()].filter((tag) => !sampled.has(tag))).toEqual([])
    expect([...sampled].filter((tag) => !declaredTags().has(tag))).toEqual([])
  })
  it("renders each on each plane as the golden file says", () => {
    const now = JSON.parse(JSON.stringify(rendered())) as unknown
    if (process.env.UPDATE_GOLDEN === "1" || !existsSync(goldenFile))
      writeFileSync(goldenFile, `${JSON.stringify(now, null, 1)}\n`)
    expect(now).toEqual(JSON.parse(readFileSync(goldenFile, "utf8")))
  })
  const schemas = errorSchemasOf(new Set(samples.map(([, error]) => error.constructor as unknown as ErrorClass)))
  it("answers nothing that the document does not declare", () => {
    for (const [name, planes] of Object.entries(rendered())) {
      for (const plane of ["engine", "control", "gateway"] as const) {
        const body: unknown = JSON.parse(JSON.stringify(planes[plane]!.body))
        expect(
          () =>
            Schema.decodeUnknownSync(schemas[plane] as unknown as Schema.Codec<unknown>, { onExcessProperty: "error" })(
              body
            ),
          `${name} on ${plane}`
        ).not.toThrow()
      }
    }
  })
  it("repeats at most 200 characters of a caller's own text, wherever it stands", () => {
    const long = "x".repeat(5_000),
      spaced = "x y ".repeat(5_000)
    const errors = [
      new EngineRefusal({ message: `Could not find a field named \`${long}\` in the schema.`, status: 404 }),
      new EngineRefusal({ message: `Could not find a document with id: ${long}`, status: 404 }),
      new EngineRefusal({ message: `Could not parse \`${spaced}\`: \`${long}\`.`, status: 400 }),
      new EngineRefusal({ message: `Not found: ${spaced}`, status: 404 }),
      new InputInvalid({
        message: "Input validation failed",
        issues: [
          { path: long, message: `\`${long}\` is none` },
          { path: "a", message: spaced }
        ]
      })
    ]
    for (const error of errors)
      for (const plane of ["engine", "control", "gateway"] as const) {
        const text = JSON.stringify(render(error, plane).body)
        expect(
          [
            text.length < 4_000,
            /x{201}/.test(text),
            (text.match(/`[^`]*`/g) ?? []).every((quoted) => quoted.length <= 203)
          ],
          text
        ).toEqual([true, false, true])
      }
    const plain = "Parameter `q` is required."
    expect(render(new EngineRefusal({ message: plain, status: 400 }), "engine").body.message).toBe(plain)
    expect(render(errors[0]!, "engine").body.message).toBe(
      `Could not find a field named \`${"x".repeat(200)}…\` in the schema.`
    )
  })
  it("never answers 422 or 415", () => {
    for (const planes of Object.values(rendered()))
      for (const answer of Object.values(planes)) expect([415, 422]).not.toContain(answer.status)
  })
})
