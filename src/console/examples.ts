/**
 * Descriptions of the operations of sessions and members, each with an example request that succeeds
 * (`src/http/operation.ts`).
 */
import type { Described } from "../http/operation.ts"
import { sampleIds } from "../api/sample-ids.ts"

/** A page elsewhere cannot set it, so a request with it was not made behind a member's back. */
const ownPage = { "x-dowser-console": "1" } as const
const organizationId = sampleIds.organization

export const described = {
  createSession: {
    description:
      "Signs a member in with e-mail and password and sets an HttpOnly cookie for 12 hours. Someone who is a member of several organizations names one with `organization_id`. Wrong credentials are a 401; after too many attempts the answer is 429 with `Retry-After`, and a request from another site's page is a 403.",
    example: { body: { email: "owner@shop.example", password: "correct horse battery staple" } }
  },
  getCurrentSession: {
    description:
      "Shows who is signed in, in which organization and until when. The operator's token has no session, so with it this is a 404.",
    example: {}
  },
  deleteCurrentSession: {
    description:
      "Signs out: the session ends on every process and its cookie is taken back. The operator's token has no session, so with it this is a 404.",
    example: { headers: ownPage }
  },
  changeOwnPassword: {
    description:
      "Changes the password of who is signed in, which ends all of that member's other sessions and renews this one. A wrong current password is a 401, too many attempts are a 429. A password has 12 to 256 characters.",
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
      "Adds a person to an organization. Without a `password` one is made and shown this once as `initial_password`. Only an owner, or the operator, makes an owner; an e-mail that is a member already and more than 1,000 members are a 409, and the plan bounds how many a member may add.",
    example: { params: { organizationId }, body: { email: "ada@shop.example", name: "Ada", role: "member" } }
  },
  updateMember: {
    description:
      "Changes a member's name, role or password; a new password ends that member's sessions. Only an owner, or the operator, gives or takes the role of an owner. The last owner cannot be made less: that is a 409.",
    example: { params: { organizationId, memberId: sampleIds.member }, body: { role: "admin" } }
  },
  deleteMember: {
    description:
      "Removes a member, whose sessions end at once. Only an owner, or the operator, removes an owner; the last one stays, which is a 409.",
    example: { params: { organizationId, memberId: sampleIds.formerMember } }
  }
} as const satisfies Readonly<Record<string, Described>>
