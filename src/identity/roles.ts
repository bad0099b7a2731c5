/**
 * What a member's role reaches in the console API, declared by each room for its operations (`room.ts`). The operator's
 * token reaches everything. An operation of scope `console` without a declaration is refused when routes are built.
 */
export const ROLES = ["member", "admin", "owner"] as const
export type Role = (typeof ROLES)[number]

const rank = (role: Role): number => ROLES.indexOf(role)
export const reaches = (role: Role, least: Role): boolean => rank(role) >= rank(least)

/**
 * Who may give, take or change roles: owners and the operator all of them, admins all but `owner`. `roles` are the
 * member's role before and after, as far as they exist.
 */
export const maySetRoles = (actor: Role | "operator", roles: ReadonlyArray<Role | undefined>): boolean =>
  actor === "operator" || actor === "owner" || (actor === "admin" && roles.every((role) => role !== "owner"))
