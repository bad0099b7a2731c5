/**
 * Descriptions of the operations on sessions and members, each with an example request that succeeds
 * (`src/http/operation.ts`).
 */
import type { Described } from "../http/operation.ts"
import { sampleIds } from "../api/sample-ids.ts"

/** A page elsewhere cannot set this header, so a request with it was not forged by another site. */
const ownPage = { "x-dowser-console": "1" } as const
const organizationId = sampleIds.organization

export const described = {
  createSession: {
    description:
      "Signs a member in with e-mail and password and sets an HttpOnly cookie for 12 hours. A member of several organizations names one with `organization_id`. Wrong credentials are a 401; after too many attempts the answer is 429 with `Retry-After`, and a request from a page of another site is a 403.",
    example: { body: { email: "owner@shop.example", password: "correct horse battery staple" } }
  },
  getCurrentSession: {
    description:
      "Shows the signed-in member, the organization and the end of the session. The operator's token has no session, so it gets a 404.",
    example: {}
  },
  deleteCurrentSession: {
    description:
      "Signs out: the session ends on every process and its cookie is removed. The operator's token has no session, so it gets a 404.",
    example: { headers: ownPage }
  },
  changeOwnPassword: {
    description:
      "Changes the signed-in member's password, ends all other sessions of that member and renews this one. A wrong current password is a 401, too many attempts are a 429. A password has 12 to 256 characters.",
    example: {
      headers: ownPage,
      body: { current_password: "correct horse battery staple", new_password: "a new horse and battery" }
    }
  },
  listMembers: {
    description: "Lists the people of an organization with their roles, oldest first. There are at most 1,000.",
    example: { params: { organizationId } }
  },
  createMember: {
    description:
      "Adds a person to an organization. Without a `password` one is generated and shown this once as `initial_password`. Only an owner, or the operator, can add an owner; an e-mail that is already a member's, and more than 1,000 members, are a 409, and the plan bounds how many a member may add.",
    example: { params: { organizationId }, body: { email: "ada@shop.example", name: "Ada", role: "member" } }
  },
  updateMember: {
    description:
      "Changes a member's name, role or password; a new password ends that member's sessions. Only an owner, or the operator, can give or take the role of an owner. The last owner must stay one: anything else is a 409.",
    example: { params: { organizationId, memberId: sampleIds.member }, body: { role: "admin" } }
  },
  deleteMember: {
    description:
      "Removes a member, whose sessions end immediately. Only an owner, or the operator, can remove an owner; removing the last one is a 409.",
    example: { params: { organizationId, memberId: sampleIds.formerMember } }
  }
} as const satisfies Readonly<Record<string, Described>>
