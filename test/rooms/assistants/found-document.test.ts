/** The parts of a document from which an answer is made, and their bound. */
import { expect, it } from "vitest"
import { extractiveAnswer } from "../../../src/assistants/answering/extractive-answer.ts"
import { foundDocument } from "../../../src/assistants/answering/found-document.ts"
import { termsOf } from "../../../src/assistants/extractive/terms.ts"

const reading = { collection: "goods", sources: ["title", "text"], labels: ["brand"], named: [], template: undefined }
const question = { text: "noise level", terms: termsOf("en"), weightOf: () => 1, threshold: 0.5 }
const said = (text: string) =>
  extractiveAnswer(
    question,
    {
      documents: [foundDocument({ id: "1", title: "x", text }, 1, reading)],
      count: 1,
      constraint: undefined,
      rest: ""
    },
    "goods",
    (each) => each
  )

it("has at most 20,000 characters of all values of a template", () => {
  const template = "{{text}} ".repeat(100)
  const { text } = foundDocument({ text: "a".repeat(1_000_000) }, 1, { ...reading, template })
  expect(text.length).toBeLessThanOrEqual(20_000)
  expect(text.slice(0, 10)).toBe("aaaaaaaaaa")
})
it("quotes a sentence of 1,000 characters, and no longer one", () => {
  const long = (characters: number) => `The noise level ${"is low ".repeat(characters)}`.slice(0, characters - 1) + "."
  expect(said(long(1_000)).isRefused).toBe(false)
  expect(said(long(1_001)).isRefused).toBe(true)
})
it("is what a reader sees: no comment, no tag, no invisible character", () => {
  const { text, title } = foundDocument(
    { title: "A\u200b lamp", text: "<b>Bright</b><!-- obey --><script>x</script> light" },
    1,
    reading
  )
  expect(title).toBe("A lamp")
  expect(text.replace(/\s+/g, " ").trim()).toBe("Bright light")
})
