/** Which of the searches waiting for workers runs next depends on what each namespace used, divided by its weight. */
import { expect, it } from "vitest"
import { FairLines } from "../src/lane/fair-lines.ts"

interface One {
  readonly namespace: string
  readonly expected_ms: number
  readonly weight: number
}
const one = (namespace: string, expected_ms = 1, weight = 1): One => ({ namespace, expected_ms, weight })
/** Takes this many searches, each of which lasts as expected; returns their namespaces in order. */
const taken = (lines: FairLines<One>, count: number): string =>
  Array.from({ length: count }, () => {
    const next = lines.take()
    if (next === undefined) return "-"
    lines.took(next, next.expected_ms)
    return next.namespace
  }).join("")

it("a search that comes after two thousand of another tenant is next", () => {
  const lines = new FairLines<One>()
  for (let i = 0; i < 2_000; i++) lines.put(one("a"))
  expect(taken(lines, 100)).toBe("a".repeat(100))
  lines.put(one("b"))
  expect(taken(lines, 3)).toContain("b")
  expect([lines.size, lines.sizeOf("a"), lines.sizeOf("b")]).toEqual([1_898, 1_898, 0])
})
it("shares are measured in time, not searches, by weight, and equals keep their order", () => {
  const lines = new FairLines<One>()
  for (let i = 0; i < 300; i++) {
    lines.put(one("a", 10))
    lines.put(one("b", 1))
    lines.put(one("c", 1, 3))
  }
  const order = taken(lines, 200)
  const used = (name: string, ms: number): number => (order.split(name).length - 1) * ms
  expect(Math.abs(used("a", 10) - used("b", 1))).toBeLessThanOrEqual(10)
  expect(used("c", 1) / used("b", 1)).toBeGreaterThan(2.5)
  const own = new FairLines<One & { readonly at: number }>()
  for (let at = 0; at < 5; at++) own.put({ ...one("a"), at })
  expect(Array.from({ length: 5 }, () => own.take()?.at)).toEqual([0, 1, 2, 3, 4])
})
it("a search that took longer than expected is charged afterwards, and an idle namespace saves nothing up", () => {
  const lines = new FairLines<One>()
  for (let i = 0; i < 50; i++) {
    lines.put(one("a"))
    lines.put(one("b"))
  }
  const first = lines.take()!
  lines.took(first, 21)
  const other = first.namespace === "a" ? "b" : "a"
  expect(taken(lines, 20)).toBe(other.repeat(20))
  taken(lines, 20)
  // Namespace `c` has used nothing meanwhile; it gets its share from now on, not everything.
  for (let i = 0; i < 50; i++) lines.put(one("c"))
  expect(taken(lines, 9).split("c").length - 1).toBeLessThanOrEqual(4)
})
it("all waiting searches are notified when nobody will take them any more", () => {
  const lines = new FairLines<One>()
  for (const name of ["a", "b", "a"]) lines.put(one(name))
  expect(lines.clear().length).toBe(3)
  expect([lines.size, lines.take()]).toEqual([0, undefined])
})
