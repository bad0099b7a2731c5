/**
 * Tagged error × plane → status, headers and body. Only this file knows the format of a failure: shape A `{message,
 * …extras}`, shape B `{defined, code, status, message, data, …extras}`, gateway `{error, …extras}`. A new error needs
 * no entry here unless it has a gateway code or a header of its own.
 */
import { boundedText } from "@dowser/engine-sdk/host"
import { type DeclaredError, type ErrorClass, statusOfClass } from "./declared.ts"
import type { Plane } from "./plane.ts"

interface Rendered {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: Record<string, unknown>
}

const codes: Record<number, string> = {
  400: "BAD_REQUEST",
  401: "UNAUTHORIZED",
  402: "PAYMENT_REQUIRED",
  403: "FORBIDDEN",
  404: "NOT_FOUND",
  409: "CONFLICT",
  411: "BAD_REQUEST",
  413: "BAD_REQUEST",
  416: "BAD_REQUEST",
  426: "BAD_REQUEST",
  429: "TOO_MANY_REQUESTS"
}
const codeOf = (status: number): string => codes[status] ?? "INTERNAL_SERVER_ERROR"

/** Gateway codes; a tag without one gets the code of its status. */
const gatewayByTag: Record<string, string | ((error: Record<string, unknown>) => string)> = {
  Unauthorized: (error) =>
    error.reason === "missing"
      ? "missing_bearer_token"
      : error.reason === "scoped_token"
        ? "invalid_or_expired_scoped_token"
        : "invalid_or_revoked_key",
  OrganizationPaused: "organization_paused",
  OriginNotAllowed: "origin_not_allowed",
  AddressNotAllowed: "address_not_allowed",
  ScopeDenied: "scope_denied",
  CollectionNotAllowed: "tenant_mismatch",
  RestrictionNotApplicable: "restriction_not_applicable",
  Throttled: (error) => (error.kind === "quota" ? "quota_exhausted" : "rate_limited"),
  FeatureNotInPlan: "feature_not_in_plan",
  CreditsExhausted: "credits_exhausted",
  AllowanceExhausted: "ai_allowance_exhausted",
  EngineOverloaded: "degraded",
  SearchTimedOut: "search_timed_out"
}
const gatewayByStatus: Record<number, string> = {
  400: "invalid_request",
  401: "invalid_or_revoked_key",
  402: "payment_required",
  403: "forbidden",
  404: "not_found",
  409: "conflict",
  426: "invalid_request",
  429: "rate_limited",
  500: "internal_error",
  502: "upstream_unreachable",
  503: "degraded",
  504: "search_timed_out"
}

/** Fields that control rendering and are not sent unchanged. */
const hidden = new Set(["_tag", "message", "status", "retry_after_s", "kind", "issues", "requestId"])

export const statusOf = (error: DeclaredError): number => {
  const own = (error as { readonly status?: unknown }).status
  if (typeof own === "number") return own
  const { ast } = error.constructor as Partial<Pick<ErrorClass, "ast">>
  return (ast === undefined ? undefined : statusOfClass({ ast })) ?? 500
}

/** Whether a field of an error with this tag appears in the response under its own name. */
export const isShown = (tag: string, fact: string): boolean =>
  // A 401's reason only selects the gateway's code; elsewhere it would tell an attacker which part was right.
  !hidden.has(fact) && !(tag === "Unauthorized" && fact === "reason")

const extrasOf = (error: DeclaredError): Record<string, unknown> => {
  const extras: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(error)) {
    if (value !== undefined && isShown(error._tag, key)) extras[key] = value
  }
  return extras
}

interface Issue {
  readonly path: string
  readonly message: string
}
const issuesOf = (error: DeclaredError): ReadonlyArray<Issue> | undefined => {
  const issues = (error as { readonly issues?: unknown }).issues
  return Array.isArray(issues)
    ? (issues as ReadonlyArray<Issue>).map(({ message, path }) => ({
        path: boundedText(path),
        message: boundedText(message)
      }))
    : undefined
}
const sentence = (issue: Issue): string => (issue.path === "" ? issue.message : `\`${issue.path}\`: ${issue.message}`)

export const render = (error: DeclaredError, plane: Plane): Rendered => {
  const status = statusOf(error)
  const facts = error as unknown as Record<string, unknown>
  const headers: Record<string, string> = {}
  const retryAfter_s = facts.retry_after_s
  if (typeof retryAfter_s === "number") headers["retry-after"] = String(Math.max(1, Math.ceil(retryAfter_s)))
  const issues = issuesOf(error)
  // The caller's text is quoted only in part, because a body of megabytes does not belong in a message.
  const message = boundedText(error.message)
  const extras = extrasOf(error)
  switch (plane) {
    case "engine":
      return {
        status,
        headers,
        body: { message: issues === undefined ? message : issues.map(sentence).join("; "), ...extras }
      }
    case "control": {
      const data: Record<string, unknown> = issues === undefined ? extras : { ...extras, issues }
      return {
        status,
        headers,
        body: { defined: status < 500, code: codeOf(status), status, message, data, ...extras }
      }
    }
    case "gateway": {
      // For the gateway, an exceeded quota is a payment matter: 402 with resetAt.
      const isQuota = error._tag === "Throttled" && facts.kind === "quota"
      const { resets_at, ...rest } = extras
      const tag = gatewayByTag[error._tag]
      const code = typeof tag === "function" ? tag(facts) : (tag ?? gatewayByStatus[status] ?? "internal_error")
      return {
        status: isQuota ? 402 : status,
        headers,
        body: {
          error: code,
          ...(issues === undefined
            ? status === 400
              ? { message }
              : {}
            : { message: issues.map(sentence).join("; "), issues }),
          ...rest,
          ...(typeof resets_at === "number" ? { resetAt: new Date(resets_at).toISOString() } : {}),
          ...(isQuota ? { topUpUrl: "/console" } : {}),
          ...(status === 500 && typeof facts.requestId === "string" ? { requestId: facts.requestId } : {})
        }
      }
    }
  }
}
