/**
 * How the API finds out who sent a request. The rooms of keys and members provide the authenticators, so that request
 * handling does not depend on those rooms.
 */
import { Context, type Effect } from "effect"
import type { ConsoleRefusal, KeyRefusal } from "../http/refusals.ts"
import type { Caller } from "./caller.ts"
import type { ConsoleCaller, ConsoleRequest } from "./console-caller.ts"
import type { Presented } from "./presented.ts"

export class KeyAuthenticator extends Context.Service<
  KeyAuthenticator,
  {
    /** The ordered check (`docs/contract/errors.md#order-of-refusals`). From memory, in microseconds. */
    readonly check: (presented: Presented) => Effect.Effect<Caller, KeyRefusal>
  }
>()("dowser/identity/KeyAuthenticator") {}

export class ConsoleAuthenticator extends Context.Service<
  ConsoleAuthenticator,
  {
    /** Recognizes the operator by the token, or a member by the session and its role. From memory. */
    readonly check: (request: ConsoleRequest) => Effect.Effect<ConsoleCaller, ConsoleRefusal>
  }
>()("dowser/identity/ConsoleAuthenticator") {}
