/** The health probe's shape and the operator's status, on a running program. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { version } from "../../src/config.ts"
import { type Program, startProgram } from "../support/program.ts"

let program: Program
beforeAll(async () => {
  program = await startProgram()
})
afterAll(() => program.stop())

describe("health", () => {
  it("needs no key, counts toward no rate and reveals no more than it must", async () => {
    for (const path of ["/api/v1/health", "/health", "/v1/health"]) {
      const answers = await Promise.all(Array.from({ length: 50 }, () => program.request("GET", path)))
      for (const { body, headers, status } of answers) {
        expect([status, body]).toEqual([200, { ok: true, status: "ok", version }])
        expect([...headers.keys()].filter((name) => name.startsWith("x-ratelimit"))).toEqual([])
      }
    }
  })
  it("shows its parts only to the operator", async () => {
    const { full_key } = await program.tenant("Curious")
    expect((await program.request("GET", "/console/v1/status")).status).toBe(401)
    expect(
      (
        await program.request("GET", "/console/v1/status", {
          key: full_key,
          headers: { authorization: `Bearer ${full_key}` }
        })
      ).status
    ).toBe(401)
    const { body, status } = await program.request("GET", "/console/v1/status", {
      headers: { authorization: `Bearer ${program.operatorToken}` }
    })
    expect([status, body.status]).toEqual([200, "ok"])
    expect(body.parts.map(({ name, ok }: { name: string; ok: boolean }) => [name, ok])).toEqual([
      ["engine", true],
      ["event_log", true],
      ["streams", true],
      ["postgres", true],
      ["organizations", true],
      ["recommendations", true],
      ["models", true]
    ])
  })
})
