/** One sample, or several where a fact changes the answer, of every error that the source declares. */
import * as access from "../../src/access/errors.ts"
import * as console from "../../src/console/errors.ts"
import * as configuration from "../../src/configuration/errors.ts"
import * as events from "../../src/events/errors.ts"
import * as health from "../../src/health/errors.ts"
import * as ingest from "../../src/ingest/errors.ts"
import * as metering from "../../src/metering/errors.ts"
import * as rules from "../../src/rules/errors.ts"
import * as webhooks from "../../src/webhooks/errors.ts"
import * as wire from "../../src/wire/errors.ts"

export const samples: ReadonlyArray<readonly [name: string, error: { readonly _tag: string; readonly message: string }]> = [
  ["Unauthorized, missing", new wire.Unauthorized({ message: "Forbidden - a valid key must be sent.", reason: "missing" })],
  ["Unauthorized, rejected", new wire.Unauthorized({ message: "Forbidden - a valid key must be sent.", reason: "rejected" })],
  ["Unauthorized, scoped token", new wire.Unauthorized({ message: "The token has expired.", reason: "scoped_token" })],
  ["OrganizationPaused, payment", new wire.OrganizationPaused({ message: "The organization is paused.", reason: "payment" })],
  ["OrganizationPaused, manual", new wire.OrganizationPaused({ message: "The organization is paused.", reason: "manual" })],
  ["OrganizationUnavailable", new wire.OrganizationUnavailable({ message: "What is stored of this organization cannot be read.", reason: "The preset `sale` is none.", retry_after_s: 60 })],
  ["AddressNotAllowed", new wire.AddressNotAllowed({ message: "Not from this address." })],
  ["OriginNotAllowed", new wire.OriginNotAllowed({ message: "Not from this origin." })],
  ["ScopeDenied", new wire.ScopeDenied({ message: "The scope does not reach it." })],
  ["CollectionNotAllowed", new wire.CollectionNotAllowed({ message: "Not this collection." })],
  ["RestrictionNotApplicable", new wire.RestrictionNotApplicable({ message: "The forced filter does not fit the collection." })],
  ["Throttled, rate", new wire.Throttled({ message: "Rate limit exceeded.", kind: "rate", retry_after_s: 12, limit: 600 })],
  ["Throttled, backpressure", new wire.Throttled({ message: "Too many events wait.", kind: "backpressure", retry_after_s: 1 })],
  ["Throttled, quota", new wire.Throttled({ message: "The quota is used up.", kind: "quota", retry_after_s: 86_400, resets_at: 1_798_761_600_000 })],
  ["NotFound", new wire.NotFound({ message: "Not Found" })],
  ["Conflict", new wire.Conflict({ message: "It exists." })],
  ["SessionRequired", new wire.SessionRequired({ message: "Send X-SVC-SESSION-ID." })],
  ["InputInvalid", new wire.InputInvalid({ message: "Input validation failed", issues: [{ path: "events[3].type", message: "Expected a type" }, { path: "", message: "Expected an object" }] })],
  ["EngineRefusal, 400", new wire.EngineRefusal({ message: "Parameter `q` is required.", status: 400 })],
  ["EngineRefusal, 409", new wire.EngineRefusal({ message: "A document with id 1 already exists.", status: 409 })],
  ["EngineUnavailable", new wire.EngineUnavailable({ message: "The search engine is unreachable." })],
  ["EngineOverloaded", new wire.EngineOverloaded({ message: "The search engine rests.", retry_after_s: 10 })],
  ["SearchTimedOut", new wire.SearchTimedOut({ message: "The search took longer than 10 seconds." })],
  ["InternalError", new wire.InternalError({ message: "Unexpected error.", requestId: "req_1" })],
  ["KeyNotFound", new access.KeyNotFound({ message: "Not found." })],
  ["KeyValueTaken", new access.KeyValueTaken({ message: "API key generation conflict." })],
  ["KeyTooWide", new access.KeyTooWide({ message: "The new key would be wider.", fields: ["cidrs", "expires_at"] })],
  ["ConfigurationUnavailable", new configuration.ConfigurationUnavailable({ message: "The configuration cannot be read at the moment.", retry_after_s: 5 })],
  ["SignInRefused", new console.SignInRefused({ message: "Wrong address or password." })],
  ["MemberNotFound", new console.MemberNotFound({ message: "Member mem_1 does not exist." })],
  ["MemberConflict", new console.MemberConflict({ message: "An organization keeps at least one owner." })],
  ["RoleDenied", new console.RoleDenied({ message: "This takes the role owner; yours is member." })],
  ["EventsUnavailable", new events.EventsUnavailable({ message: "The events could not be stored; send the same batch again.", retry_after_s: 1 })],
  ["EventStreamEnded, rate", new events.EventStreamEnded({ message: "The rate is used up. The first 2000 lines were dealt with.", status: 429, retry_after_s: 40, lines: 2_000, accepted: 1_990, deduplicated: 9, rejected: [{ index: 3, reason: "collection is required" }] })],
  ["EventStreamEnded, plan", new events.EventStreamEnded({ message: "The plan free includes event_bytes_per_day up to 500000000.", status: 403, feature: "event_bytes_per_day", plan: "free", limit: 500_000_000, lines: 1_000, accepted: 1_000, deduplicated: 0, rejected: [] })],
  ["EventStreamEnded, broken", new events.EventStreamEnded({ message: "Input validation failed", status: 400, issues: [{ path: "body", message: "The body ended early" }], lines: 1_000, accepted: 1_000, deduplicated: 0, rejected: [] })],
  ["Unhealthy", new health.Unhealthy({ message: "Searches cannot be answered at the moment.", retry_after_s: 10 })],
  ["JobNotFound", new ingest.JobNotFound({ message: "Job job_1 does not exist." })],
  ["ReindexInProgress", new ingest.ReindexInProgress({ message: "A reindex of `products` is queued or running: job_1.", job_id: "job_1" })],
  ["CollectionMissing", new ingest.CollectionMissing({ message: "Collection not found" })],
  ["FeatureNotInPlan", new metering.FeatureNotInPlan({ message: "The plan free includes api_keys up to 20.", feature: "api_keys", plan: "free", limit: 20 })],
  ["CreditsExhausted", new metering.CreditsExhausted({ message: "The credits of the wallet do not cover this operation.", available: 0.5, requested: 2 })],
  ["WalletUnreachable", new metering.WalletUnreachable({ message: "The credit wallet cannot be reached at the moment." })],
  ["AllowanceExhausted", new metering.AllowanceExhausted({ message: "The AI allowance of this session is used up.", retry_after: 1_200, retry_after_s: 1_200 })],
  ["LimitsUnavailable", new metering.LimitsUnavailable({ message: "Limits cannot be checked at the moment.", retry_after_s: 5 })],
  ["SearchRulesNotFound", new rules.SearchRulesNotFound({ message: "`products` has no search rules." })],
  ["WebhookNotFound", new webhooks.WebhookNotFound({ message: "Webhook whk_1 does not exist." })],
  ["DeliveryNotFound", new webhooks.DeliveryNotFound({ message: "Delivery dlv_1 does not exist." })],
  ["WebhookDisabled", new webhooks.WebhookDisabled({ message: "Webhook whk_1 is disabled." })],
  ["WebhooksExhausted", new webhooks.WebhooksExhausted({ message: "The organization has 100 webhooks." })],
  ["SecretsExhausted", new webhooks.SecretsExhausted({ message: "4 secrets are still valid." })]
]
