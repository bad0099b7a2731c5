/** The programs of `examples/`, each run as a process of its own, as someone who copied it would run it. */
import { type ChildProcess, spawn } from "node:child_process"
import { createHmac } from "node:crypto"
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import type { Program } from "../support/program.ts"
import { eventually } from "../support/receiver.ts"
import { sharedProgram } from "../support/shared-program.ts"

const root = fileURLToPath(new URL("../../examples/", import.meta.url))
const here = fileURLToPath(new URL("../../", import.meta.url))
let program: Program
beforeAll(async () => {
  program = await sharedProgram({ allowPrivateAddresses: true })
})
afterAll(() => program.stop())

const started = new Set<ChildProcess>()
afterEach(() => {
  for (const child of started) child.kill("SIGKILL")
  started.clear()
})
/** `flags` are Node's, given before the file. */
const run = (
  file: string,
  env: Readonly<Record<string, string>>,
  args: ReadonlyArray<string> = [],
  command = "node"
) => {
  let said = ""
  const [binary = "", ...flags] = command.split(" ")
  const child = spawn(binary, [...flags, `${root}${file}`, ...args], { env: { PATH: process.env.PATH, ...env } })
  started.add(child)
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (text: Buffer) => {
      said += text.toString()
    })
  const exited = new Promise<number | null>((settle) => child.on("exit", settle))
  return { child, exited, said: () => said }
}

