/** How many live streams may be open at once: for a session, a key, an organization and a process. */
import { beforeEach, describe, expect, it } from "vitest"
import { OpenPlaces } from "../../../src/http/open-places.ts"
import { placesOfStream } from "../../../src/voice/stream/places.ts"

const caller = (organizationId: string, key: string, sessionId = "s", scope: "search" | "full" = "search") => ({
  organizationId,
  key: { id: key },
  sessionId,
  scope
})
let open = new OpenPlaces()
beforeEach(() => {
  open = new OpenPlaces()
})
const take = (...asked: Parameters<typeof caller>) => open.take(placesOfStream(caller(...asked)))
/** The number of streams until one is refused, each of a session of its own. */
const filled = (organizationId: string, key: string): number => {
  for (let i = 0; ; i++) if (!take(organizationId, key, `${key} ${i}`)) return i
}

describe("concurrent live streams", () => {
  it("are five for a session, whatever its keys, and separate for another organization", () => {
    const taken = Array.from({ length: 7 }, (_, i) => take("a", `key ${i}`))
    expect(taken).toEqual([true, true, true, true, true, false, false])
    expect([take("a", "key 0", "t"), take("b", "key 0", "s")]).toEqual([true, true])
  })
  it("are as many for a session as for its key if a server sends them for all visitors", () => {
    const taken = Array.from({ length: 251 }, () => take("a", "key", "s", "full"))
    expect(taken.filter((isTaken) => isTaken)).toHaveLength(250)
  })
  it("are 250 for a key and 300 for an organization", () => {
    expect(filled("a", "one")).toBe(250)
    expect(filled("a", "two")).toBe(50)
    expect(filled("a", "three")).toBe(0)
    expect(take("b", "one")).toBe(true)
  })
  it("are 1,000 for a process, and one that ends makes room for another", () => {
    for (const organization of ["a", "b", "c"])
      expect(filled(organization, "one") + filled(organization, "two")).toBe(300)
    expect(filled("d", "one")).toBe(100)
    open.give(placesOfStream(caller("a", "one", "one 0")))
    expect([take("d", "two"), take("d", "two", "t")]).toEqual([true, false])
  })
})
