/** Members, their sessions, and what their roles allow. */
import { Effect, Layer } from "effect"
import { ConsoleAuthenticator } from "../identity/authenticators.ts"
import { Console } from "./console.ts"
import { expireSessions } from "./members-repository.ts"
import { routes } from "./routes.ts"
import { seeds } from "./seeds.ts"
import { defineRoom } from "../room.ts"
import { errorSamples } from "./error-samples.ts"

export const room = defineRoom({
  name: "console",
  routes,
  errorSamples,
  groups: {
    "console sessions": "Signing in and out of the console.",
    members: "People of an organization and their roles."
  },
  seeds,
  layer: Layer.provideMerge(
    Layer.effect(
      ConsoleAuthenticator,
      Effect.map(Console, ({ check }) => ConsoleAuthenticator.of({ check }))
    ),
    Console.layer
  ),
  audited: {
    member: (sql, { id }) => sql`SELECT row_to_json(t)::text AS row FROM members t WHERE id = ${id}`,
    console_session: (sql, { id }) => sql`SELECT row_to_json(t)::text AS row FROM console_sessions t WHERE id = ${id}`
  },
  roles: {
    getCurrentSession: "member",
    deleteCurrentSession: "member",
    changeOwnPassword: "member",
    listMembers: "member",
    createMember: "admin",
    updateMember: "admin",
    deleteMember: "admin"
  },
  expiries: [expireSessions]
})
