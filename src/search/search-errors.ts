/** How searches fail, as their contracts declare it and as the compiler knows it. */
import { engineErrors, type EngineFailure } from "../engine-plane/engine-errors.ts"
import type { SpendingError } from "../metering/ai-spending.ts"
import type { SearchTimedOut, SessionRequired } from "../http/errors.ts"
import type { KeyRefusal } from "../http/refusals.ts"
import { aiErrors } from "../metering/errors.ts"
import type { QuotaRefusal } from "../metering/quota.ts"

/** Errors of a search of the tenant API; one in words may cost credits. */
export const searchErrors = [...engineErrors(404), ...aiErrors] as const

/**
 * `SearchTimedOut` if a time limit is set. Entries of a multi-search may have keys of their own, which are all checked.
 */
export type SearchFailure = EngineFailure | KeyRefusal | QuotaRefusal | SearchTimedOut | SessionRequired | SpendingError
