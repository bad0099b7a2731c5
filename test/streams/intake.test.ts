/** Merges records of topics of uneven density into one order of time. */
import { describe, expect, it } from "vitest"
import type { LogRecord } from "../../log/event-log/event-log.ts"
import { Intake } from "../../streams/reading/intake.ts"

const record = (offset: number, appendedAt: number): LogRecord => ({
  offset,
  appendedAt,
  key: undefined,
  value: new Uint8Array()
})
const takeAll = (intake: Intake) => {
  const taken: Array<string> = []
  for (let next = intake.take(); next !== undefined; next = intake.take())
    taken.push(`${next.topic}${next.record.offset}`)
  return taken
}

describe("an intake", () => {
  it("returns the oldest record first, and waits for a topic that may have an older one", () => {
    const intake = new Intake(["a", "b"], { b: 5 })
    expect([intake.wants("a"), intake.wants("b")]).toEqual([0, 5])
    intake.add("a", [record(0, 10), record(1, 500)], 2, false)
    // No record of b has been read yet: its next one may be older than a's first.
    expect(takeAll(intake)).toEqual([])
    intake.add("b", [record(5, 20), record(6, 30)], 7, false)
    expect(takeAll(intake)).toEqual(["a0", "b5", "b6"])
    expect(intake.reached).toEqual({ a: 1, b: 7 })
    expect([intake.wants("a"), intake.wants("b")]).toEqual([undefined, 7])
    // b is read up to 30 and has more records: a's 500 says nothing about the next ones of b.
    expect(intake.watermark).toBe(30)
    intake.add("b", [record(7, 40)], 8, true)
    expect(takeAll(intake)).toEqual(["b7", "a1"])
    expect(intake.reached).toEqual({ a: 2, b: 8 })
    // a was not at its end when it was last read.
    intake.add("a", [], 2, true)
    expect(intake.watermark).toBe(500)
  })
  it("breaks ties by the order of its topics", () => {
    const intake = new Intake(["served", "events"], {})
    intake.add("events", [record(0, 7)], 1, true)
    intake.add("served", [record(0, 7)], 1, true)
    expect(takeAll(intake)).toEqual(["served0", "events0"])
  })
})
