/** What a running partition does next, case by case. */
import { describe, expect, it } from "vitest"
import { nextMove, type Standing } from "../../streams/runner/next-move.ts"

const standing = (over: Partial<Standing> = {}): Standing => ({
  records: 5,
  recordsMax: Number.POSITIVE_INFINITY,
  isFlushDue: false,
  isFull: false,
  came: { any: true, much: false },
  pause_ms: 0,
  ...over
})
const NOTHING = { any: false, much: false }
const MUCH = { any: true, much: true }

describe("the next move", () => {
  it("is to flush when it is due, full, at the bound of a flush, or empty, however much came", () => {
    for (const came of [NOTHING, MUCH, { any: true, much: false }])
      for (const pause_ms of [0, 400])
        for (const over of [
          { isFlushDue: true },
          { isFull: true },
          { recordsMax: 5 },
          { recordsMax: 1 },
          { records: 0 }
        ])
          expect(nextMove(standing({ came, pause_ms, ...over }))).toBe("flush")
  })
  it("is to continue while much comes in a pause, and to gather more where little comes", () => {
    expect(nextMove(standing({ pause_ms: 1, came: MUCH }))).toBe("continue")
    expect(nextMove(standing({ pause_ms: 1 }))).toBe("gather")
    expect(nextMove(standing({ pause_ms: 1, came: NOTHING }))).toBe("gather")
  })
  it("is to look for more records when some came and no pause is left, and otherwise to flush", () => {
    expect(nextMove(standing())).toBe("look")
    expect(nextMove(standing({ pause_ms: -3, came: MUCH }))).toBe("look")
    expect(nextMove(standing({ came: NOTHING }))).toBe("flush")
  })
})
