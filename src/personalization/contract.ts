/** What is known of a visitor. Full key. */
import { Schema } from "effect"
import { operation } from "../http/operation.ts"
import { described } from "./examples.ts"
import { PersonalizationProfile } from "./schema.ts"

export const getPersonalizationProfile = operation({
  ...described.getPersonalizationProfile,
  group: "personalization",
  plane: "control",
  scope: "full",
  id: "getPersonalizationProfile",
  summary: "Get the history behind a user's personalization",
  method: "GET",
  path: "/v1/personalization/profiles/:userId",
  params: { userId: Schema.String.annotate({ description: "The `user_id` of events." }) },
  success: PersonalizationProfile
})
