/** Which bytes a request selects, and what browsers may do with them. */
import { expect, it } from "vitest"
import { isKnown, rangeOf } from "../../../src/media/content-range.ts"
import type { StoredAsset } from "../../../src/media/assets-repository.ts"
import { servedHeaders } from "../../../src/media/served-content.ts"

const content = { etag: '"a"', size: 100 }
it("a range selects one part of the content or nothing, or is not understood", () => {
  const asked = (range: string | undefined, ifRange?: string) => rangeOf(range, ifRange, content)
  expect(asked("bytes=0-0")).toEqual({ start: 0, end: 0 })
  expect(asked("bytes=10-")).toEqual({ start: 10, end: 99 })
  expect(asked("bytes=90-1000")).toEqual({ start: 90, end: 99 })
  expect(asked("bytes=-7")).toEqual({ start: 93, end: 99 })
  expect(asked("bytes=-1000")).toEqual({ start: 0, end: 99 })
  for (const none of ["bytes=100-", "bytes=100-200", "bytes=-0"]) expect(asked(none), none).toBe("none")
  for (const all of [undefined, "bytes=5-3", "bytes=-", "bytes=a-b", "lines=0-1", "bytes=0-1,4-5", ""])
    expect(asked(all), String(all)).toBeUndefined()
  expect(asked("bytes=0-9", '"a"')).toEqual({ start: 0, end: 9 })
  for (const other of ['"b"', 'W/"a"', "Thu, 01 Jan 1970 00:00:00 GMT"])
    expect(asked("bytes=0-9", other)).toBeUndefined()
  expect(rangeOf("bytes=0-", undefined, { etag: '"e"', size: 0 })).toBe("none")
})
it("a client that has the content is answered so", () => {
  expect(['"a"', 'W/"a"', '"b", "a"', "*"].map((text) => isKnown(text, '"a"'))).toEqual([true, true, true, true])
  expect([undefined, '"b"', "a"].map((text) => isKnown(text, '"a"'))).toEqual([false, false, false])
})
it("browsers display only what they decode, and download all else, under a name that cannot break the header", () => {
  const headers = (content_type: string | null, filename: string | null = null) =>
    servedHeaders({ content_type, filename, sha256: "x" } as StoredAsset)["content-disposition"]
  for (const type of ["image/png", "image/jpeg", "audio/mpeg", "video/mp4"]) expect(headers(type), type).toBe("inline")
  for (const type of [null, "text/html", "image/svg+xml", "application/pdf", "text/plain", "image/svg", "xvideo/mp4"])
    expect(headers(type), String(type)).toBe("attachment")
  expect(headers("text/html", 'a"\\%é;.html')).toBe(
    "attachment; filename=\"a____;.html\"; filename*=UTF-8''a%22%5C%25%C3%A9%3B.html"
  )
})
