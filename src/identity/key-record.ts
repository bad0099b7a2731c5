/** A key as it is stored, never with its plaintext. The same form in memory and in Postgres. */
export type KeyScope = "full" | "search" | "connector_write" | "installation"

/** Requests per minute. */
export const RATE_LIMIT_DEFAULT = 600
/** The maximum of its database column; no caller could reach a higher limit. */
export const RATE_LIMIT_MAX = 2_147_483_647

export interface KeyRecord {
  /** `key_` + ULID. */ readonly id: string
  readonly organization_id: string
  readonly scope: KeyScope
  readonly description: string
  readonly actions: ReadonlyArray<string>
  /** Names, and patterns that must match an entire name; `*` means every collection. */
  readonly collections: ReadonlyArray<string>
  /** The first four characters of the key: shown in lists, and used to find the parent of a secured key. */
  readonly value_prefix: string
  /** SHA-256 of `dowser look-up` and the SHA-256 of the key, hex. */ readonly lookup_hash: string
  /**
   * The sealed SHA-256 of a generated search key longer than the HMAC block: enough to verify what was signed with
   * the key.
   */
  readonly sealed_digest: string | undefined
  readonly cidrs: ReadonlyArray<string>
  readonly origins: ReadonlyArray<string>
  /** Forced filter per collection name, ANDed into every search. */ readonly filter_by: Readonly<
    Record<string, string>
  >
  /** Fields that may be named and are shown, in every collection; empty means all. */
  readonly fields: ReadonlyArray<string>
  /** If false, no search with the key uses the visitor's earlier interactions. */ readonly personalization?: boolean
  /** 0 means no limit. */ readonly rate_limit_per_minute: number
  /** Unix seconds. */ readonly expires_at: number
  /** Removed from the list of keys within an hour after it expires. */ readonly autodelete: boolean
  /** The CMS installation that it belongs to; set only for the scope `installation`. */ readonly installation_id:
    | string
    | undefined
  /** Unix milliseconds. */ readonly created_at: number
  /** Unix milliseconds. */ readonly revoked_at: number | undefined
}
