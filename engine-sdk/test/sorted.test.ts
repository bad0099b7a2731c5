import { describe, expect, it } from "vitest"
import { firstNotBefore, gallop } from "../src/sorted.ts"

describe.each([
  ["binary search", firstNotBefore],
  ["galloping search", gallop]
])("%s", (_name, search) => {
  it("finds the boundary wherever it is, and reads only the range", () => {
    for (let length = 0; length <= 20; length++)
      for (let low = 0; low <= length; low++)
        for (let boundary = low; boundary <= length; boundary++) {
          const read: Array<number> = []
          const found = search(low, length, (at) => {
            read.push(at)
            return at < boundary
          })
          expect([length, low, found]).toEqual([length, low, boundary])
          expect(read.every((at) => at >= low && at < length)).toBe(true)
        }
  })
})

it("gallops to a near boundary in a few calls, however long the rest is", () => {
  let calls = 0
  const boundary = 1_000_003
  expect(gallop(1_000_000, 2 ** 30, (at) => (calls++, at < boundary))).toBe(boundary)
  expect(calls).toBeLessThanOrEqual(5)
})
