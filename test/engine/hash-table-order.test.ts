/**
 * The order in which a schema lists fields first seen in one document: that of a hash table of the reference engine.
 */
import { expect, it } from "vitest"
import { hashOfName, listedOrder, parentOrder } from "../../engine-sdk/src/documents/hash-table-order.ts"
import { createLab } from "../support/engine-lab.ts"

const listed = (names: ReadonlyArray<string>): string[] => listedOrder(names, (name) => name)

// The expected values come from the GNU C++ library 12.
it("hashes and lists names as the library does", () => {
  expect(["meta", "a longer text ä", ""].map((name) => hashOfName(name).toString(16))).toEqual([
    "d002510a21e6af07",
    "790b29b0daf35749",
    "553e93901e462a6e"
  ])
  expect(listed(["o.k", "oa.k"])).toEqual(["oa.k", "o.k"])
  // More than thirteen names make the table grow.
  expect(
    listed(Array.from({ length: 20 }, (_name, i) => `item.child_${i}`)).map((name) => Number(name.slice(11)))
  ).toEqual([18, 17, 14, 13, 0, 10, 1, 15, 8, 2, 5, 3, 19, 4, 6, 16, 12, 7, 9, 11])
  expect(listed([])).toEqual([])
  expect(parentOrder(["meta", "variants", "o", "oa"], (name) => name)).toEqual(["variants", "o", "meta", "oa"])
})
it("lists the children seen in one document newest first, and those of the next document after them", async () => {
  const lab = createLab()
  await lab.collection(
    "c",
    [
      { name: "o", type: "object" },
      { name: "oa", type: "object[]", optional: true }
    ],
    [
      { id: "1", o: { k: "x", l: 1 }, oa: [{ k: true }] },
      { id: "2", o: { k: "y", l: 2, m: 0.5 } }
    ],
    { enable_nested_fields: true }
  )
  const { body } = await lab.call("GET", "/collections/c")
  expect(body.fields.map(({ name }: any) => name)).toEqual(["o", "oa", "oa.k", "o.l", "o.k", "o.m"])
})
