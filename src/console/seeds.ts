/** Bodies that the fuzz test (`test/program/fuzz.test.ts`) starts from; they refer to resources that it creates. */
import type { Seeds } from "../room.ts"

export const seeds: Seeds = {
  createMember: [{ email: "a@b.example", name: "A", role: "member", password: "a long enough password" }],
  updateMember: [{ role: "admin" }, { name: "B" }]
}
