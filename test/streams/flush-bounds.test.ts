/**
 * The facts of one flush are bounded however much they repeat each other: senders choose the times of events, and
 * rollups keep one row for all events of a product at one instant.
 */
import { expect, it } from "vitest"
import { NO_MONEY } from "../../streams/facts/money.ts"
import { Facts, KnownFacts } from "../../streams/facts/facts.ts"
import { boundSubjects, KnownSubjects } from "../../streams/facts/subjects.ts"
import { FACT_PROCESSORS, makeCounting } from "../../streams/processors/counting.ts"
import { LogKnowledge } from "../../streams/processors/rules/emitted.ts"
import { KnownUses, type RollupSums } from "../../streams/processors/rollups/emitted.ts"

it("50,000 views of one product at one instant are one row of rollups, and make a flush due", () => {
  const counting = makeCounting({ fingerprintKey: [1, 2, 3, 4] })
  const sums: Array<RollupSums> = []
  const facts = new Facts(new KnownFacts(), (of) => {
    const emitted = FACT_PROCESSORS.map((processor) => processor.newEmitted(stateOf(processor.name), of, undefined))
    sums.push(emitted[0] as RollupSums)
    return emitted
  })
  const product = facts.products.of("org", "c", "", "", "", "d")
  for (let i = 0; i < 50_000; i++) facts.product(product, "view", 1_000, 1, NO_MONEY)
  expect(sums[0]!.size).toBe(1)
  // A flush is due from 40,000 facts on.
  expect(counting.sizeOf(facts)).toBe(50_000)
})
const stateOf = (name: string): unknown =>
  name === "rollups" ? new KnownUses() : name === "rules" ? new LogKnowledge() : undefined
it("what is kept about subjects is bounded by the length of their texts, not by their number", () => {
  const known = new KnownSubjects((...parts) => parts)
  for (let i = 0; i < 2_000; i++) known.find("org", "c", "", "", "", `${i}${"x".repeat(4_000)}`)
  expect(known.bytes).toBeGreaterThan(16_000_000)
  boundSubjects([known], 14_000_000)
  expect(known.bytes).toBe(0)
})
