/** Bodies that the fuzz test starts from (`test/program/fuzz.test.ts`), referring to its fixtures. */
import type { Seeds } from "../room.ts"

export const seeds: Seeds = {
  createOrganizationKey: [
    { description: "k", scope: "search" },
    { scope: "full", rate_limit_per_minute: 5 }
  ]
}
