/** `docs/experiments.md`, request by request: each answers what stands below it. */
import { readFileSync } from "node:fs"
import { afterAll, beforeAll, expect, it } from "vitest"
import { type Program, startProgram } from "../support/program.ts"

const guide = readFileSync(new URL("../../docs/experiments.md", import.meta.url), "utf8")

interface Step {
  readonly method: string
  readonly path: string
  readonly key: string
  readonly body: string | undefined
  /** What the answer holds, as far as the guide says it. */ readonly answer: unknown
}
/** Every `sh` block with the `json` block that stands below it before the next one. */
const stepsOf = (text: string): ReadonlyArray<Step> =>
  text
    .split("```sh\n")
    .slice(1)
    .map((part) => {
      const [, method = "GET", path, key, body] =
        /^curl (?:-X (\w+) )?"\$DOWSER([^"]+)" -H "X-SVC-API-KEY: \$(\w+)"(?: -d '([\s\S]*?)')?\n```/.exec(part)!
      const answer = /```json\n([\s\S]*?)```/.exec(part)?.[1]
      return { method, path: path!, key: key!, body, answer: answer === undefined ? undefined : JSON.parse(answer) }
    })

let program: Program
let keys: Readonly<Record<string, string>>
beforeAll(async () => {
  program = await startProgram()
  const tenant = await program.tenant("Guide")
  keys = { KEY: tenant.full_key, SEARCH_KEY: tenant.search_key }
})
afterAll(() => program.stop())

it("answers every request of the guide as it says", async () => {
  const steps = stepsOf(guide)
  expect(steps.length).toBe(12)
  const statuses: Array<number> = []
  let experiment = ""
  for (const { answer, body, key, method, path } of steps) {
    const response = await program.request(method, path.replace("$EXPERIMENT", experiment), {
      key: keys[key]!,
      ...(body === undefined ? {} : { body })
    })
    statuses.push(response.status)
    if (path === "/v1/experiments") experiment = response.body.id
    if (answer === undefined) continue
    const wanted = JSON.parse(JSON.stringify(answer).replaceAll("$EXPERIMENT", experiment))
    expect([path, response.body]).toMatchObject([path, wanted])
  }
  expect(statuses).toEqual([201, 200, 200, 201, 200, 200, 200, 200, 409, 200, 200, 200])
})
