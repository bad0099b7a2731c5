/** Descriptions of the operations of personalization, each with an example request that succeeds. */
import type { Described } from "../http/operation.ts"

export const described = {
  getPersonalizationProfile: {
    description:
      "Shows what a search with `x_personalization_strength` and this `x_user_id` goes by: the documents that the user viewed, clicked, put into a cart or bought last, and the share of each value of facet fields, and of each band of price, among them, the strongest first. What was done under an anonymous id or session belongs to it once an event names that and the user together, up to the last such event; of those ids the three seen last. A history holds some fifteen interactions of a collection, and ends 400 days after the last one, or with an erasure of the user. Only collections that the key reaches are in it; of a user who is not known it is empty.",
    example: { params: { userId: "customer-42" } }
  }
} as const satisfies Readonly<Record<string, Described>>
