/**
 * Copies a log while it is written to: a program that starts from the copy finds exactly what the copy claims to hold.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, it } from "vitest"
import { copyLog, endOffsetsOf, frame, openLogEnvironment } from "../../log/event-log/lmdb-environment.ts"

const folder = mkdtempSync(join(tmpdir(), "dowser-log-copy-"))
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

it("a copy continues at its end, though its newest records were not on disk in the original log", async () => {
  const log = openLogEnvironment(join(folder, "log"))
  let offset = 0
  let isOver = false
  const writing = (async () => {
    while (!isOver) {
      if (offset % 8 === 0) await new Promise((settle) => setTimeout(settle, 1))
      await log.commit([{ topic: "t", partition: 0, offset, value: frame(1, "k", Buffer.alloc(300, offset & 255)) }])
      offset++
    }
  })()
  const found: Array<{ readonly told: number | undefined; readonly held: number; readonly unreadable: number }> = []
  for (let i = 0; i < 60; i++) {
    const to = join(folder, `copy-${i}`)
    mkdirSync(to)
    await copyLog(join(folder, "log"), to)
    const { "t/0": told = 0 } = await endOffsetsOf(to)
    const copy = openLogEnvironment(to)
    const { endOffset, startOffset } = copy.bounds("t", 0)
    let unreadable = 0
    for (let at = startOffset; at < endOffset; at++)
      if (copy.get("t", 0, at)?.value.every((byte) => byte === (at & 255)) !== true) unreadable++
    found.push({ told, held: endOffset, unreadable })
    await copy.commit([{ topic: "t", partition: 0, offset: endOffset, value: frame(1, "k", Buffer.alloc(300)) }])
    await copy.close()
    rmSync(to, { recursive: true })
  }
  isOver = true
  await writing
  await log.close()
  expect(found.filter(({ held, told, unreadable }) => held !== told || unreadable > 0)).toEqual([])
})
