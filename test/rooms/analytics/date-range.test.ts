/** `from` and `to` of analytics: what is accepted, what it means, and what is refused. */
import { describe, expect, it } from "vitest"
import { parseDateRange } from "../../../src/analytics/date-range.ts"
import { normalizeQuery } from "../../../log/normalize-query.ts"

const range = (from: string, to: string) => {
  const result = parseDateRange(from, to)
  return result.ok
    ? [new Date(result.range.from).toISOString(), new Date(result.range.before - 1).toISOString()]
    : result.issues.map(({ path }) => path).join()
}

describe("a range", () => {
  it("of dates covers the whole last day", () => {
    expect(range("2026-03-01", "2026-03-01")).toEqual(["2026-03-01T00:00:00.000Z", "2026-03-01T23:59:59.999Z"])
  })
  it("of instants includes both", () => {
    expect(range("2026-03-01T10:00:00Z", "2026-03-01T10:00:00.250Z")).toEqual([
      "2026-03-01T10:00:00.000Z",
      "2026-03-01T10:00:00.250Z"
    ])
    expect(range("2026-03-01T10:00", "2026-03-01T10:00")).toEqual([
      "2026-03-01T10:00:00.000Z",
      "2026-03-01T10:00:00.000Z"
    ])
  })
  it("accepts offsets, also when the plus became a blank in the address", () => {
    expect(range("2026-03-01T02:00:00+02:00", "2026-03-01T02:00:00-0130")).toEqual([
      "2026-03-01T00:00:00.000Z",
      "2026-03-01T03:30:00.000Z"
    ])
    expect(range("2026-03-01T02:00:00 02:00", "2026-03-02")).toEqual([
      "2026-03-01T00:00:00.000Z",
      "2026-03-02T23:59:59.999Z"
    ])
  })
  it("is at most 366 days", () => {
    expect(range("2025-01-01", "2026-01-01")).toHaveLength(2)
    expect(range("2025-01-01", "2026-01-02")).toBe("to")
    expect(range("2025-01-01T00:00:00Z", "2026-01-02T00:00:00Z")).toHaveLength(2)
    expect(range("2025-01-01T00:00:00Z", "2026-01-02T00:00:00.001Z")).toBe("to")
  })
  it.each([
    ["", "2026-01-01", "from"],
    ["2026-01-01", "", "to"],
    ["01/02/2026", "2026-01-01", "from"],
    ["2026-13-01", "2026-01-01", "from"],
    ["2026-02-29", "2026-03-01", "from"],
    ["2026-01-02", "2026-01-01", "to"],
    ["2026-01-01T25:00", "2026-01-02", "from"],
    ["1767225600000", "2026-01-01", "from"]
  ])("from %j to %j is refused at %s", (from, to, path) => {
    expect(range(from, to)).toBe(path)
  })
})

describe("the normal form of a query", () => {
  it("is trimmed, folded, single-spaced, storable and bounded", () => {
    expect(normalizeQuery("  Red \t\n SHOES\u0000 ")).toBe("red shoes")
    expect(normalizeQuery("ÉCLAIR")).toBe("éclair")
    expect(normalizeQuery("a\ud800")).toBe("a\ufffd")
    expect(Buffer.byteLength(normalizeQuery("é".repeat(4_000)))).toBe(1_024)
    expect(normalizeQuery(normalizeQuery(" A  b "))).toBe(normalizeQuery(" A  b "))
  })
})
