/** Bytes of a text for a single use are those that are kept otherwise. */
import { expect, it } from "vitest"
import { encodeUtf8, passingUtf8 } from "../src/index/bytes.ts"

it("are the bytes of the last text, short or long, ASCII or not", () => {
  for (let length = 0; length <= 70; length++)
    for (const text of [
      "w".repeat(length),
      `${"a".repeat(length)}é`,
      `é${"b".repeat(length)}`,
      "\u{1f600}".repeat(length)
    ]) {
      passingUtf8("something else that is longer than the text")
      expect([...passingUtf8(text)], text).toEqual([...encodeUtf8(text)])
    }
})
