/** The input of attribution, processed one at a time: an answered search, or an event. */
import type { BehaviouralEvent, ServedSearch } from "@dowser/log/event-schema"

export type Body =
  | { readonly kind: "served"; readonly served: ServedSearch }
  | { readonly kind: "event"; readonly organizationId: string; readonly event: BehaviouralEvent }
