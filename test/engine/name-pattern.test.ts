/** Name patterns match whole names in linear time, whatever a tenant writes. */
import { expect, it } from "vitest"
import { namePattern } from "../../engine-sdk/src/schema/mod.ts"
import { promised } from "../support/patience.ts"

it.each([
  [".*", "anything", true],
  ["score_.*", "score_a", true],
  ["score_.*", "myscore_a", false],
  [".*_facet", "color_facet", true],
  ["(a|b)_\\d+", "b_42", true],
  ["(a|b)_\\d+", "c_42", false],
  ["[a-c]x?", "b", true],
  ["[a-c]x?", "dx", false],
  ["price\\..*", "price.usd", true],
  ["price\\..*", "pricexusd", false],
  ["shop_.*", "shop_", true]
])("%s against %s", (pattern, name, expected) => {
  expect(namePattern(pattern)?.matches(name)).toBe(expected)
})
it("refuses what it does not know or cannot match in linear time", () => {
  for (const pattern of ["(", "a**", "a{2,3}", "(?=x)", "[", "a".repeat(1_000)])
    expect(namePattern(pattern)).toBeUndefined()
})
it("does not hang on patterns that break backtracking matchers", () => {
  const started = performance.now()
  expect(namePattern("(a*)*b.*")?.matches("a".repeat(5_000)) ?? false).toBe(false)
  expect(namePattern(".*a.*a.*a.*a.*a.*b")?.matches("a".repeat(5_000))).toBe(false)
  expect(performance.now() - started).toBeLessThan(promised(1_000))
})
