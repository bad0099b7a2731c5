/** `docs/voice.md`, request by request, over the demo shop and the real transcriber. */
import { join } from "node:path"
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
