/** Bounds on the connections of one network and of all, on separate servers; the networks are loopback addresses. */
import type { Server } from "node:http"
import { type AddressInfo, connect, type Socket } from "node:net"
import { afterEach, describe, expect, it } from "vitest"
import { networkOf } from "../../src/net/network-address.ts"
import { CONNECTIONS_MAX, CONNECTIONS_PER_ADDRESS_MAX, type ConnectionBounds } from "../../src/http/connections.ts"
import { makeServer } from "../../src/http/edges.ts"

const servers: Array<Server> = [],
  sockets: Array<Socket> = []
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})
const serve = async (bounds: ConnectionBounds) => {
  const server = makeServer(bounds)().on("request", (_, response) => {
    response.end("{}")
  })
  servers.push(server)
  await new Promise<void>((settle) => server.listen(0, "0.0.0.0", settle))
  const { port } = server.address() as AddressInfo
  /** Sends one request and stays connected; answers the status and a function that closes. */
  return (localAddress: string) =>
    new Promise<{ readonly status: string; readonly close: () => Promise<void> }>((settle, reject) => {
      const socket = connect({ port, host: localAddress, localAddress })
      sockets.push(socket)
      let text = ""
      const closed = new Promise<void>((ended) => socket.once("close", () => ended()))
      const close = async () => {
        socket.destroy()
        await closed
        // The server notices the end in a later turn.
        await new Promise((wait) => setTimeout(wait, 50))
      }
      socket.on("error", reject)
      socket.on("data", (chunk: Buffer) => {
        text += chunk.toString()
        if (text.includes("\r\n\r\n")) settle({ status: text.slice(9, 12), close })
      })
      socket.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
    })
}

describe("connections", () => {
  it("are 1,000 of one address and 10,000 of all, by default", () => {
    expect([CONNECTIONS_PER_ADDRESS_MAX, CONNECTIONS_MAX]).toEqual([1_000, 10_000])
  })
  it("of one address have a bound that leaves other addresses theirs", async () => {
    const open = await serve({ connectionsPerAddressMax: 3 })
    const one = [await open("127.0.0.2"), await open("127.0.0.2"), await open("127.0.0.2")]
    expect(one.map(({ status }) => status)).toEqual(["200", "200", "200"])
    expect([(await open("127.0.0.2")).status, (await open("127.0.0.3")).status]).toEqual(["503", "200"])
    await one[0]!.close()
    expect([(await open("127.0.0.2")).status, (await open("127.0.0.2")).status]).toEqual(["200", "503"])
  })
  it("of all have a bound", async () => {
    const open = await serve({ connectionsMax: 4 })
    const first = await open("127.0.0.2")
    for (const address of ["127.0.0.3", "127.0.0.4", "127.0.0.5"]) expect((await open(address)).status).toBe("200")
    expect((await open("127.0.0.6")).status).toBe("503")
    await first.close()
    expect((await open("127.0.0.6")).status).toBe("200")
  })
  it("of a trusted proxy are not counted as one address", async () => {
    const open = await serve({ connectionsPerAddressMax: 1, connectionsMax: 4, trustedProxies: ["127.0.0.2/32"] })
    for (let i = 0; i < 3; i++) expect((await open("127.0.0.2")).status).toBe("200")
    expect([(await open("127.0.0.3")).status, (await open("127.0.0.2")).status]).toEqual(["200", "503"])
  })
})

describe("a network", () => {
  it("is an IPv4 address however it is written, and the /64 of an IPv6 address", () => {
    expect(networkOf("::ffff:192.0.2.7")).toBe(networkOf("192.0.2.7"))
    expect(networkOf("192.0.2.8")).not.toBe(networkOf("192.0.2.7"))
    expect(networkOf("2001:db8:1:2::1")).toBe(networkOf("2001:db8:1:2:ffff:ffff:ffff:ffff"))
    expect(networkOf("2001:db8:1:3::1")).not.toBe(networkOf("2001:db8:1:2::1"))
  })
})
