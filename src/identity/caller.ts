/** The caller: what a request may do once its key was accepted. Created by `Access`, carried by every use case. */
import type { ProfilePin } from "./known-profiles.ts"
import type { KeyRecord, KeyScope } from "./key-record.ts"

export interface Caller {
  readonly organizationId: string
  readonly key: KeyRecord
  /** The key's own, never folded into another. */ readonly scope: KeyScope
  /** Parameters inside a secured key: they overwrite the request's, `filter_by` is ANDed. */ readonly embedded:
    | Readonly<Record<string, unknown>>
    | undefined
  /** The one collection that a scoped token reaches. */ readonly index?: string
  /** The search profile that a browser key is bound to. */ readonly profile?: ProfilePin
  readonly sessionId: string | undefined
  /** State of the key's rate bucket, of this request's tokens as they are taken; undefined where no limit holds. */
  readonly rate: { readonly limit: number; remaining: number; readonly resets_at: number } | undefined
}
