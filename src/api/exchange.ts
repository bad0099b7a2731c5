/** One request until its response: what is known about it so far. */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Readable } from "node:stream"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { bodyBytes } from "../http/body.ts"
import { clientAddress } from "../http/client-address.ts"
import type { InputInvalid, Throttled } from "../http/errors.ts"
import { originOf } from "../http/origin.ts"
import type { KeyRefusal } from "../http/refusals.ts"
import type { HeldMemory, RequestMemory } from "../http/request-memory.ts"
import { upgradeOf } from "../http/upgrades.ts"
import type { Caller } from "../identity/caller.ts"
import { searchOf } from "./presented-key.ts"
import type { IdentifiedKey } from "./responses.ts"

export class Exchange {
  readonly node: IncomingMessage
  readonly params: Record<string, string> = {}
  readonly search: Record<string, string>
  readonly searchText: string
  readonly requestId: string
  readonly origin: string | undefined
  readonly address: string
  /** The organization of the request; empty until known, or if there is none. */ holder = ""
  known: IdentifiedKey | undefined
  /** The body. Cached, because it can be read only once and a handler may need it twice. */ read: Buffer | undefined
  /** A body that is read as it arrives. */ streamed: Readable | undefined
  /** Set for an operation that takes a key. */ check: Effect.Effect<Caller, KeyRefusal> | undefined
  readonly held: () => HeldMemory

  constructor(
    request: HttpServerRequest.HttpServerRequest,
    memory: RequestMemory,
    trustedProxies: ReadonlyArray<string>
  ) {
    const node = (this.node = NodeHttpServerRequest.toIncomingMessage(request) as IncomingMessage)
    const { text, values } = searchOf(node.url ?? "/")
    this.search = values
    this.searchText = text
    this.requestId = String(node.headers["x-request-id"])
    this.origin = originOf(node.headers)
    this.address = clientAddress(node.socket.remoteAddress ?? "", node.headers["x-forwarded-for"], trustedProxies)
    let opened: HeldMemory | undefined
    const held = () => {
      if (opened !== undefined) return opened
      const upgrade = upgradeOf(node)
      if (upgrade !== undefined) {
        // The connection has been upgraded to another protocol, so an HTTP response must not be written to it.
        const { socket } = upgrade
        const account = (opened = memory.open(this.holder, () => socket.destroy()))
        if (socket.destroyed) account.close()
        else socket.once("close", () => account.close())
        return account
      }
      const response = NodeHttpServerRequest.toServerResponse(request) as ServerResponse
      const account = (opened = memory.open(this.holder, () => response.destroy()))
      // The end of the exchange, whatever the cause: everything was sent, or the client disconnected.
      if (response.destroyed || response.writableFinished) account.close()
      else response.once("close", () => account.close())
      return account
    }
    // Not inline: V8 allocates a function literal assigned to a property directly in old space (`ARCHITECTURE.md`).
    this.held = held
  }
}
export const bodyOf = (exchange: Exchange, bytes_max: number): Effect.Effect<Buffer, InputInvalid | Throttled> =>
  Effect.suspend(() =>
    exchange.read === undefined
      ? Effect.map(bodyBytes(exchange.node, bytes_max, exchange.held), (body) => (exchange.read = body))
      : Effect.succeed(exchange.read)
  )
