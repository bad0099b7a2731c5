/** A long text split into pieces gives the same bytes, and other work gets its turns in between. */
import { expect, it } from "vitest"
import { piecesOf, textInPieces } from "../../src/http/text-in-pieces.ts"

it("is the text's bytes, and cuts no character in two", async () => {
  for (const text of [
    "",
    "a",
    "ä".repeat(70_000),
    `${"x".repeat(65_535)}😀${"y".repeat(65_535)}😀`,
    "😀".repeat(100_000),
    `${"x".repeat(65_535)}\ud83d`,
    "\ud83d".repeat(70_000)
  ]) {
    const expected = Buffer.from(text)
    expect(Buffer.concat([...piecesOf(text)]).equals(expected)).toBe(true)
    const read: Array<Buffer> = []
    for await (const piece of textInPieces(text)) read.push(piece as Buffer)
    expect(Buffer.concat(read).equals(expected)).toBe(true)
  }
})

it("yields to other work while it is read", async () => {
  let turns = 0,
    isRead = false
  const others = (async () => {
    while (!isRead) {
      turns++
      await new Promise((settle) => setTimeout(settle, 0))
    }
  })()
  for await (const _piece of textInPieces("ä".repeat(20_000_000))) {
    /* Reads without pausing. */
  }
  isRead = true
  await others
  expect(turns).toBeGreaterThan(5)
})
