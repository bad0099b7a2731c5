/** A key as it is stored: never its plaintext. One row, one shape, in memory and in Postgres. */
export type KeyScope = "full" | "search" | "connector_write"

export interface KeyRecord {
  /** `key_` + ULID. */ readonly id: string
  readonly organization_id: string
  readonly scope: KeyScope
  readonly description: string
  readonly actions: ReadonlyArray<string>
  /** Names and patterns that must match a whole name; `*` is every collection. */ readonly collections: ReadonlyArray<string>
  /** The first four characters of the key: shown in lists, and how a secured key finds its parent. */ readonly value_prefix: string
  /** SHA-256 of the key, hex. */ readonly lookup_hash: string
  /** SHA-256 of a key longer than the HMAC block, sealed: enough to check what was signed with the key (contract part 1). */ readonly sealed_digest: string | undefined
  readonly cidrs: ReadonlyArray<string>
  readonly origins: ReadonlyArray<string>
  /** Forced filter per collection name, ANDed into every search. */ readonly filter_by: Readonly<Record<string, string>>
  /** 0 = no limit. */ readonly rate_limit_per_minute: number
  /** Unix seconds. */ readonly expires_at: number
  readonly created_at: number
  /** Unix milliseconds. */ readonly revoked_at: number | undefined
}
