/** Amounts of money as two integers, so that sums and retractions are exact. Pure. */

/** Integer units and millionths of an amount. Each sums exactly in doubles for more events than a flush holds. */
export interface Money {
  readonly units: number
  readonly micros: number
}
export const NO_MONEY: Money = { units: 0, micros: 0 }
export const moneyOf = (amount: number): Money => {
  const micros = Math.round(amount * 1_000_000)
  const units = Math.floor(micros / 1_000_000)
  return { units, micros: micros - units * 1_000_000 }
}
/** The amount in millionths, as Postgres reads it. */
export const millionths = (units: number, micros: number): string =>
  micros === 0 && units === 0 ? "0" : String(BigInt(units) * 1_000_000n + BigInt(micros))
