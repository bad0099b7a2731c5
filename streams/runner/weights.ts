/** Weights of organizations in the operator's notation: `org_a=4,org_b=0.5`. All others have weight 1. */
import { WEIGHT_DEFAULT, WEIGHT_MAX, WEIGHT_MIN } from "./actor.ts"

export type Weights = Readonly<Record<string, number>>

/** The weights, or a sentence that describes what is wrong with the text. */
export const parseWeights = (text: string): Weights | string => {
  const weights: Record<string, number> = Object.create(null) as Record<string, number>
  for (const part of text
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "")) {
    const [, organizationId, number] = /^([^=\s]+)\s*=\s*(\d+(?:\.\d+)?)$/.exec(part) ?? []
    const weight = Number(number)
    if (organizationId === undefined || !(weight >= WEIGHT_MIN && weight <= WEIGHT_MAX))
      return `\`${part}\` is not an organization's weight: write organization=number, the number from ${WEIGHT_MIN} to ${WEIGHT_MAX}.`
    weights[organizationId] = weight
  }
  return weights
}

export const weightIn =
  (weights: Weights | undefined) =>
  (organizationId: string): number =>
    weights !== undefined && Object.hasOwn(weights, organizationId) ? weights[organizationId]! : WEIGHT_DEFAULT
