/** The body of a delivery, built once and stored as text: every attempt sends, and signs, the same bytes. */
interface Occurrence {
  /** `dlv_` + ULID. */ readonly id: string
  readonly event: string
  /** Unix milliseconds; ISO 8601 on the wire. */ readonly created_at: number
  readonly organization_id: string
  readonly data: Readonly<Record<string, unknown>>
}

export const envelopeOf = ({ created_at, data, event, id, organization_id }: Occurrence): string =>
  JSON.stringify({ id, event, created_at: new Date(created_at).toISOString(), organization_id, data })
