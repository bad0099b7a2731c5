/**
 * Every call that the program makes to an address that a tenant chose. The port promises: the address that is connected
 * to is the one that was checked (no second look-up in between), redirects are never followed, certificates are
 * verified, time and bytes of the answer are bounded.
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
  /** From the first look-up to the status line; an answer's body has the same end. */ readonly timeout_ms: number
  /** More of the answer's body is not read. */ readonly responseBytesMax: number
}
export interface OutboundResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** The body was longer than asked for, or did not end in time. */ readonly isTruncated: boolean
}

/** As a request, and the answer's body is read in pieces: any length in a megabyte of memory. */
export interface OutboundOpening extends OutboundRequest {
  /** From the first look-up to the status line. */ readonly timeout_ms: number
  /** From the first look-up to the last byte of the body. */ readonly total_ms: number
  /** Without a byte of the body, while somebody waits for one. */ readonly silence_ms: number
  /** More is a failure of the body (`too_large`). */ readonly responseBytesMax: number
}
export interface OutboundStream {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** As it was sent (`decode.ts` decodes it), once, with back pressure. Fails if it breaks off. */
  readonly body: Stream.Stream<Uint8Array, OutboundFailure>
}

/** A WebSocket, of an address that is checked as any. */
export interface OutboundSocketRequest {
  /** ws, wss, http or https. */ readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** From the first look-up to the upgrade. */ readonly timeout_ms: number
  /** Of one message; a larger one ends the connection. */ readonly messageBytesMax: number
  /** Called with each text message; it must not throw. */ readonly onText: (text: string) => void
  /** Called once, whoever closed it. */ readonly onClose: (code: number, reason: string) => void
}
export interface OutboundSocket {
  readonly send: (data: string | Uint8Array) => void
  /** Given to it and not on its way. */ readonly unsentBytes: () => number
}

/**
 * There is no status. `refused_address` is ours and final; the others are the network's or the receiver's and may be
 * transient. Only a body that is read in pieces can be `too_large` or `undecodable`, only a redirect that is followed
 * refused, and only a requested upgrade. `message` is a sentence for the person who chose the address.
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
    /** One request, one answer whose body is read in pieces. The connection closes with the scope. */
    readonly open: (request: OutboundOpening) => Effect.Effect<OutboundStream, OutboundFailure, Scope.Scope>
    /** `refused_upgrade` if the other side is not such a WebSocket. It closes with the scope. */
    readonly connect: (request: OutboundSocketRequest) => Effect.Effect<OutboundSocket, OutboundFailure, Scope.Scope>
  }
>()("dowser/ports/OutboundHttp") {}

/** Requests of this process, by the class of their status (`2xx`) or the kind of failure. */
export const CurrentOutbound = Context.Reference<Timings>("dowser/ports/CurrentOutbound", {
  defaultValue: () => new Timings()
})
