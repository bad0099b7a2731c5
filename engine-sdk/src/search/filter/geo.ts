/** Distances and areas on the sphere (`docs/contract/filters.md#places`, `docs/contract/sorting.md#keys`). */
/** Radius of the earth in metres that the recorded distances imply: 3,958.75 miles of 1,609 metres. */
const EARTH_RADIUS_M = 6_369_628.75
const RADIANS = Math.PI / 180

/** Great-circle distance in metres (haversine). */
export const distance_m = (lat1: number, lng1: number, lat2: number, lng2: number): number => {
  const dLat = (lat2 - lat1) * RADIANS,
    dLng = (lng2 - lng1) * RADIANS
  const a = Math.sin(dLat / 2) ** 2 + Math.cos(lat1 * RADIANS) * Math.cos(lat2 * RADIANS) * Math.sin(dLng / 2) ** 2
  return 2 * EARTH_RADIUS_M * Math.asin(Math.min(1, Math.sqrt(a)))
}

type Vector = readonly [number, number, number]
const vectorOf = (lat: number, lng: number): Vector => {
  const cos = Math.cos(lat * RADIANS)
  return [cos * Math.cos(lng * RADIANS), cos * Math.sin(lng * RADIANS), Math.sin(lat * RADIANS)]
}
/**
 * A polygon whose edges are great circles. Containment is the winding angle seen from the point, so either orientation
 * and polygons across the date line work; the smaller side is the inside. O(corners) per test.
 */
export class SphericalPolygon {
  private readonly corners: ReadonlyArray<Vector>
  constructor(points: ReadonlyArray<readonly [lat: number, lng: number]>) {
    const last = points[points.length - 1]
    const isClosed = points.length > 1 && points[0][0] === last[0] && points[0][1] === last[1]
    this.corners = (isClosed ? points.slice(0, -1) : points).map(([lat, lng]) => vectorOf(lat, lng))
  }
  contains(lat: number, lng: number): boolean {
    const { corners } = this
    if (corners.length < 3) return false
    const p = vectorOf(lat, lng)
    // In the tangent plane at the point: the winding of the directions to the corners around it.
    const east: Vector = [-Math.sin(lng * RADIANS), Math.cos(lng * RADIANS), 0]
    const north: Vector = [
      p[1] * east[2] - p[2] * east[1],
      p[2] * east[0] - p[0] * east[2],
      p[0] * east[1] - p[1] * east[0]
    ]
    const angleTo = (v: Vector): number =>
      Math.atan2(v[0] * north[0] + v[1] * north[1] + v[2] * north[2], v[0] * east[0] + v[1] * east[1] + v[2] * east[2])
    let total = 0
    let before = angleTo(corners[corners.length - 1])
    for (const corner of corners) {
      const angle = angleTo(corner)
      let turn = angle - before
      if (turn > Math.PI) turn -= 2 * Math.PI
      else if (turn < -Math.PI) turn += 2 * Math.PI
      total += turn
      before = angle
    }
    if (Math.abs(total) < Math.PI) return false
    // The antipode also has a nonzero winding, so require the point to lie on the same side as the corners.
    let side = 0
    for (const corner of corners) side += corner[0] * p[0] + corner[1] * p[1] + corner[2] * p[2]
    return side > 0
  }
}
