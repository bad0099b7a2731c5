/** What a handler receives and returns, and how it is paired with its operation. */
import type { IncomingMessage } from "node:http"
import type { Readable } from "node:stream"
import type { Effect, Scope as Lifetime } from "effect"
import type { DeclaredError } from "../http/declared.ts"
import type { BodyNotJson, InputInvalid, SessionRequired, Throttled, UpgradeRequired } from "../http/errors.ts"
import type { FrameSocket } from "../http/frame-socket.ts"
import type { Operation, Scope } from "../http/operation.ts"
import type { KeyRefusal } from "../http/refusals.ts"
import type { Reply } from "../http/reply.ts"
import type { HeldMemory } from "../http/request-memory.ts"
import type { Caller } from "../identity/caller.ts"
import type { ConsoleCaller } from "../identity/console-caller.ts"
import type { Role } from "../identity/roles.ts"

interface OfKey {
  readonly caller: Caller
  /** Checks again whether the key is valid and sufficient, and takes another token of its rate. For long requests. */
  readonly again: Effect.Effect<Caller, KeyRefusal>
}
interface OfConsole {
  readonly consoleCaller: ConsoleCaller
}
/** The caller, by the scope of the operation; absent for the operator and for public operations. */
type AskerOf<Sc extends Scope> = Sc extends "public" | "operator" ? unknown : Sc extends "console" ? OfConsole : OfKey

/** The parts of a request that do not depend on the caller. */
interface Request<Q, B, P> {
  /** By the names in the path, decoded with the operation's schemas. */ readonly params: P
  /** Raw query parameters; the last of a repeated name wins. */ readonly search: Readonly<Record<string, string>>
  /** Everything after the `?`, as sent. */ readonly searchText: string
  readonly headers: IncomingMessage["headers"]
  readonly address: string
  /** Whether this connection is TLS; one from a proxy may lack it. */ readonly isEncrypted: boolean
  /** Decoded by the operation's schema when yielded. */ readonly query: Effect.Effect<
    Q,
    InputInvalid | SessionRequired
  >
  readonly payload: Effect.Effect<B, InputInvalid | SessionRequired | Throttled | BodyNotJson>
  /** Decoded only from its content coding; at most the operation's limit. */ readonly bytes: Effect.Effect<
    Buffer,
    InputInvalid | SessionRequired | Throttled
  >
  /** Without a size limit: the handler must hold only a bounded part. */ readonly stream: Effect.Effect<
    Readable,
    InputInvalid | SessionRequired
  >
  /** For a WebSocket operation: responds with 101, after which no other response is sent. */
  readonly upgrade: Effect.Effect<FrameSocket, UpgradeRequired | SessionRequired, Lifetime.Scope>
  /** The shared memory that this request holds; for handlers that read `stream` or stream their response. */
  readonly held: () => HeldMemory
}
/** The input of a handler; for an operation that takes a key unless stated otherwise. */
export type Input<Q, B, P = unknown, Sc extends Scope = "full"> = Request<Q, B, P> & AskerOf<Sc>
export type Handler<Q, B, S, P = unknown, E = DeclaredError, Sc extends Scope = "full"> = (
  input: Input<Q, B, P, Sc>
) => Effect.Effect<S | Reply, E>

/** For any operation: the caller has the type that its scope implies. */
export type AnyInput = Request<unknown, unknown, unknown> & Partial<OfKey & OfConsole>
export interface Implemented {
  readonly operation: Operation
  /** The lowest role that may use it, for an operation of scope `console`. */ readonly role?: Role
  readonly handler: (input: AnyInput) => Effect.Effect<unknown, DeclaredError>
}
/**
 * Pairs an operation with its handler; the types of query, body and result come from the operation. A handler that
 * may fail with an error that is neither declared nor implied by the scope does not compile.
 */
export const implement = <Q, B, S, P, E extends DeclaredError, Sc extends Scope>(
  operation: Operation<Q, B, S, P, E, Sc>,
  handler: Handler<Q, B, S, NoInfer<P>, NoInfer<E>, NoInfer<Sc>>
): Implemented => ({
  operation: operation as Operation<unknown, unknown, unknown>,
  // The route passes what the operation's scope and schemas describe.
  handler: handler as unknown as Implemented["handler"]
})
