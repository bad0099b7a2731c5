/** Bodies that the fuzz starts from (`test/program/fuzz.test.ts`), over the things that it furnishes. */
import type { Seeds } from "../room.ts"

export const seeds: Seeds = {
  createWebhook: [{ name: "hook", url: "https://hooks.example/x", events: ["*"] }],
  updateWebhook: [{ name: "hook", url: "https://hooks.example/y", events: ["alert.fired"], enabled: false }],
  recoverWebhook: [{ since: 1_790_000_000_000 }]
}
