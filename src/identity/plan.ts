/** The plans by name; `src/metering/plans.ts` defines what each includes. */
export const planIds = ["free", "standard", "unlimited"] as const
export type PlanId = (typeof planIds)[number]

/** The value of a room's feature in each plan; its unit is the last part of its name (`features` in `room.ts`). */
export type PlanFeature = Readonly<Record<PlanId, boolean | number>>
