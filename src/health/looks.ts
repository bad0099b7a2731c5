/**
 * Checks of parts, each limited in time. The probe continues after the limit, because cancelling one can take seconds
 * too (the driver waits for a server that does not respond to its cancellation); a part runs one probe at a time.
 */
import { Effect, Exit, Fiber, type Scope } from "effect"
import type { Probe } from "./probes.ts"
import { type Finding, seconds } from "./verdict.ts"

const messageOf = (reason: unknown): string => {
  const { defect, error } = (reason ?? {}) as { readonly error?: unknown; readonly defect?: unknown }
  const message = ((error ?? defect) as { readonly message?: unknown } | undefined)?.message
  return typeof message === "string" && message !== "" ? message : "does not answer"
}

export class Looks {
  readonly #scope: Scope.Scope
  readonly #probe_ms: number
  readonly #running = new Map<Finding["part"], Fiber.Fiber<string, { readonly message: string }>>()

  constructor(scope: Scope.Scope, probe_ms: number) {
    this.#scope = scope
    this.#probe_ms = probe_ms
  }

  /** The part's own message, or that it did not respond in time. Never fails. */
  readonly look = Effect.fnUntraced({ self: this }, function* (part: Finding["part"], probe: Probe) {
    let fiber = this.#running.get(part)
    if (fiber === undefined) {
      this.#running.set(part, (fiber = yield* Effect.forkIn(probe, this.#scope)))
      fiber.addObserver(() => this.#running.delete(part))
    }
    const answer = yield* Effect.timeoutOption(Fiber.await(fiber), this.#probe_ms)
    if (answer._tag === "None") {
      yield* Effect.forkIn(Fiber.interrupt(fiber), this.#scope)
      return { part, ok: false, detail: `does not answer within ${seconds(this.#probe_ms)}` }
    }
    return Exit.match(answer.value, {
      onSuccess: (detail): Finding => ({ part, ok: true, detail }),
      onFailure: (cause): Finding => ({ part, ok: false, detail: messageOf(cause.reasons[0]) })
    })
  })
}