describe("examples/", () => {
  it("each has a few lines that say how to run it, and a test that does", () => {
    for (const name of readdirSync(root)) {
      const readme = readFileSync(`${root}${name}/README.md`, "utf8")
      expect([name, readme.split("\n").length < 25, /^```sh$/m.test(readme)]).toEqual([name, true, true])
      const test = /`(test\/[\w/.-]+\.test\.ts)`/.exec(readme)?.[1] ?? "none"
      expect([name, existsSync(`${here}${test}`) && readFileSync(`${here}${test}`, "utf8").includes(name)]).toEqual([
        name,
        true
      ])
    }
  })
})

describe("events-and-analytics", () => {
  it("imports, searches, reports events and reads the first figure", async () => {
    const { full_key } = await program.tenant("Example events")
    const { exited, said } = run("events-and-analytics/main.mjs", { DOWSER_URL: program.base, FULL_KEY: full_key })
    expect([await exited, said()]).toEqual([
      0,
      "found 2: Road running shoe, Trail running shoe\naccepted 2, duplicates when sent again 2\nsearches 1, clicks 1, purchases 1, revenue 129\n"
    ])
  })
  it("says what is missing", async () => {
    const { exited, said } = run("events-and-analytics/main.mjs", {})
    expect([await exited, said()]).toEqual([2, expect.stringContaining("FULL_KEY")])
  })
})

describe("sdk-library", () => {
  it("searches by itself, without a server", async () => {
    const home = mkdtempSync(join(tmpdir(), "dowser-example-"))
    // Resolved as if installed from a registry, but to this repository's sources.
    const command = `${process.execPath} run -A --no-check --config ${here}deno.json --conditions dowser-source`
    const node = "node --conditions=dowser-source --disable-warning=ExperimentalWarning"
    const isDeno = "Deno" in globalThis
    const { exited, said } = run("sdk-library/main.mjs", { HOME: home }, [], isDeno ? command : node)
    const status = await exited
    rmSync(home, { recursive: true, force: true })
    expect([status, said()]).toEqual([
      0,
      "3 for runing shoe\nRoad running shoe, 129\nWaterproof spray, 12\nTrail running shoe, 89.5\nPeak 1, Balm 1, Swift 1\n"
    ])
  })
})

describe("webhook-receiver", () => {
  const listening = async (secret: string) => {
    const { said } = run("webhook-receiver/receiver.mjs", { PORT: "0", WEBHOOK_SECRET: secret })
    const port = await eventually("the receiver", () => /listening on (\d+)/.exec(said())?.[1])
    return { said, url: `http://127.0.0.1:${port}/` }
  }
  it("accepts what is signed, once, and nothing else", async () => {
    const secret = "whsec_dGVzdA=="
    const { said, url } = await listening(secret)
    const body = JSON.stringify({ type: "order", text: "größer" })
    const sign = (t: number, by = secret, of = body) =>
      `t=${t},v1=${createHmac("sha256", by).update(`${t}.${of}`).digest("hex")}`
    const send = async (signature: string | undefined, id: string) =>
      (
        await fetch(url, {
          method: "POST",
          headers: {
            "x-svc-event": "order",
            "x-svc-delivery": id,
            ...(signature === undefined ? {} : { "x-svc-signature": signature })
          },
          body
        })
      ).status
    const now = Math.floor(Date.now() / 1000)
    expect(await send(sign(now), "one")).toBe(204)
    expect(await send(sign(now), "one")).toBe(204)
    // After a rotation there are two signatures.
    expect(await send(`${sign(now, "whsec_older")},${sign(now).split(",")[1]}`, "two")).toBe(204)
    for (const bad of [
      undefined,
      "",
      "t=,v1=",
      `t=${now},v1=00`,
      sign(now, "whsec_other"),
      sign(now, secret, `${body} `),
      sign(now - 600),
      sign(Number.NaN)
    ])
      expect([bad, await send(bad, "bad")]).toEqual([bad, 401])
    expect(said().match(/^order .*$/gm)).toEqual(["order one", "order two"])
  })
  it("accepts what Dowser sends", async () => {
    const { full_key: key } = await program.tenant("Example webhooks")
    const asked = { name: "Example", url: "http://127.0.0.1:9/", events: ["*"] }
    const made = await program.request("POST", "/v1/webhooks", { key, body: asked })
    expect(made.status, made.text).toBe(201)
    const { said, url } = await listening(made.body.secret)
    expect(
      (await program.request("PUT", `/v1/webhooks/${made.body.id}`, { key, body: { ...asked, url } })).status
    ).toBe(200)
    await program.request("POST", `/v1/webhooks/${made.body.id}/test`, { key })
    await eventually("the delivery", () => (said().includes("webhook.test ") ? true : undefined))
    expect(said()).not.toContain("refused")
  })
})

describe("assistant-chat", () => {
  it("prints an answer with its sources, continues the conversation, and reports a refusal", async () => {
    const { full_key: key, organization_id, search_key } = await program.tenant("Example assistant")
    await program.topUp(organization_id, 10)
    const fields = ["title", "text"].map((name) => ({ name, type: "string" }))
    await program.request("POST", "/v1/collections", { key, body: { name: "help", fields } })
    await program.request("POST", "/v1/collections/help/documents", {
      key,
      body: {
        id: "1",
        title: "Returns",
        text: "Goods can be returned within thirty days. Postage is paid by the shop."
      }
    })
    const made = await program.request("POST", "/v1/assistants", { key, body: { name: "Help", collections: ["help"] } })
    expect(made.status, made.text).toBe(201)
    const env = { DOWSER_URL: program.base, SEARCH_KEY: search_key, ASSISTANT: made.body.id as string }
    const { child, exited, said } = run("assistant-chat/chat.mjs", env)
    child.stdin.write("Within how many days can goods be returned?\n")
    await eventually("the answer", () => (said().includes("[1] Returns") ? true : undefined))
    expect(said()).toContain("Goods can be returned within thirty days. [1]\n  [1] Returns\n")
    child.stdin.write("Who won the world cup in 1998?\n")
    await eventually("the refusal", () => (said().split("> ").length > 3 ? true : undefined))
    child.stdin.end()
    expect(await exited).toBe(0)
    const refused = said().split("> ")[2]!
    expect(refused.length).toBeGreaterThan(10)
    expect(refused).not.toMatch(/\[\d\]|\(\d{3}\)/)
    const wrong = run("assistant-chat/chat.mjs", { ...env, SEARCH_KEY: "none" })
    wrong.child.stdin.end("Hello\n")
    await wrong.exited
    expect(wrong.said()).toContain("(401)")
  })
})
