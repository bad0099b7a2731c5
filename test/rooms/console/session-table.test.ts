/** Members and sessions in memory, without a database: which sessions are open, and which are forgotten. */
import { describe, expect, it } from "vitest"
import type { MemberRecord, SessionRecord } from "../../../src/identity/console-caller.ts"
import { hashOfToken, SessionTable } from "../../../src/console/session-table.ts"

const member = (id: string, more: Partial<MemberRecord> = {}): MemberRecord => ({
  id,
  organization_id: "org_a",
  email: `${id}@example.com`,
  name: id,
  role: "member",
  password_hash: "",
  sessions_after: 0,
  created_at: 0,
  updated_at: 0,
  ...more
})
const session = (id: string, member_id: string, created_at: number): SessionRecord => ({
  id,
  organization_id: "org_a",
  member_id,
  token_hash: hashOfToken(id),
  created_at,
  expires_at: 100_000
})
const subject = (id: string) => ({ organizationId: "org_a", id })

describe("a table of sessions", () => {
  it("knows an open session by its token, until its time, its member or a new password ends it", () => {
    const table = new SessionTable()
    table.putMembers("all", [member("mem_1"), member("mem_2", { organization_id: "org_b" })])
    table.putSessions("all", [session("one", "mem_1", 10)], 10)
    expect(table.find("one", 99_999)?.member.id).toBe("mem_1")
    expect(table.find("one", 100_000)).toBe(undefined)
    expect(table.find("two", 10)).toBe(undefined)
    expect(table.find("one".repeat(100), 10)).toBe(undefined)
    table.putMembers([subject("mem_1")], [member("mem_1", { sessions_after: 10 })])
    expect(table.find("one", 20)).toBe(undefined)
    table.putMembers([subject("mem_1")], [])
    expect(table.find("one", 20)).toBe(undefined)
    expect(table.membersOf("org_b").map(({ id }) => id)).toEqual(["mem_2"])
  })
  it("keeps the twenty newest sessions of a member and all sessions of the others", () => {
    const table = new SessionTable()
    table.putMembers("all", [member("mem_1"), member("mem_2")])
    table.putSessions("all", [session("other", "mem_2", 1)], 1)
    for (let i = 1; i <= 21; i++) table.putSessions([subject(`ses_${i}`)], [session(`ses_${i}`, "mem_1", i)], 1)
    expect(table.find("ses_1", 1)).toBe(undefined)
    expect(table.find("ses_2", 1)?.session.id).toBe("ses_2")
    expect(table.find("ses_21", 1)?.session.id).toBe("ses_21")
    expect(table.find("other", 1)?.member.id).toBe("mem_2")
  })
  it("forgets a session whose row is gone, and none of its neighbours", () => {
    const table = new SessionTable()
    table.putMembers("all", [member("mem_1")])
    table.putSessions("all", [session("one", "mem_1", 1), session("two", "mem_1", 2)], 1)
    table.putSessions([subject("one")], [], 1)
    expect([table.find("one", 1), table.find("two", 1)?.session.id]).toEqual([undefined, "two"])
  })
  it("finds a member by address in one organization or in all", () => {
    const table = new SessionTable()
    table.putMembers("all", [
      member("mem_1", { email: "x@example.com" }),
      member("mem_2", { email: "x@example.com", organization_id: "org_b" })
    ])
    expect(table.membersBy("x@example.com", undefined).map(({ id }) => id)).toEqual(["mem_1", "mem_2"])
    expect(table.membersBy("x@example.com", "org_b").map(({ id }) => id)).toEqual(["mem_2"])
  })
})
