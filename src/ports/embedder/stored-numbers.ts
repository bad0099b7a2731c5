/**
 * A vector as documents hold it and queries name it: five digits behind the point. Of vectors of length one more is
 * noise, and takes twice the room.
 */
export const storedNumbers = (vector: Float32Array): ReadonlyArray<number> => Array.from(vector, rounded)
const rounded = (x: number): number => Math.round(x * 1e5) / 1e5
