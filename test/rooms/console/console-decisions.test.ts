/** Pure decisions of the console and the audit log, tested without a program. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { changedFields, MASK, masked, shownValue, VALUE_BYTES_MAX } from "../../../src/audit/masked.ts"
import { isOwnPage, sessionTokenOf } from "../../../src/console/cookie.ts"
import { makePasswords } from "../../../src/console/password.ts"
import { maySetRoles, ROLES } from "../../../src/identity/roles.ts"

describe("masks", () => {
  it("hide secrets by name and by format, and nothing else", () => {
    const row = {
      id: "key_1",
      token_separators: ["-"],
      drop_tokens_threshold: 2,
      api_keys_max: 3,
      description: "the password policy",
      secret: null,
      password: undefined,
      lookup_hash: "ab",
      sealed_digest: "cd",
      secrets: [{ sealed: "x" }],
      model: { api_key: "k", name: "m" },
      headers: { Authorization: "Bearer abcdefghijkl" },
      url: "https://user:pass@host.example/path?q=1",
      text: "use whsec_abcdefghij and Bearer abcdefghijkl",
      plain: "https://host.example/a@b"
    }
    expect(masked(row)).toEqual({
      ...row,
      lookup_hash: MASK,
      sealed_digest: MASK,
      secrets: MASK,
      model: { api_key: MASK, name: "m" },
      headers: { Authorization: MASK },
      url: `https://${MASK}@host.example/path?q=1`,
      text: `use ${MASK} and ${MASK}`
    })
  })
  it("name what changed behind them, and omit what is too large", () => {
    expect(changedFields({ a: 1, secrets: ["x"], gone: 1 }, { a: 1, secrets: ["y"], come: 2 })).toEqual([
      "come",
      "gone",
      "secrets"
    ])
    expect(changedFields(undefined, { a: 1 })).toEqual([])
    expect(shownValue({ words: "x".repeat(VALUE_BYTES_MAX) })).toEqual({ omitted: expect.stringContaining("bytes") })
    expect(shownValue({ words: "x" })).toEqual({ words: "x" })
  })
})

describe("cookies", () => {
  it("are found among others, and pages are distinguished by origin", () => {
    expect(sessionTokenOf("a=b; dowser_session=tok ; c")).toBe("tok")
    expect(sessionTokenOf("xdowser_session=tok")).toBeUndefined()
    expect(sessionTokenOf(undefined)).toBeUndefined()
    expect(isOwnPage({ host: "h:1", origin: "http://h:1" })).toBe(true)
    for (const origin of ["http://h:2", "http://h:1.evil.example", "null", "", "file://", "http://user@evil"])
      expect(isOwnPage({ host: "h:1", origin }), origin).toBe(false)
    expect(isOwnPage({ host: "h:1" })).toBe(false)
  })
})

describe("roles", () => {
  it("let only owners and the operator make or demote an owner", () => {
    for (const actor of [...ROLES, "operator"] as const)
      for (const before of [undefined, ...ROLES])
        for (const after of [undefined, ...ROLES]) {
          const isAboutOwners = before === "owner" || after === "owner"
          expect(maySetRoles(actor, [before, after])).toBe(
            actor === "owner" || actor === "operator" || (actor === "admin" && !isAboutOwners)
          )
        }
  })
})

describe("passwords", () => {
  it("match only their own hash, in any form of typing, and none for unknown members", () =>
    Effect.runPromise(
      Effect.gen(function* () {
        const passwords = yield* makePasswords
        const hash = yield* passwords.hash("pâssword of some length", Buffer.from("salt"))
        expect(hash).toMatch(/^scrypt\$32768\$8\$3\$/)
        expect(yield* passwords.isRight("pa\u0302ssword of some length", hash)).toBe(true)
        expect(yield* passwords.isRight("password of some length", hash)).toBe(false)
        expect(yield* passwords.isRight("", undefined)).toBe(false)
      })
    ))
  it("are hashed two at a time; a request that would wait behind sixteen is refused at once", () =>
    Effect.runPromise(
      Effect.gen(function* () {
        const passwords = yield* makePasswords
        const results = yield* Effect.forEach(
          Array.from({ length: 24 }),
          () => Effect.result(passwords.isRight("x", undefined)),
          { concurrency: "unbounded" }
        )
        expect(results.filter(({ _tag }) => _tag === "Failure").length).toBe(6)
        // The places are free again.
        expect((yield* Effect.result(passwords.isRight("x", undefined)))._tag).toBe("Success")
      })
    ))
})
