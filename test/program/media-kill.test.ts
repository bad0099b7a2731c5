/** The whole program, killed with SIGKILL in the middle of an upload: no asset becomes ready, and no byte is left. */
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs"
import { request as httpRequest } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"
import { launchPrepared, type Launched } from "../support/launched.ts"
import { eventually } from "../support/receiver.ts"

const flags = ["--no-demo"]
let folder: string, program: Launched, key: string
const media = () => {
  try {
    const root = join(folder, "data", "media")
    return readdirSync(root).flatMap((name) => readdirSync(join(root, name)).map((file) => join(root, name, file)))
  } catch {
    return []
  }
}
const send = async (method: string, path: string, body?: string) => {
  const answer = await fetch(`http://127.0.0.1:${program.port}/v1${path}`, {
    method,
    headers: { "x-svc-api-key": key },
    ...(body === undefined ? {} : { body })
  })
  const text = await answer.text()
  return { status: answer.status, text, body: text.startsWith("{") ? JSON.parse(text) : undefined }
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "dowser-media-kill-"))
  program = await launchPrepared(join(folder, "data"), flags)
  key = program.ready.full_key!
})
afterAll(async () => {
  program.signal("SIGTERM")
  await program.exited
  rmSync(folder, { recursive: true, force: true })
})

it("an upload interrupted by a kill leaves an empty asset, no byte, and frees its storage", async () => {
  const { id } = (await send("POST", "/media", "{}")).body
  const { id: whole } = (await send("POST", "/media", "{}")).body
  expect((await send("PUT", `/media/${whole}/content`, "whole")).status).toBe(200)
  const request = httpRequest(`http://127.0.0.1:${program.port}/v1/media/${id}/content`, {
    method: "PUT",
    headers: { "x-svc-api-key": key, "content-length": "50000000" }
  })
  request.on("error", () => {})
  request.write(Buffer.alloc(5_000_000))
  await eventually("bytes on disk", () =>
    media().some((file) => file.endsWith(".new") && statSync(file).size > 1_000_000) ? true : undefined
  )
  process.kill(program.pid(), "SIGKILL")
  await program.exited
  program = await launchPrepared(join(folder, "data"), flags)
  expect((await send("GET", `/media/${id}`)).body).toMatchObject({ status: "empty", size: 0, sha256: null })
  await eventually("the sweep", () => (media().length === 1 ? true : undefined))
  expect((await send("GET", `/media/${whole}/content`)).text).toBe("whole")
  expect((await send("PUT", `/media/${id}/content`, "again")).status).toBe(200)
  expect((await send("GET", `/media/${id}/content`)).text).toBe("again")
})
