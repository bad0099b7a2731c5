/** What the schema learns from documents about undeclared fields (`docs/contract/collections.md#types`). */
import { expect, it } from "vitest"
import { createLab, type Lab } from "../support/engine-lab.ts"

const of = async (fields: ReadonlyArray<object>, more: object = { enable_nested_fields: true }): Promise<Lab> => {
  const lab = createLab()
  const { status } = await lab.call("POST", "/collections", { name: "c", fields, ...more })
  expect(status).toBe(201)
  return lab
}
const add = async (lab: Lab, document: object, query = "") => {
  const { status, body } = await lab.call("POST", `/collections/c/documents${query}`, document)
  return status === 201 ? body : body.message
}
const types = async (lab: Lab): Promise<Record<string, string>> =>
  Object.fromEntries((await lab.call("GET", "/collections/c")).body.fields.map(({ name, type }: any) => [name, type]))

it("turns everything into text where the definition says `string*`, and refuses what cannot be", async () => {
  const lab = await of([{ name: ".*", type: "string*" }])
  expect(await add(lab, { id: "1", n: 5, f: 1.5, b: true, list: [1, 2.5, false], none: [], nil: null })).toEqual({
    id: "1",
    n: "5",
    f: "1.5",
    b: "true",
    list: ["1", "2.5", "false"],
    none: []
  })
  expect(await types(lab)).toEqual({ ".*": "string*", b: "string", f: "string", list: "string[]", n: "string" })
  expect(await add(lab, { id: "2", o: { k: 1 } })).toBe("Field `o` must be a string.")
  expect(await add(lab, { id: "3", n: ["x"] })).toBe("Field `n` must be a string.")
  expect(await add(lab, { id: "4", list: "x" })).toBe("Field `list` must be an array.")
})
it("keeps the types that a refused document showed, the first type seen for each field", async () => {
  const lab = await of([
    { name: "n", type: "int32" },
    { name: "x_.*", type: "auto" },
    { name: "y_.*", type: "float" }
  ])
  expect(await add(lab, { id: "1", n: "no", x_a: 1, y_a: "bad" })).toBe("Field `n` must be an int32.")
  expect(await types(lab)).toMatchObject({ x_a: "int64", y_a: "float" })
  // No document has the value, but the field is known.
  expect((await lab.search("c", { q: "*", filter_by: "x_a:=1" })).body.found).toBe(0)
  expect(await add(lab, { id: "1", n: 1, x_a: "text" })).toBe("Field `x_a` must be an int64.")
  expect(await add(lab, { id: "1", n: 1, x_a: 2 })).toEqual({ id: "1", n: 1, x_a: 2 })
  expect((await lab.search("c", { q: "*", filter_by: "x_a:=2" })).body.found).toBe(1)
  // Values without a type, and documents refused for other reasons, reveal no type.
  await add(lab, { id: "2", n: "no", x_b: [], x_c: null })
  await add(lab, { id: "1", n: 1, x_d: "text", y_b: 1 }, "?action=create")
  expect(Object.keys(await types(lab)).toSorted()).toEqual(["n", "x_.*", "x_a", "y_.*", "y_a"])
})
