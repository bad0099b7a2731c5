/** A loopback port that nobody listens on now: asked for by listening on port 0 and letting go. */
import { createServer } from "node:net"

export const freePort = (): Promise<number> =>
  new Promise((settle, reject) => {
    const server = createServer()
    server.once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => settle(typeof address === "object" && address !== null ? address.port : 0))
    })
  })
