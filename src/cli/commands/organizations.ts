/** Commands about organizations, their members and their keys. */
import { json, target, targetOf, organization } from "./flags.ts"
import { Config, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { addMember, listMembers, removeMember, setMemberRole } from "../members.ts"
import { planIds } from "../../identity/plan.ts"
import {
  createKey,
  createOrganization,
  listOrganizations,
  pauseOrganization,
  planOrganization,
  resumeOrganization,
  topUpOrganization
} from "../organizations.ts"

const role = Flag.Literals("role", ["owner", "admin", "member"]).pipe(
  Flag.withDescription("owner: everything; admin: everything but owners; member: reads, and tests webhooks")
)

const membersCommand = Command.make("members").pipe(
  Command.withDescription("People of an organization"),
  Command.withSubcommands([
    Command.make("list", { ...target, json, organization: Argument.String("organization") }, (flags) =>
      listMembers({ ...targetOf(flags), organization: flags.organization, json: flags.json })
    ).pipe(Command.withDescription("List members")),
    Command.make(
      "add",
      {
        ...target,
        json,
        organization: Argument.String("organization"),
        email: Argument.String("email"),
        role,
        name: Flag.String("name").pipe(Flag.withDefault("")),
        password: Flag.String("password").pipe(
          Flag.withDescription("At least 12 characters (generated and shown once by default)"),
          Flag.withFallbackConfig(Config.String("DOWSER_MEMBER_PASSWORD")),
          Flag.optional
        )
      },
      (flags) =>
        addMember({
          ...targetOf(flags),
          organization: flags.organization,
          email: flags.email,
          role: flags.role,
          name: flags.name,
          password: Option.getOrUndefined(flags.password),
          json: flags.json
        })
    ).pipe(Command.withDescription("Add a member")),
    Command.make(
      "set-role",
      { ...target, json, organization: Argument.String("organization"), member: Argument.String("member"), role },
      (flags) =>
        setMemberRole({
          ...targetOf(flags),
          organization: flags.organization,
          member: flags.member,
          role: flags.role,
          json: flags.json
        })
    ).pipe(Command.withDescription("Change the role of a member, named by id or address")),
    Command.make(
      "remove",
      { ...target, json, organization: Argument.String("organization"), member: Argument.String("member") },
      (flags) =>
        removeMember({ ...targetOf(flags), organization: flags.organization, member: flags.member, json: flags.json })
    ).pipe(Command.withDescription("Remove a member, named by id or address; sessions end immediately"))
  ])
)

export const orgCommand = Command.make("org").pipe(
  Command.withDescription("Organizations of this installation"),
  Command.withSubcommands([
    Command.make(
      "create",
      {
        ...target,
        json,
        name: Argument.String("name"),
        plan: Flag.Literals("plan", ["free", "standard", "unlimited"]).pipe(Flag.optional)
      },
      (flags) =>
        createOrganization({
          ...targetOf(flags),
          name: flags.name,
          json: flags.json,
          plan: Option.getOrUndefined(flags.plan)
        })
    ).pipe(Command.withDescription("Create an organization with a full and a search key")),
    Command.make("list", { ...target, json }, (flags) =>
      listOrganizations({ ...targetOf(flags), json: flags.json })
    ).pipe(Command.withDescription("List organizations")),
    Command.make(
      "pause",
      {
        ...target,
        organization: Argument.String("organization"),
        reason: Flag.Literals("reason", ["manual", "payment"]).pipe(Flag.withDefault("manual")),
        json
      },
      (flags) =>
        pauseOrganization({
          ...targetOf(flags),
          organization: flags.organization,
          reason: flags.reason,
          json: flags.json
        })
    ).pipe(Command.withDescription("Every operation answers 402")),
    Command.make(
      "plan",
      {
        ...target,
        json,
        organization: Argument.String("organization"),
        plan: Argument.Literals("plan", planIds),
        quota: Flag.Int("quota").pipe(Flag.withDescription("Searches a month, instead of the plan's"), Flag.optional),
        overage: Flag.Boolean("overage").pipe(
          Flag.withDescription("Searches beyond the quota are paid from the wallet"),
          Flag.withDefault(false)
        )
      },
      (flags) =>
        planOrganization({
          ...targetOf(flags),
          organization: flags.organization,
          plan: flags.plan,
          quota: Option.getOrUndefined(flags.quota),
          overage: flags.overage,
          json: flags.json
        })
    ).pipe(Command.withDescription("Set plan, quota and overage")),
    Command.make(
      "top-up",
      {
        ...target,
        json,
        organization: Argument.String("organization"),
        credits: Argument.Finite("credits"),
        reference: Flag.String("reference").pipe(
          Flag.withDescription("Of the payment: sent again, it is booked once"),
          Flag.optional
        )
      },
      (flags) =>
        topUpOrganization({
          ...targetOf(flags),
          organization: flags.organization,
          credits: flags.credits,
          reference: Option.getOrUndefined(flags.reference),
          json: flags.json
        })
    ).pipe(Command.withDescription("Add credits to the wallet")),
    Command.make("resume", { ...target, organization: Argument.String("organization"), json }, (flags) =>
      resumeOrganization({ ...targetOf(flags), organization: flags.organization, json: flags.json })
    ).pipe(Command.withDescription("Undo a pause")),
    membersCommand
  ])
)

export const keysCommand = Command.make("keys").pipe(
  Command.withDescription("Keys of an organization"),
  Command.withSubcommands([
    Command.make(
      "create",
      {
        ...target,
        json,
        organization,
        scope: Flag.Literals("scope", ["full", "search", "connector_write"]).pipe(
          Flag.withDescription("What the key may reach")
        ),
        gateway: Flag.Boolean("gateway").pipe(
          Flag.withDescription("A key of the search gateway (ss_search_…)"),
          Flag.withDefault(false)
        ),
        rateLimit: Flag.Int("rate-limit").pipe(
          Flag.withDescription("Requests a minute; 0 = no limit, 600 by default"),
          Flag.optional
        ),
        description: Flag.String("description").pipe(Flag.withDefault("Made on the command line")),
        filterBy: Flag.String("filter-by").pipe(
          Flag.withDescription("Forced filter, collection=filter; may be repeated"),
          Flag.between(0, 50)
        )
      },
      (flags) =>
        createKey({
          ...targetOf(flags),
          organization: flags.organization,
          scope: flags.scope,
          gateway: flags.gateway,
          rateLimit: Option.getOrUndefined(flags.rateLimit),
          description: flags.description,
          filterBy: flags.filterBy,
          json: flags.json
        })
    ).pipe(Command.withDescription("Create a key; it is shown once"))
  ])
)
