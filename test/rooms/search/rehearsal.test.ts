/** Every search of the rehearsal is answered, in slices, and nothing of it is left. */
import { expect, it } from "vitest"
import { rehearse } from "../../../src/runtime/rehearsal.ts"

it("runs to its end, a pause between any two searches", async () => {
  let pauses = 0
  await rehearse(async () => void pauses++)
  // 20 slices of the import, and 8 rounds of 13 searches.
  expect(pauses).toBe(20 + 8 * 13)
})
it("ends where its caller ends it", async () => {
  await expect(rehearse(() => Promise.reject(new Error("stopped")))).rejects.toThrow("stopped")
})
