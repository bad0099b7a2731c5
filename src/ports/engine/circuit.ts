/**
 * A circuit breaker as a pure state machine:
 *
 *   closed ──(`failuresMax` failures in a row within `window_ms`)──> open ──(after `wait_ms`)──> half open
 *   half open lets one call through: its success closes, its failure opens again
 *
 * A call gets a ticket when it is let through. Its outcome counts only in the state that issued the ticket, so calls
 * that have been hanging since before the circuit opened neither close nor prolong it. O(1) in time and memory.
 */
export interface CircuitOptions {
  /** Number of consecutive failures that opens the circuit. */ readonly failuresMax: number
  /** Maximum time between the first and the last of these failures. */ readonly window_ms: number
  /** How long all calls are refused before one may try. */ readonly wait_ms: number
}
export type CircuitState = "closed" | "open" | "half_open"
export interface Circuit {
  readonly state: CircuitState
  /** Increases with every change of state, and with every probe. */ readonly epoch: number
  /** Times of the current failures, oldest first; at most `failuresMax`. Only while closed. */
  readonly failures: ReadonlyArray<number>
  /** While open: the time at which one call may try. */ readonly opensUntil_ms: number
  /** While half open: whether the probe is in progress. */ readonly isProbing: boolean
}

export const closedCircuit: Circuit = { state: "closed", epoch: 0, failures: [], opensUntil_ms: 0, isProbing: false }

/** Applies the changes of state that are due at this time. */
export const circuitAt = (circuit: Circuit, now_ms: number): Circuit =>
  circuit.state === "open" && now_ms >= circuit.opensUntil_ms
    ? { ...circuit, state: "half_open", epoch: circuit.epoch + 1, isProbing: false }
    : circuit

/** Requests permission for a call; `ticket` is undefined if it is refused. */
export const admit = (
  given: Circuit,
  now_ms: number
): { readonly circuit: Circuit; readonly ticket: number | undefined } => {
  const circuit = circuitAt(given, now_ms)
  if (circuit.state === "closed") return { circuit, ticket: circuit.epoch }
  if (circuit.state === "open" || circuit.isProbing) return { circuit, ticket: undefined }
  const probing = { ...circuit, epoch: circuit.epoch + 1, isProbing: true }
  return { circuit: probing, ticket: probing.epoch }
}

/** How a call ended; `abandoned` reveals nothing about the other side. */
export type CallOutcome = "answered" | "unavailable" | "abandoned"
export const settle = (
  circuit: Circuit,
  ticket: number,
  outcome: CallOutcome,
  now_ms: number,
  { failuresMax, wait_ms, window_ms }: CircuitOptions
): Circuit => {
  if (ticket !== circuit.epoch) return circuit
  const open = (): Circuit => ({
    state: "open",
    epoch: circuit.epoch + 1,
    failures: [],
    opensUntil_ms: now_ms + wait_ms,
    isProbing: false
  })
  if (circuit.state === "half_open") {
    switch (outcome) {
      case "answered":
        return { ...closedCircuit, epoch: circuit.epoch + 1 }
      case "unavailable":
        return open()
      case "abandoned":
        return { ...circuit, epoch: circuit.epoch + 1, isProbing: false }
    }
  }
  if (outcome === "abandoned") return circuit
  if (outcome === "answered") return circuit.failures.length === 0 ? circuit : { ...circuit, failures: [] }
  const failures = [...circuit.failures.filter((at_ms) => now_ms - at_ms <= window_ms), now_ms]
  return failures.length >= failuresMax ? open() : { ...circuit, failures }
}
