/**
 * Why a call of a collection failed. Decision: calls throw one error class that contains a closed union, whereas the
 * engine returns results. A shop's program can do no more than show the message of a wrong filter text, an awaited call
 * can reject anyway, and short programs stay short. The reason is still data that a program can decide on:
 * `switch (error.failure.kind)` is checked for completeness. Callers who prefer results use the engine's port.
 */
import type { EngineError } from "../errors.ts"
import { PackageMissing } from "../optional-package.ts"
import type { RuleIssue } from "../rules/mod.ts"

export type SearchFailure = EngineError | DocumentsRefused | RulesRefused | OptionalPackageMissing
/** Some documents of one `add` were refused; the others are stored. `index` is the index in the given list. */
export interface DocumentsRefused {
  readonly kind: "DocumentsRefused"
  readonly message: string
  readonly stored: number
  readonly refused: ReadonlyArray<{
    readonly index: number
    readonly id: string | undefined
    readonly error: EngineError
  }>
}
/** Rules are accepted completely or not at all. `path` is like `pins[2].position`. */
export interface RulesRefused {
  readonly kind: "RulesRefused"
  readonly message: string
  readonly issues: ReadonlyArray<RuleIssue>
}
/** A feature was requested without the package that it needs. */
export interface OptionalPackageMissing {
  readonly kind: "OptionalPackageMissing"
  readonly message: string
  readonly package: string
}

/**
 * What every call of `createSearch` throws; `failure` says what happened, by its `kind`.
 *
 * @example
 * ```ts
 * import { createSearch, SearchError } from "@dowser/engine-sdk"
 *
 * const products = createSearch({ fields: { price: "float" } })
 * await products.search("shoe", { filter: "colour:red" }).catch((error: unknown) => {
 *   if (error instanceof SearchError && error.failure.kind === "Invalid") return undefined
 *   throw error
 * })
 * ```
 */
export class SearchError extends Error {
  override readonly name = "SearchError"
  readonly failure: SearchFailure
  constructor(failure: SearchFailure, options?: ErrorOptions) {
    super(failure.message, options)
    this.failure = failure
  }
}
/** Turns an error from opening a folder into a failure: a missing package, or else an unusable folder. */
export const openingFailure = (error: unknown): SearchError => {
  const message = error instanceof Error ? error.message : String(error)
  return new SearchError(
    error instanceof PackageMissing
      ? { kind: "OptionalPackageMissing", message, package: error.package }
      : { kind: "Unavailable", message },
    { cause: error }
  )
}
