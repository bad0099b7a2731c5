/** How likely a visitor looks at a row of a list, from 0: what trainings and judgments from clicks divide by. */
export const propensityOf = (row: number): number => 1 / Math.log2(row + 2)
