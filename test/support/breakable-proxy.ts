/** A proxy to a server that can be cut or blocked: it reproduces what a disconnected process sees. */
import { connect, createServer, type Socket } from "node:net"

interface BreakableProxy {
  readonly port: number
  /** Connections break, and new ones are refused immediately. */ readonly cut: () => void
  /** Connections stay open and carry nothing. */ readonly block: () => void
  /** Requests arrive, but answers do not. */ readonly mute: () => void
  readonly heal: () => void
  readonly stop: () => Promise<void>
}

export const startBreakableProxy = async (host: string, port: number): Promise<BreakableProxy> => {
  let state: "open" | "cut" | "blocked" = "open"
  const pairs = new Set<readonly [Socket, Socket]>()
  const server = createServer((near) => {
    if (state === "cut") return void near.destroy()
    const far = connect(port, host)
    const pair = [near, far] as const
    pairs.add(pair)
    const end = () => {
      pairs.delete(pair)
      near.destroy()
      far.destroy()
    }
    for (const [from, to] of [
      [near, far],
      [far, near]
    ] as const) {
      from.on("data", (chunk) => {
        to.write(chunk)
      })
      from.on("error", end)
      from.on("close", end)
      if (state === "blocked") from.pause()
    }
  })
  await new Promise<void>((settle) => server.listen(0, "127.0.0.1", settle))
  const destroyAll = () => {
    for (const pair of [...pairs]) for (const socket of pair) socket.destroy()
  }
  return {
    port: (server.address() as { readonly port: number }).port,
    cut: () => {
      state = "cut"
      destroyAll()
    },
    block: () => {
      state = "blocked"
      for (const pair of pairs) for (const socket of pair) socket.pause()
    },
    mute: () => {
      for (const [, far] of pairs) far.pause()
    },
    heal: () => {
      state = "open"
      for (const pair of pairs) for (const socket of pair) socket.resume()
    },
    stop: () =>
      new Promise<void>((settle) => {
        server.close(() => settle())
        destroyAll()
      })
  }
}
