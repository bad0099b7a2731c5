/** Descriptions of the operations of personalization, each with an example request that succeeds. */
import type { Described } from "../http/operation.ts"

export const described = {
  getPersonalizationProfile: {
    description:
      "Shows what a search with `x_personalization_strength` and this `x_user_id` is based on: the documents that the user last viewed, clicked, put into a cart or bought, and the share of each facet value and price band among them, strongest first. What was done under an anonymous id or session is included once an event names it together with the user, up to the last such event, for the three ids seen last. A history holds some fifteen interactions per collection, and ends 400 days after the last one, or when the user is erased. It covers only collections that the key reaches, and is empty for an unknown user.",
    example: { params: { userId: "customer-42" } }
  }
} as const satisfies Readonly<Record<string, Described>>
