/** The caller: what a request may do once its key was accepted. Created by `Access`, passed to every use case. */
import type { ProfilePin } from "./known-profiles.ts"
import type { KeyRecord, KeyScope } from "./key-record.ts"

export interface Caller {
  readonly organizationId: string
  readonly key: KeyRecord
  /** The scope of the key itself, never derived from another. */ readonly scope: KeyScope
  /** Parameters in a secured key: they override the request's; `filter_by` is ANDed. */ readonly embedded:
    | Readonly<Record<string, unknown>>
    | undefined
  /** The only collection that a scoped token may access. */ readonly index?: string
  /** The search profile that a browser key is bound to. */ readonly profile?: ProfilePin
  readonly sessionId: string | undefined
  /** State of the key's rate bucket, updated as this request takes tokens; undefined without a limit. */
  readonly rate: { readonly limit: number; remaining: number; readonly resets_at: number } | undefined
}
