/**
 * Every call that the program makes to an address that a tenant chose. The port promises that it connects to the
 * address that was checked (no second look-up in between), never follows redirects, verifies certificates, and bounds
 * the time and the bytes of the answer.
 */
import { Context, Data, type Effect, type Scope, type Stream } from "effect"
import { Timings } from "@dowser/log/process/timings"

export interface OutboundRequest {
  readonly method: "GET" | "POST"
  /** http or https. */ readonly url: string
  /** Names in lower case. `host` and `content-length` are set by the port. */ readonly headers: Readonly<
    Record<string, string>
  >
  readonly body?: string | Uint8Array
  /** From the first look-up to the status line; an answer's body has the same deadline. */ readonly timeout_ms: number
  /** Further bytes of the answer's body are not read. */ readonly responseBytesMax: number
}
export interface OutboundResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** The body was longer than the limit, or did not end in time. */ readonly isTruncated: boolean
}

/** A request whose answer's body is read in chunks: any length in a megabyte of memory. */
export interface OutboundOpening extends OutboundRequest {
  /** From the first look-up to the status line. */ readonly timeout_ms: number
  /** From the first look-up to the last byte of the body. */ readonly total_ms: number
  /** Maximum time without a byte of the body, while somebody waits for one. */ readonly silence_ms: number
  /** A longer body fails (`too_large`). */ readonly responseBytesMax: number
}
export interface OutboundStream {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** The body as it was sent (`decode.ts` decodes it), readable once, with back pressure. Fails if it ends early. */
  readonly body: Stream.Stream<Uint8Array, OutboundFailure>
}

/** A WebSocket to an address that is checked like any other. */
export interface OutboundSocketRequest {
  /** ws, wss, http or https. */ readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** From the first look-up to the upgrade. */ readonly timeout_ms: number
  /** Maximum size of one message; a larger one ends the connection. */ readonly messageBytesMax: number
  /** Called with each text message; it must not throw. */ readonly onText: (text: string) => void
  /** Called once, whoever closed the connection. */ readonly onClose: (code: number, reason: string) => void
}
export interface OutboundSocket {
  readonly send: (data: string | Uint8Array) => void
  /** Bytes that are queued but not sent yet. */ readonly unsentBytes: () => number
}

/**
 * No status was received. `refused_address` comes from us and is final; the others come from the network or the
 * receiver and may be transient. Only a body that is read in chunks can be `too_large` or `undecodable`; only followed
 * redirects and requested upgrades can be refused. `message` is a sentence for the person who chose the address.
 */
export class OutboundFailure extends Data.TaggedError("OutboundFailure")<{
  readonly kind:
    | "refused_address"
    | "refused_redirect"
    | "refused_upgrade"
    | "timeout"
    | "name"
    | "connection"
    | "certificate"
    | "too_large"
    | "undecodable"
  readonly message: string
}> {}

export class OutboundHttp extends Context.Service<
  OutboundHttp,
  {
    /** One request, one answer. Interrupting it closes the connection. */
    readonly send: (request: OutboundRequest) => Effect.Effect<OutboundResponse, OutboundFailure>
    /** One request, one answer whose body is read in chunks. The connection closes with the scope. */
    readonly open: (request: OutboundOpening) => Effect.Effect<OutboundStream, OutboundFailure, Scope.Scope>
    /** Fails with `refused_upgrade` if the other side does not accept the WebSocket. It closes with the scope. */
    readonly connect: (request: OutboundSocketRequest) => Effect.Effect<OutboundSocket, OutboundFailure, Scope.Scope>
  }
>()("dowser/ports/OutboundHttp") {}

/** Requests of this process, by the class of their status (`2xx`) or the kind of failure. */
export const CurrentOutbound = Context.Reference<Timings>("dowser/ports/CurrentOutbound", {
  defaultValue: () => new Timings()
})
