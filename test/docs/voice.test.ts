/** `docs/voice.md`, request by request, over the demo shop and the real transcriber. */
import { execFile } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, it } from "vitest"
import { modelsFolder, readPinned, readPinnedTranscriber } from "../../src/models/install/pinned.ts"
import { findInstalled } from "../../src/models/install/places.ts"
import { TRANSCRIBER_SIZES } from "../../src/ports/transcriber/moonshine/layout.ts"
import { stepsOfGuide } from "../support/guide.ts"
import { startProgram } from "../support/program.ts"

const places = [join(modelsFolder, "installed")]
const isThere =
  findInstalled(places, readPinned()) !== undefined &&
  TRANSCRIBER_SIZES.some((size) => findInstalled(places, readPinnedTranscriber(size)) !== undefined)

it("streams a file as the guide does, with what it prints", async (context) => {
  if (!isThere || process.env.DOWSER_MODELS === "off")
    return context.skip("dowser models install --voice tiny was not run here")
  const guide = readFileSync(new URL("../../docs/voice.md", import.meta.url), "utf8")
  const [, script] = /```js\n([\s\S]*?)```/.exec(guide)!
  const folder = mkdtempSync(join(tmpdir(), "dowser-guide-"))
  const program = await startProgram({ demoProducts: 60 })
  try {
    const { full_key, organization_id } = program.demo!
    await program.topUp(organization_id, 5)
    writeFileSync(join(folder, "listen.mjs"), script!)
    const file = new URL("../../fixtures/speech/waterproof-backpack.ogg", import.meta.url).pathname
    // Node has `WebSocket` only from release 22 on.
    const deno = new URL("../../node_modules/deno/bin.cjs", import.meta.url).pathname
    const { stdout } = await promisify(execFile)(
      process.execPath.includes("deno") ? process.execPath : deno,
      ["run", "-A", join(folder, "listen.mjs"), file],
      {
        env: { ...process.env, DOWSER: program.base, KEY: full_key }
      }
    )
    expect(stdout).toMatch(/^transcript .*waterproof/im)
    expect(stdout).toMatch(/^final \[[\s\S]*Backpack.*Waterproof[\s\S]*^closed 1000$/m)
  } finally {
    await program.stop()
    rmSync(folder, { recursive: true })
  }
})
it("answers every request of the guide as it says", async (context) => {
  if (!isThere || process.env.DOWSER_MODELS === "off")
    return context.skip("dowser models install --voice tiny was not run here")
  const program = await startProgram({ demoProducts: 60 })
  try {
    const { full_key: key, organization_id } = program.demo!
    await program.topUp(organization_id, 5)
    const steps = stepsOfGuide("voice.md")
    expect(steps).toHaveLength(2)
    for (const { answer, file, method, path } of steps) {
      const response = await program.request(method, path, { key, body: file })
      expect([path, response.status, response.body]).toMatchObject([path, 200, answer])
      if (path.includes("voice_search")) expect(response.body.hits[0].document.title).toMatch(/Backpack.*Waterproof/)
    }
  } finally {
    await program.stop()
  }
})
