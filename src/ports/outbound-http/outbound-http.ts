/**
 * Every call that the program makes to an address that a tenant chose. The port promises: the address that is connected
 * to is the one that was checked (no second look-up in between), redirects are never followed, certificates are
 * verified, time and bytes of the answer are bounded.
 */
import { Context, Data, type Effect } from "effect"
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

/**
 * There is no status. `refused_address` is ours and final; the others are the network's or the receiver's and may pass.
 * `message` is a sentence for the person who chose the address.
 */
export class OutboundFailure extends Data.TaggedError("OutboundFailure")<{
  readonly kind: "refused_address" | "timeout" | "name" | "connection" | "certificate"
  readonly message: string
}> {}

export class OutboundHttp extends Context.Service<
  OutboundHttp,
  {
    /** One request, one answer. Interrupting it closes the connection. */
    readonly send: (request: OutboundRequest) => Effect.Effect<OutboundResponse, OutboundFailure>
  }
>()("dowser/ports/OutboundHttp") {}

/** Requests of this process, by the class of their status (`2xx`) or the kind of failure. */
export const CurrentOutbound = Context.Reference<Timings>("dowser/ports/CurrentOutbound", {
  defaultValue: () => new Timings()
})
