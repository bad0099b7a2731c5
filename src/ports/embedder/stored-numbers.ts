/**
 * A vector as documents store it and queries contain it: five decimals. For unit vectors a sixth is noise, and takes
 * twice the room.
 */
export const storedNumbers = (vector: Float32Array): ReadonlyArray<number> => Array.from(vector, rounded)
const rounded = (x: number): number => Math.round(x * 1e5) / 1e5
