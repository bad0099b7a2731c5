/** Bodies that the fuzz starts from (`test/program/fuzz.test.ts`), over the things that it furnishes. */
import type { Seeds } from "../room.ts"

export const seeds: Seeds = {
  createMember: [{ email: "a@b.example", name: "A", role: "member", password: "a long enough password" }],
  updateMember: [{ role: "admin" }, { name: "B" }]
}
