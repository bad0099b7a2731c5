/** Bodies that the fuzz starts from (`test/program/fuzz.test.ts`), over the things that it furnishes. */
import type { Seeds } from "../room.ts"

export const seeds: Seeds = {
  createOrganizationKey: [
    { description: "k", scope: "search" },
    { scope: "full", rate_limit_per_minute: 5 }
  ]
}
