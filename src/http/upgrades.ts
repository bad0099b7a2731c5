/** Connections whose request asks for a protocol upgrade, stored by request until its route takes them over. */
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
/** Undefined if the request asks for no upgrade. */
export const upgradeOf = (request: IncomingMessage): Upgrade | undefined => upgrades.get(request)
