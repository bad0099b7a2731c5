/**
 * Which of the three error shapes an address uses. The operation decides the plane; an address that belongs to no
 * operation has the plane of its path.
 */
export type Plane = "engine" | "control" | "gateway"

export const planeOfPath = (path: string): Plane => (path.startsWith("/api/v1") ? "gateway" : "control")
