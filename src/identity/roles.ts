/**
 * What a member's role reaches in the console API: each room says it of its operations (`room.ts`). The operator's
 * token reaches all of it. An operation of scope `console` that no room names is refused when routes are built.
 */
export const ROLES = ["member", "admin", "owner"] as const
export type Role = (typeof ROLES)[number]

const rank = (role: Role): number => ROLES.indexOf(role)
export const reaches = (role: Role, least: Role): boolean => rank(role) >= rank(least)

/**
 * Who may give, take or change roles: owners and the operator all of them, admins all but `owner`. `roles`: the
 * member's role before and after, as far as there is one.
 */
export const maySetRoles = (actor: Role | "operator", roles: ReadonlyArray<Role | undefined>): boolean =>
  actor === "operator" || actor === "owner" || (actor === "admin" && roles.every((role) => role !== "owner"))
