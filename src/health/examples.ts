/**
 * Descriptions of the probes and the operator's status, each with a request that succeeds (`src/http/operation.ts`).
 */
import type { Described } from "../http/operation.ts"

const probe =
  "Says whether the program can serve: 200, with the parts that are not well under `degraded`, or 503 when it cannot. Why is the operator's matter and not shown here."

export const described = {
  getHealth: { description: `${probe} It is not counted by any rate.`, example: {} },
  getHealthAlias: { description: `${probe} This is the short address for load balancers.`, example: {} },
  getTenantHealth: {
    description: `${probe} Stock clients add \`/health\` to the base address that they have.`,
    example: {}
  },
  getStatus: {
    description:
      "Shows every part of the program with what is wrong with it: engine, event log, stream partitions, webhooks, restarts and losses. Figures that cannot be read are null rather than guessed. Counts of deliveries stop at 10,000.",
    example: {}
  }
} as const satisfies Readonly<Record<string, Described>>
