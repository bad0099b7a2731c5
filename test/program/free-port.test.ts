/** Ports for servers that are started: each one is handed out once, although nobody listens on it yet. */
import { createServer } from "node:net"
import { expect, it } from "vitest"
import { freePort } from "../../src/runtime/free-port.ts"

it("finds a different port for each of hundreds of callers, below those of outgoing connections", async () => {
  const ports: Array<number> = []
  while (ports.length < 400) ports.push(await freePort())
  expect(new Set(ports).size).toBe(400)
  expect(ports.every((port) => port >= 20_000 && port < 32_000)).toBe(true)
})
it("passes over a port on which somebody listens", async () => {
  const before = await freePort(),
    taken = before === 31_999 ? 20_000 : before + 1
  const server = createServer()
  // If it cannot be listened on, somebody else does already.
  await new Promise<void>((resolve) => {
    server.once("error", () => resolve())
    server.listen(taken, "127.0.0.1", resolve)
  })
  try {
    expect(await freePort()).not.toBe(taken)
  } finally {
    server.close()
  }
})
