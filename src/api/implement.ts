/** What a handler gets and answers, and how it is paired with its operation. */
import type { IncomingMessage } from "node:http"
import type { Readable } from "node:stream"
import type { Effect } from "effect"
import type { DeclaredError } from "../http/declared.ts"
import type { BodyNotJson, InputInvalid, SessionRequired, Throttled } from "../http/errors.ts"
import type { Operation } from "../http/operation.ts"
import type { KeyRefusal } from "../http/refusals.ts"
import type { Reply } from "../http/reply.ts"
import type { HeldMemory } from "../http/request-memory.ts"
import type { Caller } from "../identity/caller.ts"
import type { ConsoleCaller } from "../identity/console-caller.ts"
import type { Role } from "../identity/roles.ts"

export interface Input<Q, B, P = unknown> {
  readonly caller: Caller
  /**
   * Decides once more: whether the key still holds and reaches, for another token of its rate. For requests that go on
   * for long; none without a caller.
   */
  readonly again: Effect.Effect<Caller, KeyRefusal>
  /** Of operations of scope `console`, which have no `caller`. */ readonly consoleCaller: ConsoleCaller
  /** By the names in the path, decoded by the operation's schemas. */ readonly params: P
  /** Raw query parameters; the last of a repeated name wins. */ readonly search: Readonly<Record<string, string>>
  /** Everything behind the `?`, as sent. */ readonly searchText: string
  readonly headers: IncomingMessage["headers"]
  readonly address: string
  /** This connection is TLS; a proxy in front may be without it. */ readonly isEncrypted: boolean
  /** Decoded by the operation's schema when yielded. */ readonly query: Effect.Effect<
    Q,
    InputInvalid | SessionRequired
  >
  readonly payload: Effect.Effect<B, InputInvalid | SessionRequired | Throttled | BodyNotJson>
  /** Decoded from its transfer, nothing more; at most the operation's bound. */ readonly bytes: Effect.Effect<
    Buffer,
    InputInvalid | SessionRequired | Throttled
  >
  /** Unbounded: the handler must hold only a bounded part. */ readonly stream: Effect.Effect<
    Readable,
    InputInvalid | SessionRequired
  >
  /** What this request holds in memory, of what all may; for who reads `stream` or answers with one. */
  readonly held: () => HeldMemory
}
export type Handler<Q, B, S, P = unknown, E = DeclaredError> = (input: Input<Q, B, P>) => Effect.Effect<S | Reply, E>

export interface Implemented {
  readonly operation: Operation
  /** The least that reaches it, of an operation of scope `console`. */ readonly role?: Role
  readonly handler: Handler<unknown, unknown, unknown>
}
/**
 * Pairs an operation with its handler; the types of query, body and answer come from the operation. A handler that may
 * fail with what the operation neither declares nor answers by its scope does not compile.
 */
export const implement = <Q, B, S, P, E extends DeclaredError>(
  operation: Operation<Q, B, S, P, E>,
  handler: Handler<Q, B, S, NoInfer<P>, NoInfer<E>>
): Implemented => ({
  operation: operation as Operation<unknown, unknown, unknown>,
  handler: handler as Handler<unknown, unknown, unknown>
})
