/** Vectors are removed from the text of a document and put back. */
import { expect, it } from "vitest"
import { wholeText, withoutVectors } from "../../engine-sdk/src/opensearch/vector-text.ts"

const cutAndWhole = (text: string, names: ReadonlyArray<string>) => {
  const cut = withoutVectors(text, names)
  return cut === undefined ? undefined : [cut.text, wholeText(cut.text, cut.vectors)]
}

it("a text is cut wherever it has vectors, and is identical letter by letter when they are put back", () => {
  const cases: ReadonlyArray<readonly [text: string, cut: string]> = [
    ['{"id":"1","v":[0.1,-2e-7],"name":"a"}', '{"id":"1","name":"a"}'],
    ['{"v":[1],"id":"1"}', '{"id":"1"}'],
    ['{"id":"1","v":[1]}', '{"id":"1"}'],
    ['{"v":[1],"w":[2,3],"id":"1"}', '{"id":"1"}'],
    ['{"id":"1","w":[2,3],"v":[1]}', '{"id":"1"}'],
    ['{"w":[2],"id":"1","v":[1],"n":5,"€ \\n":"\\"v\\":[1]"}', '{"id":"1","n":5,"€ \\n":"\\"v\\":[1]"}'],
    ['{"id":"1","n":9007199254740993,"v":[]}', '{"id":"1","n":9007199254740993}']
  ]
  for (const [text, cut] of cases) expect(cutAndWhole(text, ["v", "w"])).toEqual([cut, text])
})
it("a text without vectors stays unchanged, and so does one that could not be restored exactly", () => {
  expect(withoutVectors('{"id":"1","name":"v"}', ["v"])).toBeUndefined()
  expect(withoutVectors('{"id":"1","v":[1]}', [])).toBeUndefined()
  expect(withoutVectors('{"id":"1", "v":[1]}', ["v"])).toBeUndefined()
})
