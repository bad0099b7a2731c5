/**
 * Descriptions of the operations of organizations, each with an example request that succeeds
 * (`src/http/operation.ts`).
 */
import type { Described } from "../http/operation.ts"
import { sampleIds } from "../api/sample-ids.ts"

export const described = {
  listOrganizations: {
    description: "Lists organizations: all of them for the operator, their own for members. It changes nothing.",
    example: {}
  },
  getOrganization: {
    description: "Shows an organization with its plan, whether it is paused, and why. An unknown id is a 404.",
    example: { params: { organizationId: sampleIds.organization } }
  },
  createOrganization: {
    description:
      "Creates an organization with one full and one search key, whose values are shown this once. The plan is `standard` unless named; quota and wallet are set afterwards.",
    example: { body: { name: "North Shop", plan: "standard" } }
  },
  pauseOrganization: {
    description:
      "Pauses an organization: every request with one of its keys answers 402 with the reason until it is resumed. Nothing is deleted.",
    example: { params: { organizationId: sampleIds.otherOrganization }, body: { reason: "manual" } }
  },
  resumeOrganization: {
    description:
      "Resumes an organization; its keys work again with the next request. One that is not paused stays as it is.",
    example: { params: { organizationId: sampleIds.otherOrganization } }
  },
  createOrganizationKey: {
    description:
      "Creates a key for an organization and shows its value this once. The plan bounds how many keys and which rates a member may give; the operator is not bound by it. A chosen `value` that is already in use is a 409.",
    example: {
      params: { organizationId: sampleIds.organization },
      body: { description: "Back office", scope: "full", rate_limit_per_minute: 1200 }
    }
  }
} as const satisfies Readonly<Record<string, Described>>
