import { describe, expect, it } from "vitest"
import { FREE_BYTES, type HeldMemory, RequestMemory } from "../../src/http/request-memory.ts"

const MAX = 1_000_000
const more = (bytes: number) => FREE_BYTES + bytes

describe("the memory that requests hold", () => {
  it("is at most half of the total for a single holder, and a third each for two", () => {
    const memory = new RequestMemory({ bytesMax: MAX })
    const first = memory.open("a"),
      second = memory.open("b")
    expect([first.reserve(more(500_001)), first.reserve(more(500_000))]).toEqual([false, true])
    // Reserved memory is kept; only free memory is shared.
    expect([second.reserve(more(250_001)), second.reserve(more(250_000))]).toEqual([false, true])
    expect([first.reserve(more(333_333)), second.reserve(more(333_333)), memory.bytes]).toEqual([true, true, 666_666])
    expect([first.reserve(more(333_400)), second.reserve(more(333_400)), memory.bytes]).toEqual([false, false, 666_666])
  })
  it("is counted by holder, not by request, and small requests are always let through", () => {
    const memory = new RequestMemory({ bytesMax: MAX })
    const many = Array.from({ length: 10 }, () => memory.open("a"))
    expect(many.map((held) => held.reserve(more(100_000)))).toEqual([
      true,
      true,
      true,
      true,
      true,
      false,
      false,
      false,
      false,
      false
    ])
    expect(many.every((held) => held.reserve(FREE_BYTES))).toBe(true)
    expect([memory.bytes, memory.open("a").reserve(more(500_000))]).toEqual([0, true])
  })
  it("counts what a decoder keeps beside the body, and gives all of it back at the end", () => {
    const memory = new RequestMemory({ bytesMax: MAX })
    const held = memory.open("a")
    expect([held.reserveForDecoder(more(400_000)), held.reserve(100_001), held.reserve(100_000), memory.bytes]).toEqual(
      [true, false, true, 500_000]
    )
    held.close()
    expect([memory.bytes, held.reserve(more(900_000)), memory.bytes]).toEqual([0, true, 0])
  })
  it("counts an answer while it is made, and only once when it is complete", () => {
    const memory = new RequestMemory({ bytesMax: MAX })
    const [held, other] = [memory.open("a"), memory.open("b")]
    expect([held.reserveForAnswer(more(500_001)), held.reserveForAnswer(more(400_000)), memory.bytes]).toEqual([
      false,
      true,
      400_000
    ])
    // A request that does not fit takes nothing from another tenant's share.
    expect([held.reserveForAnswer(more(600_000)), other.reserveForAnswer(more(300_000)), memory.bytes]).toEqual([
      false,
      true,
      700_000
    ])
    held.accountResponse(more(400_000))
    expect(memory.bytes).toBe(700_000)
    held.close()
    other.close()
    expect(memory.bytes).toBe(0)
  })
  it("grants waiting requests in order as memory becomes free, and refuses them after their time", async () => {
    const memory = new RequestMemory({ bytesMax: MAX, wait_ms: 100 })
    const first = memory.open("a")
    first.reserve(more(500_000))
    const [second, third, fourth] = [memory.open("a"), memory.open("a"), memory.open("a")]
    const waiting = [
      second.reserveOrWait(more(400_000)),
      third.reserveOrWait(more(400_000)),
      fourth.reserveOrWait(more(50_000))
    ]
    first.close()
    expect(await Promise.all(waiting)).toEqual([true, false, true])
    expect(memory.bytes).toBe(450_000)
  })
  it("closes the responses that have gone unread for longest, only of that holder, and never the newest", () => {
    const cut: Array<string> = []
    const memory = new RequestMemory({ bytesMax: MAX })
    const answer = (holder: string, name: string) => memory.open(holder, () => cut.push(name))
    const other = answer("b", "other"),
      [first, second, third] = [answer("a", "first"), answer("a", "second"), answer("a", "third")]
    other.accountResponse(more(200_000))
    first.accountResponse(more(200_000))
    second.accountResponse(more(100_000))
    // This response was read meanwhile, so it is no longer the oldest.
    first.accountResponse(more(200_000))
    expect(cut).toEqual([])
    third.accountResponse(more(200_000))
    expect([cut, memory.bytes]).toEqual([["second"], 600_000])
    second.accountResponse(more(100_000))
    expect(memory.bytes).toBe(600_000)
    const huge = answer("a", "huge")
    huge.accountResponse(more(2_000_000))
    expect([cut, memory.bytes]).toEqual([["second", "first", "third"], 2_200_000])
    huge.close()
    other.close()
    expect(memory.bytes).toBe(0)
  })
  it("lets a new answer replace those that nobody reads, and closes none where that would not be enough", () => {
    const cut: Array<string> = []
    const memory = new RequestMemory({ bytesMax: MAX })
    const answer = (holder: string, name: string) => memory.open(holder, () => cut.push(name))
    const [first, second, third] = [answer("a", "first"), answer("a", "second"), answer("a", "third")],
      other = answer("b", "other")
    first.accountResponse(more(200_000))
    second.accountResponse(more(200_000))
    other.accountResponse(more(100_000))
    expect(third.reserveForAnswer(more(900_000))).toBe(false)
    expect([cut, memory.bytes]).toEqual([[], 500_000])
    expect(third.reserveForAnswer(more(200_000))).toBe(true)
    expect([cut, memory.bytes]).toEqual([["first"], 500_000])
  })
  it("stays within its bound and adds up under random calls", () => {
    for (let seed = 1; seed <= 50; seed++) {
      let state = seed * 2654435761
      const random = (n: number) => {
        state = (Math.imul(state ^ (state >>> 15), 2246822519) + 0x9e3779b9) | 0
        return (state >>> 0) % n
      }
      const memory = new RequestMemory({ bytesMax: MAX })
      const open: Array<HeldMemory> = []
      const counted = new Map<HeldMemory, number>()
      for (let step = 0; step < 400; step++) {
        const action = random(4)
        if (action === 0 || open.length === 0) open.push(memory.open(String(random(5))))
        else if (action === 1) {
          const [held] = open.splice(random(open.length), 1)
          held!.close()
          counted.delete(held!)
        } else {
          const held = open[random(open.length)]!
          const bytes = random(300_000)
          if (held.reserve(bytes)) counted.set(held, Math.max(0, bytes - FREE_BYTES))
        }
        const sum = [...counted.values()].reduce((total, bytes) => total + bytes, 0)
        expect(memory.bytes).toBe(sum)
        expect(sum).toBeLessThanOrEqual(MAX)
      }
      for (const held of open) held.close()
      expect(memory.bytes).toBe(0)
    }
  })
})
