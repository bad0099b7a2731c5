/** An organization as it is stored: one row, one shape, in memory and in Postgres. */
export interface OrganizationRecord {
  readonly id: string
  readonly name: string
  readonly status: "active" | "paused"
  readonly paused_reason: "payment" | "manual" | undefined
  readonly plan: string
  /** Unix milliseconds. */ readonly created_at: number
}
