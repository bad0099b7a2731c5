/**
 * `docs/cms.md`, request by request, while the reference module of `examples/cms-module` runs as a process of its own:
 * it applies, pushes, resumes after a kill where it was, and ends when its key is revoked.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, expect, it } from "vitest"
import { stepsOfGuide } from "../support/guide.ts"
import type { Program } from "../support/program.ts"
import { sharedProgram } from "../support/shared-program.ts"
import { eventually } from "../support/receiver.ts"

const example = (name: string) => fileURLToPath(new URL(`../../examples/cms-module/${name}`, import.meta.url))
const steps = stepsOfGuide("cms.md")
let program: Program
let key: string
let folder: string
let module: ChildProcess | undefined
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "dowser-cms-"))
  program = await sharedProgram()
  key = (await program.tenant("Guide")).full_key
})
afterAll(async () => {
  module?.kill("SIGKILL")
  await program.stop()
  rmSync(folder, { recursive: true, force: true })
})

const products = () => join(folder, "products.jsonl")
const line = (at: number, id: string, more: object) => `${JSON.stringify({ at, id, ...more })}\n`
const startModule = (installation_key: string) => {
  let said = ""
  const child = spawn("node", [example("module.mjs"), example("catalogue.mjs"), join(folder, "state.json")], {
    env: {
      PATH: process.env.PATH,
      DOWSER_URL: program.base,
      DOWSER_INSTALLATION_KEY: installation_key,
      DOWSER_POLL_MS: "100",
      SHOP_FILE: products()
    },
    stdio: ["ignore", "pipe", "pipe"]
  })
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (text: Buffer) => {
      said += text.toString()
    })
  const exited = new Promise<number | null>((settle) => child.on("exit", settle))
  module = child
  return { child, exited, said: () => said }
}
const get = async (path: string) => (await program.request("GET", `/v1${path}`, { key })).body
const title = async (id: string) => (await get(`/collections/goods/documents/${id}`)).title as string | undefined
const becomes = (id: string, wanted: string | undefined) =>
  eventually(`${id} is ${wanted}`, async () => ((await title(id)) === wanted ? true : undefined))

it("answers every request of the guide as it says, and the module follows its instructions", async () => {
  expect(steps.length).toBe(6)
  const ids: Record<string, string> = {}
  const filled = (text: string) => text.replace(/\$(CONNECTOR|INSTALLATION)/g, (_, name: string) => ids[name]!)
  let installation_key = ""
  let running: ReturnType<typeof startModule> | undefined
  for (const { answer, body, method, path } of steps) {
    const address = filled(path)
    if (method === "GET") {
      writeFileSync(
        products(),
        line(1, "lamp", { title: "Lamp", price: 35 }) + line(2, "mug", { title: "Mug", price: 4 })
      )
      running = startModule(installation_key)
      await becomes("mug", "Mug")
      await eventually("it is in sync", async () => ((await get(address.slice(3))).in_sync === true ? true : undefined))
    }
    if (method === "DELETE") {
      // Killed and started again, the module pushes only what is new.
      running!.child.kill("SIGKILL")
      await running!.exited
      appendFileSync(products(), line(3, "lamp", { title: "Desk lamp", price: 36 }) + line(4, "mug", { deleted: true }))
      running = startModule(installation_key)
      await becomes("lamp", "Desk lamp")
      await becomes("mug", undefined)
      // A document can be found a moment before its journal line exists.
      const journal = await eventually("every line of the journal", async () => {
        const { data } = await get(`/connectors/${ids.CONNECTOR}/journal`)
        return data.length >= 4 ? data : undefined
      })
      expect(journal.map(({ external_id, status }: any) => `${external_id} ${status}`).sort()).toEqual([
        "lamp applied",
        "lamp applied",
        "mug applied",
        "mug applied"
      ])
    }
    const response = await program.request(method, address, {
      key,
      ...(body === undefined ? {} : { body: filled(body) })
    })
    expect(response.status, response.text).toBeLessThan(300)
    if (answer !== undefined) expect([path, response.body]).toMatchObject([path, answer])
    if (path === "/v1/connectors") ids.CONNECTOR = response.body.id
    if (path === "/v1/cms/installations") {
      ids.INSTALLATION = response.body.id
      installation_key = response.body.installation_key
    }
  }
  expect(await running!.exited, running!.said()).toBe(1)
})
