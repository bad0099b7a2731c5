/** Connections whose request asks for another protocol, kept beside it until its route takes them over. */
import type { IncomingMessage } from "node:http"
import type { Duplex } from "node:stream"

interface Upgrade {
  readonly socket: Duplex
  /** Bytes after the head. */ readonly head: Buffer
}
const upgrades = new WeakMap<IncomingMessage, Upgrade>()
export const keepUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
  upgrades.set(request, { socket, head })
}
/** undefined of a request that asks for none. */
export const upgradeOf = (request: IncomingMessage): Upgrade | undefined => upgrades.get(request)
