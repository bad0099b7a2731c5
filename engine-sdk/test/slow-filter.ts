import type { Filter } from "../src/filter.ts"

/** Slow on any thread: compares the angle of every document's `place` to each of that many corners of a polygon. */
export const slowFilter = (corners: number): Filter => ({
  kind: "not",
  filter: {
    kind: "geo",
    field: "place",
    areas: [
      {
        kind: "polygon",
        exactFilterRadius_m: 0,
        points: Array.from({ length: corners }, (_corner, i): [number, number] => [
          80 + Math.sin((i / corners) * Math.PI * 2),
          10 + Math.cos((i / corners) * Math.PI * 2)
        ])
      }
    ]
  }
})
