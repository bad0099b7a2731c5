/** The logarithm of the gamma function for x > 0, by Stirling's series above 10, to 12 digits. */
export const logGamma = (x: number): number => {
  let below = 0
  for (; x < 10; x++) below -= Math.log(x)
  const inverse = 1 / x,
    square = inverse * inverse
  const series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188))))
  return below + (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + series
}
/** The logarithm of the beta function. */
export const logBeta = (a: number, b: number): number => logGamma(a) + logGamma(b) - logGamma(a + b)
