/** The outcome of one entry of a record: one of exactly four. A record is never lost silently. */
export type Outcome =
  | { readonly kind: "ok" }
  /** Known and meant to have no effect, for example a second copy of an event. */
  | { readonly kind: "drop"; readonly reason: string }
  /** Cannot be processed: stored in the topic's `.dlq` with the reason, for a person to inspect. */
  | { readonly kind: "dead_letter"; readonly reason: string }
  /** Belongs to another topic, where it is appended. */
  | { readonly kind: "redirect"; readonly topic: string; readonly partition: number; readonly value: Uint8Array }

export const OK: Outcome = { kind: "ok" }
export const drop = (reason: string): Outcome => ({ kind: "drop", reason })
export const deadLetter = (reason: string): Outcome => ({ kind: "dead_letter", reason })
