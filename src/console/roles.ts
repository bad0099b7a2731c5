/**
 * What a member's role reaches in the console API, in one table by operation. The operator's token reaches all of it. An
 * operation of scope `console` without a line here is refused when routes are built.
 */
export const ROLES = ["member", "admin", "owner"] as const
export type Role = typeof ROLES[number]

/** The least role that reaches the operation. Webhooks as spec part 5, item 12: reading and testing any member, the rest owner or admin. */
export const consoleRoles: Readonly<Record<string, Role>> = {
  listOrganizations: "member",
  getOrganization: "member",
  getCurrentSession: "member",
  deleteCurrentSession: "member",
  changeOwnPassword: "member",
  listMembers: "member",
  createMember: "admin",
  updateMember: "admin",
  deleteMember: "admin",
  consoleListKeys: "member",
  consoleGetKey: "member",
  createOrganizationKey: "admin",
  consoleDeleteKey: "admin",
  consoleListWebhooks: "member",
  consoleGetWebhook: "member",
  consoleTestWebhook: "member",
  consoleListWebhookDeliveries: "member",
  consoleGetWebhookDelivery: "member",
  consoleCreateWebhook: "admin",
  consoleUpdateWebhook: "admin",
  consoleDeleteWebhook: "admin",
  consoleRotateWebhookSecret: "admin",
  consoleRedeliverWebhookDelivery: "admin",
  consoleRecoverWebhook: "admin",
  consoleListAudit: "admin"
}

const rank = (role: Role): number => ROLES.indexOf(role)
export const reaches = (role: Role, least: Role): boolean => rank(role) >= rank(least)

/** Who may give, take or change roles: owners and the operator all of them, admins all but `owner`. `roles`: the member's role before and after, as far as there is one. */
export const maySetRoles = (actor: Role | "operator", roles: ReadonlyArray<Role | undefined>): boolean =>
  actor === "operator" || actor === "owner" || (actor === "admin" && roles.every((role) => role !== "owner"))
