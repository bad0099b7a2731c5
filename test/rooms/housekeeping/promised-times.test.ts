/** Times that are promised to callers, as literal numbers: changing a constant breaks a promise. */
import { expect, it } from "vitest"
import { AUDIT_KEPT_MS } from "../../../src/audit/audit-repository.ts"
import { SESSION_MS } from "../../../src/console/schema.ts"
import { JOBS_KEPT_MS } from "../../../src/jobs/jobs-retention.ts"
import { FAILED_KEPT_MS } from "../../../src/webhooks/deliveries-retention.ts"
import { FAILING_MAX_MS, isDisabledFor } from "../../../src/webhooks/endpoint-failing.ts"
import { ROTATION_MS } from "../../../src/webhooks/secrets.ts"

it("equal the promised ones", () => {
  // 14 days, 5 days, 24 hours; 400 days twice; 12 hours.
  expect([FAILED_KEPT_MS, FAILING_MAX_MS, ROTATION_MS]).toEqual([1_209_600_000, 432_000_000, 86_400_000])
  expect([AUDIT_KEPT_MS, JOBS_KEPT_MS]).toEqual([34_560_000_000, 34_560_000_000])
  expect(SESSION_MS).toBe(43_200_000)
  expect([isDisabledFor(0, 431_999_999), isDisabledFor(0, 432_000_000)]).toEqual([false, true])
})
