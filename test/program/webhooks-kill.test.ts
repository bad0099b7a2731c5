/**
 * The whole program, killed with SIGKILL while a receiver delays its answer: a delivery that was sent but not recorded
 * is sent again under the same id, and each is recorded once.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { launchPrepared, type Launched } from "../support/launched.ts"
import { eventually, startReceiver, verified } from "../support/receiver.ts"

it("a delivery between send and record survives kill -9", async () => {
  const folder = mkdtempSync(join(tmpdir(), "dowser-webhooks-"))
  const receiver = await startReceiver(() => {})
  const flags = ["--no-demo", "--allow-private-addresses"]
  let program: Launched | undefined
  try {
    program = await launchPrepared(join(folder, "data"), flags)
    const key = program.ready.full_key
    const send = async (method: string, path: string, body?: unknown) =>
      (await (
        await fetch(`http://127.0.0.1:${program?.port}/v1${path}`, {
          method,
          headers: { "x-svc-api-key": key },
          ...(body === undefined ? {} : { body: JSON.stringify(body) })
        })
      ).json()) as any
    const { id, secret } = await send("POST", "/webhooks", {
      name: "Kill",
      url: receiver.url,
      events: ["api_key.created"]
    })
    for (let i = 0; i < 20; i++) await send("POST", "/keys", { description: `k${i}`, scope: "search" })
    // Some are sent and unanswered, the others wait.
    await receiver.until(3)
    process.kill(program.pid(), "SIGKILL")
    await program.exited
    const cut = new Set(receiver.received.map(({ json }) => json.id as string))
    receiver.answer = 200
    program = await launchPrepared(join(folder, "data"), flags)
    const deliveries = await eventually("all delivered", async () => {
      const { deliveries } = await send("GET", `/webhooks/${id}`)
      return deliveries.length === 20 && deliveries.every(({ status }: { status: string }) => status === "success")
        ? (deliveries as Array<{ id: string; attempts: number; body: string }>)
        : undefined
    })
    expect(new Set(deliveries.map(({ body }) => JSON.parse(body).data.description)).size).toBe(20)
    // An interrupted attempt is not counted, so each delivery has one recorded attempt.
    expect(deliveries.every(({ attempts }) => attempts === 1)).toBe(true)
    const times = new Map<string, number>()
    for (const received of receiver.received) {
      expect(verified(received, secret)).toBeDefined()
      times.set(received.json.id, (times.get(received.json.id) ?? 0) + 1)
    }
    expect([...times.keys()].sort()).toEqual(deliveries.map((delivery) => delivery.id).sort())
    for (const [deliveryId, count] of times) expect(count).toBe(cut.has(deliveryId) ? 2 : 1)
  } finally {
    program?.signal("SIGTERM")
    if (program !== undefined) expect(await program.exited).toBe(0)
    await receiver.stop()
    rmSync(folder, { recursive: true, force: true })
  }
})
