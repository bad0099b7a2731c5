/** The plans there are, by name; what each includes is in `src/metering/plans.ts`. */
export const planIds = ["free", "standard", "unlimited"] as const
export type PlanId = (typeof planIds)[number]

/** What a feature of a room is in each plan; its unit stands last in its name (`features` in `room.ts`). */
export type PlanFeature = Readonly<Record<PlanId, boolean | number>>
