import { describe, expect, it } from "vitest"
import { FREE_BYTES, type HeldMemory, RequestMemory } from "../../src/http/request-memory.ts"

const MAX = 1_000_000
const more = (bytes: number) => FREE_BYTES + bytes

describe("what requests hold together", () => {
  it("is half of all there is for one that is alone, and a third each for two", () => {
    const memory = new RequestMemory({ bytesMax: MAX })
    const first = memory.open("a"),
      second = memory.open("b")
    expect([first.hold(more(500_001)), first.hold(more(500_000))]).toEqual([false, true])
    // What is held already stays; what is free is shared.
    expect([second.hold(more(250_001)), second.hold(more(250_000))]).toEqual([false, true])
    expect([first.hold(more(333_333)), second.hold(more(333_333)), memory.bytes]).toEqual([true, true, 666_666])
    expect([first.hold(more(333_400)), second.hold(more(333_400)), memory.bytes]).toEqual([false, false, 666_666])
  })
  it("is counted by holder, not by request, and small requests are always let through", () => {
    const memory = new RequestMemory({ bytesMax: MAX })
    const many = Array.from({ length: 10 }, () => memory.open("a"))
    expect(many.map((held) => held.hold(more(100_000)))).toEqual([
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
    expect(many.every((held) => held.hold(FREE_BYTES))).toBe(true)
    expect([memory.bytes, memory.open("a").hold(more(500_000))]).toEqual([0, true])
  })
  it("counts what a decoder keeps beside the body, and gives all of it back at the end", () => {
    const memory = new RequestMemory({ bytesMax: MAX })
    const held = memory.open("a")
    expect([held.holdDecoder(more(400_000)), held.hold(100_001), held.hold(100_000), memory.bytes]).toEqual([
      true,
      false,
      true,
      500_000
    ])
    held.close()
    expect([memory.bytes, held.hold(more(900_000)), memory.bytes]).toEqual([0, true, 0])
  })
  it("counts an answer while it is made, and once when it is", () => {
    const memory = new RequestMemory({ bytesMax: MAX })
    const [held, other] = [memory.open("a"), memory.open("b")]
    expect([held.holdWriting(more(500_001)), held.holdWriting(more(400_000)), memory.bytes]).toEqual([
      false,
      true,
      400_000
    ])
    // Of another tenant's share nothing is taken away by what does not fit any more.
    expect([held.holdWriting(more(600_000)), other.holdWriting(more(300_000)), memory.bytes]).toEqual([
      false,
      true,
      700_000
    ])
    held.owe(more(400_000))
    expect(memory.bytes).toBe(700_000)
    held.close()
    other.close()
    expect(memory.bytes).toBe(0)
  })
  it("grants those who wait in their order as room comes, and sends them away after their time", async () => {
    const memory = new RequestMemory({ bytesMax: MAX, wait_ms: 100 })
    const first = memory.open("a")
    first.hold(more(500_000))
    const [second, third, fourth] = [memory.open("a"), memory.open("a"), memory.open("a")]
    const waiting = [second.holdSoon(more(400_000)), third.holdSoon(more(400_000)), fourth.holdSoon(more(50_000))]
    first.close()
    expect(await Promise.all(waiting)).toEqual([true, false, true])
    expect(memory.bytes).toBe(450_000)
  })
  it("cuts off the answers that have not been read for longest, of that holder alone, and never the newest", () => {
    const cut: Array<string> = []
    const memory = new RequestMemory({ bytesMax: MAX })
    const answer = (holder: string, name: string) => memory.open(holder, () => cut.push(name))
    const other = answer("b", "other"),
      [first, second, third] = [answer("a", "first"), answer("a", "second"), answer("a", "third")]
    other.owe(more(200_000))
    first.owe(more(200_000))
    second.owe(more(100_000))
    // Read on: it is not the oldest any more.
    first.owe(more(200_000))
    expect(cut).toEqual([])
    third.owe(more(200_000))
    expect([cut, memory.bytes]).toEqual([["second"], 600_000])
    second.owe(more(100_000))
    expect(memory.bytes).toBe(600_000)
    const huge = answer("a", "huge")
    huge.owe(more(2_000_000))
    expect([cut, memory.bytes]).toEqual([["second", "first", "third"], 2_200_000])
    huge.close()
    other.close()
    expect(memory.bytes).toBe(0)
  })
  it("lets one that is made take the place of those that nobody reads, and cuts off none where that is not enough", () => {
    const cut: Array<string> = []
    const memory = new RequestMemory({ bytesMax: MAX })
    const answer = (holder: string, name: string) => memory.open(holder, () => cut.push(name))
    const [first, second, third] = [answer("a", "first"), answer("a", "second"), answer("a", "third")],
      other = answer("b", "other")
    first.owe(more(200_000))
    second.owe(more(200_000))
    other.owe(more(100_000))
    expect(third.holdWriting(more(900_000))).toBe(false)
    expect([cut, memory.bytes]).toEqual([[], 500_000])
    expect(third.holdWriting(more(200_000))).toBe(true)
    expect([cut, memory.bytes]).toEqual([["first"], 500_000])
  })
  it("stays within its bound and adds up, whatever is asked of it", () => {
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
          if (held.hold(bytes)) counted.set(held, Math.max(0, bytes - FREE_BYTES))
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
