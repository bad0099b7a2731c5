/**
 * Types of values under each `dirty_values` mode (`docs/contract/documents.md#dirty-values`), as one table: target,
 * value, and the outcome per mode.
 */
import { describe, expect, it } from "vitest"
import { prepareWrite } from "../../engine-sdk/src/documents/mod.ts"
import type { DirtyValues } from "../../engine-sdk/src/schema.ts"
import { schemaOf, seeded } from "../support/engine-lab.ts"

const MODES: ReadonlyArray<DirtyValues> = ["reject", "drop", "coerce_or_reject", "coerce_or_drop"]
const DROPPED = Symbol("dropped")
const REFUSED = Symbol("refused")
type Outcome = unknown
const write = (type: string, value: unknown, mode: DirtyValues, optional: boolean): Outcome => {
  const schema = schemaOf([{ name: "f", type, optional }])
  const prepared = prepareWrite(
    schema,
    { kind: "put", action: "create", dirtyValues: mode, document: { id: "1", f: value } },
    () => undefined,
    () => "0"
  )
  if (!prepared.ok) return REFUSED
  return "f" in prepared.value.stored ? prepared.value.stored.f : DROPPED
}
describe("an optional field", () => {
  it.each<
    [type: string, value: unknown, reject: Outcome, drop: Outcome, coerceOrReject: Outcome, coerceOrDrop: Outcome]
  >([
    ["string", "x", "x", "x", "x", "x"],
    ["string", 5, REFUSED, DROPPED, "5", "5"],
    ["string", 1.25, REFUSED, DROPPED, "1.25", "1.25"],
    ["string", false, REFUSED, DROPPED, "false", "false"],
    ["string", ["x"], REFUSED, DROPPED, REFUSED, DROPPED],
    ["string", {}, REFUSED, DROPPED, REFUSED, DROPPED],
    ["int32", 7.9, REFUSED, DROPPED, 7, 7],
    ["int32", true, REFUSED, DROPPED, 1, 1],
    ["int32", "42", REFUSED, DROPPED, 42, 42],
    ["int32", "7.5", REFUSED, DROPPED, REFUSED, DROPPED],
    ["int32", "99999999999", REFUSED, DROPPED, REFUSED, DROPPED],
    ["int64", "99999999999", REFUSED, DROPPED, 99999999999, 99999999999],
    ["float", 3, 3, 3, 3, 3],
    ["float", "1e3", REFUSED, DROPPED, 1000, 1000],
    ["float", true, REFUSED, DROPPED, 1, 1],
    ["float", "x", REFUSED, DROPPED, REFUSED, DROPPED],
    ["bool", 1, REFUSED, DROPPED, true, true],
    ["bool", 2, REFUSED, DROPPED, REFUSED, DROPPED],
    ["bool", "TRUE", REFUSED, DROPPED, true, true],
    ["bool", "x", REFUSED, DROPPED, REFUSED, REFUSED],
    ["geopoint", ["1", "2"], REFUSED, DROPPED, [1, 2], [1, 2]],
    ["geopoint", [1], REFUSED, REFUSED, REFUSED, REFUSED],
    ["string[]", "x", REFUSED, DROPPED, REFUSED, DROPPED],
    ["string[]", [1, "a", true], REFUSED, ["a"], ["1", "a", "true"], ["1", "a", "true"]],
    ["string[]", [null, "b"], REFUSED, ["b"], REFUSED, ["b"]],
    ["int32[]", [1, "2", 3.7], REFUSED, [1], [1, 2, 3], [1, 2, 3]],
    ["float[]", [1, "2.5", "x"], REFUSED, [1], REFUSED, [1, 2.5]],
    ["bool[]", [true, "x"], REFUSED, [true], REFUSED, REFUSED],
    ["geopoint[]", [["1", "2"]], REFUSED, [], [[1, 2]], [[1, 2]]],
    ["geopoint[]", [1, 2], REFUSED, REFUSED, REFUSED, REFUSED],
    ["string[]", [], [], [], [], []]
  ])("%s from %j", (type, value, ...expected) => {
    expect(MODES.map((mode) => write(type, value, mode, true))).toEqual(expected)
  })
})
describe("a required field", () => {
  it.each(["drop", "coerce_or_drop"] as const)("is refused where an optional one is dropped (%s)", (mode) => {
    expect(write("int32", "abc", mode, false)).toBe(REFUSED)
    expect(write("string", ["x"], mode, false)).toBe(REFUSED)
  })
})
describe("properties", () => {
  it("never stores a value of another type, and coercing twice changes nothing", () => {
    const random = seeded(7)
    const types = ["string", "int32", "int64", "float", "bool", "string[]", "int32[]", "float[]", "bool[]"]
    const scalar = (): unknown => [1, -3, 2.5, "12", "x", "", "true", true, false, 0][Math.floor(random() * 10)]
    for (let i = 0; i < 2_000; i++) {
      const type = types[Math.floor(random() * types.length)]
      const value = random() < 0.4 ? Array.from({ length: Math.floor(random() * 3) }, scalar) : scalar()
      const once = write(type, value, MODES[Math.floor(random() * 4)], true)
      if (once === REFUSED || once === DROPPED) continue
      expect(write(type, once, "reject", true)).toEqual(once)
    }
  })
})
