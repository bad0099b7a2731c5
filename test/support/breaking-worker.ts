/**
 * The stream worker, which breaks a short while after each of its first starts: by a throw, an exit, a rejected
 * promise.
 */
import { existsSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { workerData } from "node:worker_threads"
import type { WorkerSettings } from "../../streams/host/messages.ts"
import "../../streams/host/worker.ts"

const { statePath } = workerData as WorkerSettings
const life = ["thrown", "exited", "rejected"].find((name) => !existsSync(join(statePath, "..", name)))
if (life !== undefined) {
  writeFileSync(join(statePath, "..", life), "")
  setTimeout(() => {
    if (life === "thrown") throw new Error("broken on purpose")
    if (life === "exited") process.exit(3)
    void Promise.reject(new Error("rejected on purpose"))
  }, 400)
}
