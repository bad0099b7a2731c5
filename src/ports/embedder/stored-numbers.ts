/**
 * A vector as documents store it and queries name it: five decimals. For unit vectors one more is noise, and takes
 * twice the room.
 */
export const storedNumbers = (vector: Float32Array): ReadonlyArray<number> => Array.from(vector, rounded)
const rounded = (x: number): number => Math.round(x * 1e5) / 1e5
