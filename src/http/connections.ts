/**
 * Limits on open connections per network and in total. A connection costs a descriptor and some 20 kB, even when
 * idle; without a limit, whoever opens the most would lock out everybody else. Connections beyond the limit are
 * answered 503 and closed.
 *
 * The network is the address of the connection: an IPv4 address, or the /64 of an IPv6 address, which is what one
 * subscriber has. Trusted proxies forward many people's requests, so only the total limit applies to them.
 */
import type { Server } from "node:http"
import type { Socket } from "node:net"
import type { ConnectionCounts } from "./request-figures.ts"
import { isInCidrs, networkOf } from "../net/network-address.ts"

export const CONNECTIONS_MAX = 10_000
export const CONNECTIONS_PER_ADDRESS_MAX = 1_000

export interface ConnectionBounds {
  readonly connectionsMax?: number
  readonly connectionsPerAddressMax?: number
  readonly trustedProxies?: ReadonlyArray<string>
  /** Updated with the number of connections. */ readonly counts?: ConnectionCounts
}

const body = JSON.stringify({ message: "Too many connections are open; close some, or try again later." })
const refusal = `HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nretry-after: 5\r\naccess-control-allow-origin: *\r\nconnection: close\r\n\r\n${body}`

export const boundConnections = (
  server: Server,
  {
    connectionsMax = CONNECTIONS_MAX,
    connectionsPerAddressMax = CONNECTIONS_PER_ADDRESS_MAX,
    counts = { open: 0, refused: 0 },
    trustedProxies = []
  }: ConnectionBounds
): void => {
  /** Open connections by network, at most `connectionsMax` entries, because networks without any are removed. */
  const open = new Map<string, number>()
  server.prependListener("connection", (socket: Socket) => {
    const address = socket.remoteAddress ?? ""
    const network = trustedProxies.length > 0 && isInCidrs(address, trustedProxies) ? undefined : networkOf(address)
    const own = network === undefined ? 0 : (open.get(network) ?? 0)
    if (counts.open >= connectionsMax || own >= connectionsPerAddressMax) {
      counts.refused++
      socket.end(refusal)
      socket.destroySoon()
      return
    }
    counts.open++
    if (network !== undefined) open.set(network, own + 1)
    socket.once("close", () => {
      counts.open--
      if (network === undefined) return
      const left = open.get(network)! - 1
      if (left === 0) open.delete(network)
      else open.set(network, left)
    })
  })
}
