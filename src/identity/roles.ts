/**
 * Which operations of the console API each role of a member may use, declared by each room (`room.ts`). The operator's
 * token may use all of them. An operation of scope `console` without a declaration is refused when routes are built.
 */
export const ROLES = ["member", "admin", "owner"] as const
export type Role = (typeof ROLES)[number]

const rank = (role: Role): number => ROLES.indexOf(role)
export const reaches = (role: Role, least: Role): boolean => rank(role) >= rank(least)

/**
 * Who may assign, remove or change roles: owners and the operator all of them, admins all but `owner`. `roles` are
 * the member's roles before and after, if any.
 */
export const maySetRoles = (actor: Role | "operator", roles: ReadonlyArray<Role | undefined>): boolean =>
  actor === "operator" || actor === "owner" || (actor === "admin" && roles.every((role) => role !== "owner"))
