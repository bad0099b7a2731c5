/**
 * A TCP proxy between a Kafka client and its broker that can lose the broker's answers to produce requests: the broker
 * has stored records, and the client does not learn of it. It parses frames only as far as it must:
 * `[size i32][api key i16][version i16] [correlation i32]…` one way, `[size i32][correlation i32]…` the other.
 */
import { connect, createServer, type Socket } from "node:net"
import type { ISocketFactory } from "kafkajs"

const PRODUCE = 0

interface Wire {
  readonly port: number
  /** Routes every connection of a client through the proxy, whatever port the broker advertises. */
  readonly socketFactory: ISocketFactory
  /**
   * `silent`: the answer is dropped and the connection stays. `cut`: the connection is closed, too. Called once for
   * every produce answer.
   */
  lose: (answer: number) => "no" | "silent" | "cut"
  /** Produce answers that were passed on or lost. */
  readonly answers: () => { readonly seen: number; readonly lost: number }
  readonly cutAll: () => void
  readonly close: () => Promise<void>
}

/** Calls `each` with every whole frame of a stream. */
const framed = (each: (frame: Buffer) => void) => {
  let rest: Buffer = Buffer.alloc(0)
  return (chunk: Buffer) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    while (rest.length >= 4 && rest.length >= 4 + rest.readInt32BE(0)) {
      const size = 4 + rest.readInt32BE(0)
      each(rest.subarray(0, size))
      rest = rest.subarray(size)
    }
  }
}

export const openWire = async (brokerPort: number): Promise<Wire> => {
  const open = new Set<Socket>()
  let seen = 0
  let lost = 0
  const server = createServer((client) => {
    const broker = connect(brokerPort, "127.0.0.1")
    const produces = new Set<number>()
    const end = () => {
      client.destroy()
      broker.destroy()
    }
    for (const socket of [client, broker]) {
      open.add(socket)
      socket.setNoDelay(true)
      socket.on("error", end)
      socket.on("close", () => {
        open.delete(socket)
        end()
      })
    }
    client.on(
      "data",
      framed((frame) => {
        if (frame.readInt16BE(4) === PRODUCE) produces.add(frame.readInt32BE(8))
        broker.write(frame)
      })
    )
    broker.on(
      "data",
      framed((frame) => {
        if (!produces.delete(frame.readInt32BE(4))) return void client.write(frame)
        const fate = wire.lose(seen++)
        if (fate === "no") return void client.write(frame)
        lost++
        if (fate === "cut") end()
      })
    )
  })
  await new Promise<void>((settle) => server.listen(0, "127.0.0.1", settle))
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const wire: Wire = {
    port,
    socketFactory: ({ onConnect }) => connect(port, "127.0.0.1", onConnect),
    lose: () => "no",
    answers: () => ({ seen, lost }),
    cutAll: () => open.forEach((socket) => socket.destroy()),
    close: () => {
      open.forEach((socket) => socket.destroy())
      return new Promise((settle) => server.close(() => settle()))
    }
  }
  return wire
}
