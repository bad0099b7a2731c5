/** Bodies that the fuzz test starts from (`test/program/fuzz.test.ts`), referring to its fixtures. */
import type { Seeds } from "../room.ts"

export const seeds: Seeds = {
  createWebhook: [{ name: "hook", url: "https://hooks.example/x", events: ["*"] }],
  updateWebhook: [{ name: "hook", url: "https://hooks.example/y", events: ["alert.fired"], enabled: false }],
  recoverWebhook: [{ since: 1_790_000_000_000 }]
}
