/** Partitions by content, the partition inside a query id, and fair turns of mailboxes. */
import { describe, expect, it } from "vitest"
import { markPartition, partitionOfQueryId, QUERY_ID_PARTITIONS_MAX } from "../../log/query-id.ts"
import { ulid } from "../../log/identifiers.ts"
import { partitionOfEvent, partitionOfVisitor } from "../../log/routing.ts"

const minted = (partition: number) =>
  markPartition(`qry_${ulid(1_777_777_777_777, new Uint8Array(11).fill(partition))}`, partition)

describe("a query id", () => {
  it("carries its partition and stays a ULID", () => {
    for (let partition = 0; partition < QUERY_ID_PARTITIONS_MAX; partition++) {
      const id = minted(partition)
      expect(id).toMatch(/^qry_[0-9A-HJKMNP-TV-Z]{26}$/)
      expect(partitionOfQueryId(id)).toBe(partition)
    }
  })
  it("that is foreign carries none", () => {
    for (const id of ["", "qry_", "q1", "qry_short", `qry_${"u".repeat(26)}`, `${minted(3)}x`])
      expect(partitionOfQueryId(id)).toBeUndefined()
  })
})

describe("an event", () => {
  const at = (event: Parameters<typeof partitionOfEvent>[1], partitions = 16, organization = "o") =>
    partitionOfEvent(organization, event, partitions)
  it("is routed by our query id, else the visitor, else a foreign query id, else its own id", () => {
    expect(at({ query_id: minted(5), session_id: "s" })).toBe(5)
    expect(at({ session_id: "s", user_id: "u" })).toBe(partitionOfVisitor("o", "s", 16))
    expect(at({ query_id: "foreign", user_id: "u" })).toBe(partitionOfVisitor("o", "u", 16))
    expect(at({ query_id: "foreign" })).toBe(at({ query_id: "foreign", event_id: "x", document_id: "y" }))
    expect(at({ event_id: "x" })).toBe(at({ event_id: "x", document_id: "y" }))
    // The id was created when there were more partitions than now.
    expect(at({ query_id: minted(900), session_id: "s" })).toBe(partitionOfVisitor("o", "s", 16))
  })
  it("of many visitors spreads over all partitions, each organization in its own way", () => {
    const seen = new Set<number>()
    let same = 0
    for (let i = 0; i < 400; i++) {
      seen.add(at({ session_id: `s${i}` }))
      if (at({ session_id: `s${i}` }) === at({ session_id: `s${i}` }, 16, "other")) same++
    }
    expect(seen.size).toBe(16)
    expect(same).toBeLessThan(100)
  })
})
