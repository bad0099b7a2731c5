/** Geo filters (`docs/contract/filters.md#places`): points in areas, and areas of documents around a point. */
import type { Filter } from "../../filter.ts"
import { bitsOf, setBit, type Bits } from "../../index/bits.ts"
import type { Segment } from "../../index/segment.ts"
import { spendInFilter } from "../../budget/cutoff.ts"
import { distance_m, SphericalPolygon } from "./geo.ts"

/** Cost of computing an angle, in steps. */
const ANGLE_STEPS = 8

/** A fresh set of the documents with a point in one of the areas. It may contain deleted documents. */
export const geoBits = (filter: Extract<Filter, { kind: "geo" }>, segment: Segment): Bits => {
  const bits = bitsOf(segment.docs),
    column = segment.geo(filter.field)
  if (column === undefined) return bits
  const tests = filter.areas.map((area) => {
    if (area.kind === "radius")
      return (lat: number, lng: number): boolean => distance_m(area.lat, area.lng, lat, lng) <= area.radius_m
    const polygon = new SphericalPolygon(area.points)
    return (lat: number, lng: number): boolean => polygon.contains(lat, lng)
  })
  // A polygon costs one angle per corner.
  const corners = filter.areas.reduce((sum, area) => sum + (area.kind === "radius" ? 1 : area.points.length), 0)
  for (let doc = 0; doc < segment.docs; doc++) {
    spendInFilter(1 + (column.starts[doc + 1] - column.starts[doc]) * corners * ANGLE_STEPS)
    for (let p = column.starts[doc]; p < column.starts[doc + 1]; p++) {
      const lat = column.coordinates[p * 2],
        lng = column.coordinates[p * 2 + 1]
      if (tests.some((test) => test(lat, lng))) {
        setBit(bits, doc)
        break
      }
    }
  }
  return bits
}

/**
 * A fresh set of the documents whose points are the corners of an area around the point. It may contain deleted
 * documents.
 */
export const geoContainsBits = (filter: Extract<Filter, { kind: "geo_contains" }>, segment: Segment): Bits => {
  const bits = bitsOf(segment.docs),
    column = segment.geo(filter.field)
  if (column === undefined) return bits
  for (let doc = 0; doc < segment.docs; doc++) {
    spendInFilter(ANGLE_STEPS + (column.starts[doc + 1] - column.starts[doc]) * ANGLE_STEPS)
    const points: Array<[number, number]> = []
    for (let p = column.starts[doc]; p < column.starts[doc + 1]; p++)
      points.push([column.coordinates[p * 2], column.coordinates[p * 2 + 1]])
    if (points.length > 2 && new SphericalPolygon(points).contains(filter.lat, filter.lng)) setBit(bits, doc)
  }
  return bits
}
