/** The plans by name; `src/metering/plans.ts` says what each includes. */
export const planIds = ["free", "standard", "unlimited"] as const
export type PlanId = (typeof planIds)[number]

/** A room's feature in each plan; its unit comes last in its name (`features` in `room.ts`). */
export type PlanFeature = Readonly<Record<PlanId, boolean | number>>
