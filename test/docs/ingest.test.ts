/** `docs/ingest.md`, request by request, and the command that does the same from a shell. */
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { afterAll, beforeAll, expect, it } from "vitest"
import { stepsOfGuide } from "../support/guide.ts"
import type { Program } from "../support/program.ts"
import { sharedProgram } from "../support/shared-program.ts"
import { eventually } from "../support/receiver.ts"

const root = new URL("../..", import.meta.url).pathname
const steps = stepsOfGuide("ingest.md")
let program: Program
let key: string
beforeAll(async () => {
  program = await sharedProgram()
  key = (await program.tenant("Guide")).full_key
})
afterAll(() => program.stop())

it("answers every request of the guide as it says", async () => {
  expect(steps.length).toBe(6)
  let job = ""
  const statuses: Array<number> = []
  for (const { answer: said, body, method, path } of steps) {
    const answer = await program.request(method, path.replace("$JOB", job), {
      key,
      ...(body === undefined ? {} : { body })
    })
    statuses.push(answer.status)
    if (said !== undefined) expect([path, answer.body]).toMatchObject([path, said])
    if (answer.status !== 202) continue
    job = answer.body.id
    if (path.includes("feeds"))
      await eventually(
        "the job is over",
        async () => (await program.request("GET", `/v1/jobs/${job}`, { key })).body.finished_at
      )
  }
  expect(statuses).toEqual([201, 202, 200, 200, 202, 200])
  const jobs = await program.request("GET", "/v1/ingest/jobs?status=cancelled", { key })
  expect(jobs.body.data.map(({ name }: { name: string }) => name)).toEqual(["Nightly"])
})

it("the command uploads a file, follows its job, and exits with the job's result", async () => {
  const folder = mkdtempSync(join(tmpdir(), "dowser-ingest-"))
  const ran = (file: string, ...more: ReadonlyArray<string>) =>
    new Promise<{ code: number | null; out: string; told: string }>((settle) => {
      const args = ["ingest", file, "--url", program.base, "--key", key, "--collection", "shelf", "--json", ...more]
      const child = spawn("node", [join(root, "scripts", "bootstrap.mjs"), ...args], { cwd: root })
      let out = "",
        told = ""
      child.stdout.on("data", (piece: Buffer) => (out += piece.toString()))
      child.stderr.on("data", (piece: Buffer) => (told += piece.toString()))
      child.on("close", (code) => settle({ code, out, told }))
    })
  try {
    const good = join(folder, "goods.xml.gz")
    writeFileSync(
      good,
      gzipSync(`<yml_catalog><shop><offers><offer id="1"><name>Lamp</name></offer></offers></shop></yml_catalog>`)
    )
    const first = await ran(good, "--create")
    expect([first.code, JSON.parse(first.out)]).toMatchObject([
      0,
      { source: "yml", name: "goods.xml.gz", stats: { imported: 1 } }
    ])
    expect(first.told).toContain("ready: 1 imported, 0 refused")
    const bad = join(folder, "goods.csv")
    writeFileSync(bad, "id,title\n1,Lamp\n2\n")
    const second = await ran(bad)
    expect([second.code, second.told]).toMatchObject([1, expect.stringContaining("line 3: The row has 1 fields")])
    writeFileSync(bad, "title\nx\n")
    const third = await ran(bad)
    expect([third.code, third.told]).toMatchObject([2, expect.stringContaining("names no column `id`")])
    const odd = join(folder, "goods.bin")
    writeFileSync(odd, "x")
    expect((await ran(odd)).told).toContain("Name the format")
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
