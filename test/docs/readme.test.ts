/** The README takes three minutes to read, and each of its requests is answered as it says. */
import { readFileSync } from "node:fs"
import { afterAll, beforeAll, expect, it } from "vitest"
import { createSearch } from "@dowser/engine-sdk"
import { type Program, startProgram } from "../support/program.ts"
import { eventually } from "../support/receiver.ts"

const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8")
const HOST = "http://127.0.0.1:3100"
const blocks = (language: string) =>
  [...readme.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, "g"))].map(([, code]) => code!)
let program: Program
beforeAll(async () => {
  program = await startProgram({ demoProducts: 3_000 })
})
afterAll(() => program.stop())

it("has at most 900 words, code included", () => {
  expect(readme.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length).toBeLessThanOrEqual(900)
})
it("searches, reports an event and reads the report with curl", async () => {
  const { full_key, search_key } = program.demo!
  const today = new Date().toISOString().slice(0, 10)
  const asked = blocks("sh")
    .flatMap((code) => code.split("\n"))
    .filter((line) => line.startsWith("curl "))
    .map((line) => {
      const [, path] = /^curl ['"]http:\/\/127\.0\.0\.1:3100([^'"]+)['"]/.exec(line)!
      const body = / -d '(.*)'$/.exec(line)?.[1]
      const key = line.includes("$SEARCH_KEY") ? search_key : full_key
      return { path: path!.replaceAll("$(date -u +%F)", today), key, body }
    })
  expect(asked).toHaveLength(3)
  const answers = []
  for (const { body, key, path } of asked) {
    const answer = await program.request(body === undefined ? "GET" : "POST", path, {
      key,
      ...(body === undefined ? {} : { body })
    })
    expect([path, answer.status]).toEqual([path, 200])
    answers.push(answer.body)
  }
  const [search, event] = answers
  expect(search.hits[0].document.title.toLowerCase()).toContain("wireless")
  expect(search.facet_counts[0].field_name).toBe("brand")
  expect(event).toMatchObject({ accepted: 1, rejected: [] })
  await eventually("the search is in the report", async () => {
    const report = await program.request("GET", asked[2]!.path.replace("limit=5", "limit=1000"), { key: full_key })
    return report.text.includes("wireles hedphones") ? true : undefined
  })
})
it("does the same from JavaScript, and as a library", async () => {
  const [client, library] = blocks("js")
  const AsyncFunction = (async () => {}).constructor as new (...code: ReadonlyArray<string>) => any
  const told = await new AsyncFunction(
    "SEARCH_KEY",
    `${client!.replace(HOST, program.base).replace('await dowser("/events"', 'return dowser("/events"')}`
  )(program.demo!.search_key)
  expect(told).toMatchObject({ accepted: 1, rejected: [] })
  const hits = await new AsyncFunction("createSearch", `${library!.replace(/^import .*$/m, "")}; return hits`)(
    createSearch
  )
  expect(hits[0].document.title).toBe("Trail running shoe")
})
