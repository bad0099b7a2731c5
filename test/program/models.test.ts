/**
 * A program that installs its models in the background: it answers before they are ready, and works without them if
 * they are not available.
 */
import { spawnSync } from "node:child_process"
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, it } from "vitest"
import { launchPrepared } from "../support/launched.ts"
import { installedModels } from "../support/models.ts"

const folder = mkdtempSync(join(tmpdir(), "dowser-with-models-"))
chmodSync(folder, 0o755)
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const place = (name: string): string => {
  const path = join(folder, name)
  mkdirSync(path)
  // Writable by the user to which root hands over.
  chmodSync(path, 0o777)
  return path
}

it("answers first, reports once what was not available, and serves", async () => {
  const own = place("none")
  const program = await launchPrepared(join(folder, "data"), ["--no-demo"], undefined, {
    DOWSER_MODELS: "background",
    DOWSER_MODELS_DIR: own,
    npm_config_registry: "http://127.0.0.1:9",
    npm_config_fetch_retries: "0"
  })
  try {
    const { base_url, full_key } = program.ready
    const ask = async () => (await fetch(`${base_url}/collections`, { headers: { "x-svc-api-key": full_key! } })).status
    expect(await ask()).toBe(200)
    await expect.poll(program.stderr, { timeout: 60_000 }).toContain("Models could not be installed")
    expect(program.stderr().match(/could not be installed/g)?.length).toBe(1)
    expect(program.stderr()).toMatch(/npm could not fetch .*`npm run dowser -- models install`/)
    expect(await ask()).toBe(200)
    expect(readdirSync(own)).toEqual([])
  } finally {
    program.signal("SIGTERM")
    expect(await program.exited).toBe(0)
  }
})

const { folder: installed, missing } = await installedModels()
it("finds models that are installed", async (context) => {
  if (missing !== undefined) return context.skip(missing)
  const program = await launchPrepared(join(folder, "with"), ["--no-demo"], undefined, {
    DOWSER_MODELS: "background",
    DOWSER_MODELS_DIR: join(installed, "..")
  })
  try {
    const bootstrap = new URL("../../scripts/bootstrap.mjs", import.meta.url).pathname
    const told = spawnSync("node", [bootstrap, "status", "--json", "--data-dir", join(folder, "with")], {
      encoding: "utf8"
    })
    expect(JSON.parse(told.stdout).parts).toContainEqual({
      name: "models",
      ok: true,
      detail: "dowser/minilm-l6-v2 is installed"
    })
    expect(program.stderr()).not.toContain("Models are being installed")
  } finally {
    program.signal("SIGTERM")
    expect(await program.exited).toBe(0)
  }
})
