/** What the edge knows about a request before its body: the input of `Access.check`. */
import type { Caller } from "./caller.ts"
import type { KeyRecord } from "./key-record.ts"
import type { Scope } from "../http/operation.ts"

export interface Presented {
  readonly key: string | undefined
  readonly scope: Scope
  readonly address: string
  readonly origin: string | undefined
  readonly collection: string | undefined
  /** The operation requires a key for all collections (`reach.ts`). */ readonly isOfAll?: boolean | "with a full key"
  readonly sessionId: string | undefined
  readonly isRateFree: boolean
  /** On the search gateway, the only API that accepts scoped tokens. */ readonly isGateway: boolean
  /** Called once the key is known, and again once the request was counted: even refusals get the key's headers. */
  readonly onKey?: (key: Pick<KeyRecord, "origins">, rate: Caller["rate"]) => void
}
