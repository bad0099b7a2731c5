/**
 * What an endpoint can subscribe to, and what is sent only to "All events" (`*`)
 * (`docs/contract/operations.md#webhook-subscriptions`).
 */
export const subscribableEvents = [
  "support.thread.created",
  "support.message.created",
  "conversation.completed",
  "experiment.started",
  "experiment.stopped",
  "experiment.promoted",
  "hosting.enabled",
  "hosting.updated",
  "hosting.disabled",
  "media.uploaded",
  "api_key.created",
  "api_key.revoked",
  "alert.fired"
] as const
/** Sent only to endpoints of all events: these names cannot be subscribed to individually. */
export const wildcardOnlyEvents = [
  "experiment.winner_detected",
  "quality.regression",
  "event.replayed",
  "quota.warning",
  "quota.exhausted"
] as const
/** Rule 3: sent only by the Send test action. */
export const testEvent = "webhook.test"
/** Rule 2: includes events added later. */
export const allEvents = "*"

/** Whether an endpoint gets an event of the outbox. */
export const subscribes = (events: ReadonlyArray<string>, event: string): boolean =>
  events.includes(allEvents) || events.includes(event)

/** Why a name is not allowed in an endpoint's list; undefined if it is. */
export const subscriptionRefusal = (name: string): string | undefined => {
  if (name === allEvents || (subscribableEvents as ReadonlyArray<string>).includes(name)) return undefined
  if ((wildcardOnlyEvents as ReadonlyArray<string>).includes(name))
    return `\`${name}\` is sent only to endpoints of all events: use \`*\``
  if (name === testEvent) return "`webhook.test` is sent by the test action only and cannot be subscribed to"
  return `\`${name.slice(0, 80)}\` is no event; known are ${subscribableEvents.join(", ")} and \`*\` for all`
}

/** The list as it is stored: All events is only the wildcard, and no name occurs twice. */
export const normalizedEvents = (events: ReadonlyArray<string>): ReadonlyArray<string> =>
  events.includes(allEvents) ? [allEvents] : [...new Set(events)]
