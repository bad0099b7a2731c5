/** The pure decisions of the webhooks room: waits, verdicts, subscriptions, secrets, five days, windows. */
import { Webhook } from "standardwebhooks"
import { describe, expect, it } from "vitest"
import { makeEndpointActors } from "../../../src/webhooks/endpoint-actors.ts"
import { FAILING_MAX_MS, failingSince, isDisabledFor } from "../../../src/webhooks/endpoint-failing.ts"
import { ATTEMPTS_MAX, waitAfter_ms, waitMax_ms } from "../../../src/webhooks/next-attempt.ts"
import {
  previousValidUntil,
  ROTATION_MS,
  rotatedSecrets,
  type StoredSecret,
  validSecrets
} from "../../../src/webhooks/secrets.ts"
import { signedHeaders } from "../../../src/webhooks/signature.ts"
import {
  allEvents,
  subscribableEvents,
  subscribes,
  subscriptionRefusal,
  testEvent,
  wildcardOnlyEvents
} from "../../../src/webhooks/subscribable-events.ts"
import { verdictOfFailure, verdictOfResponse } from "../../../src/webhooks/verdict.ts"
import { freePlaces, IN_FLIGHT_MAX, nextWindow, SLOW_IN_FLIGHT_MAX, WINDOW_MAX } from "../../../src/webhooks/window.ts"
import { seeded } from "../../support/attribution-oracle.ts"

describe("waits", () => {
  const SAMPLES = 40_000
  it("after the n-th attempt are uniform in [0, min(30 s * 2^(n-1), 15 min)], and six attempts are the end", () => {
    expect([1, 2, 3, 4, 5, 6].map(waitMax_ms)).toEqual([30_000, 60_000, 120_000, 240_000, 480_000, 900_000])
    expect(ATTEMPTS_MAX).toBe(6)
    const random = seeded(2_026)
    for (let n = 1; n <= 5; n++) {
      const max = Math.min(30_000 * 2 ** (n - 1), 900_000)
      const buckets = Array<number>(20).fill(0)
      let sum = 0
      for (let i = 0; i < SAMPLES; i++) {
        const wait = waitAfter_ms(n, random()) ?? NaN
        expect(Number.isInteger(wait) && wait >= 0 && wait <= max).toBe(true)
        buckets[Math.min(19, Math.floor((wait / (max + 1)) * 20))]++
        sum += wait
      }
      expect(Math.abs(sum / SAMPLES / (max / 2) - 1)).toBeLessThan(0.02)
      // The chi-square limit at 0.1 % with 19 degrees of freedom is 43.8.
      expect(buckets.reduce((chi, count) => chi + (count - SAMPLES / 20) ** 2 / (SAMPLES / 20), 0)).toBeLessThan(43.8)
      expect([waitAfter_ms(n, 0), waitAfter_ms(n, 1 - Number.EPSILON)]).toEqual([0, max])
    }
    expect([6, 7, 20].map((n) => waitAfter_ms(n, 0.5))).toEqual([undefined, undefined, undefined])
  })
  it("put the last attempt within about half an hour", () => {
    const longest = [1, 2, 3, 4, 5].reduce((sum, n) => sum + waitMax_ms(n), 0)
    expect(longest / 60_000).toBe(15.5)
  })
})

describe("verdicts", () => {
  const of = (status: number, headers = {}, text = "") =>
    verdictOfResponse({ status, headers, body: Buffer.from(text) })
  it("retry 408, 429 and 5xx and no other answer", () => {
    const kinds = new Map<string, Array<number>>()
    for (let status = 200; status <= 599; status++) {
      const { kind } = of(status)
      kinds.set(kind, [...(kinds.get(kind) ?? []), status])
    }
    const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i)
    expect(kinds.get("success")).toEqual(range(200, 299))
    expect(kinds.get("retry")).toEqual([408, 429, ...range(500, 599)])
    expect(kinds.get("failed")).toEqual([...range(300, 407), ...range(409, 428), ...range(430, 499)])
  })
  it("include the receiver's answer, bounded and without control characters", () => {
    expect(of(302, { location: "http://inner.example/" })).toEqual({
      kind: "failed",
      http_code: 302,
      error: "The receiver answered 302 (redirects are not followed: http://inner.example/)"
    })
    const { error } = of(500, {}, `a\u0000b\n${"x".repeat(10_000)}`) as { error: string }
    expect(error.startsWith("The receiver answered 500: a b xxx")).toBe(true)
    expect(error.length).toBeLessThan(600)
  })
  it("retry if there was no answer, but not for an address that is refused", () => {
    expect(
      (["timeout", "name", "connection", "certificate", "refused_address"] as const).map(
        (kind) => verdictOfFailure({ kind, message: "m" }).kind
      )
    ).toEqual(["retry", "retry", "retry", "retry", "failed"])
  })
})

describe("subscriptions", () => {
  it("know the table of subscribable events", () => {
    // Two further events are our own, about the quota.
    expect(subscribableEvents.length + wildcardOnlyEvents.length).toBe(16 + 2)
    for (const event of [...subscribableEvents, allEvents]) expect(subscriptionRefusal(event)).toBeUndefined()
    for (const event of [...wildcardOnlyEvents, testEvent, "", "support", "**"])
      expect(subscriptionRefusal(event)).toEqual(expect.any(String))
    for (const event of [...subscribableEvents, ...wildcardOnlyEvents, "added.later"])
      expect([subscribes(["*"], event), subscribes([event], event), subscribes(["other"], event)]).toEqual([
        true,
        true,
        false
      ])
  })
})

describe("secrets", () => {
  const NOW = 1_800_000_000_000
  it("are valid for 24 h after they were replaced, each counted from its own rotation", () => {
    const one: ReadonlyArray<StoredSecret> = [{ sealed: "a" }]
    const two = rotatedSecrets(one, "b", NOW) ?? []
    const three = rotatedSecrets(two, "c", NOW + 1_000) ?? []
    const valid = (at: number) => validSecrets(three, at).map(({ sealed }) => sealed)
    expect(valid(NOW + 1_000)).toEqual(["c", "b", "a"])
    expect(valid(NOW + ROTATION_MS - 1)).toEqual(["c", "b", "a"])
    expect(valid(NOW + ROTATION_MS)).toEqual(["c", "b"])
    expect(valid(NOW + 1_000 + ROTATION_MS)).toEqual(["c"])
    expect([
      previousValidUntil(one, NOW),
      previousValidUntil(three, NOW + 2_000),
      previousValidUntil(three, NOW + 2 * ROTATION_MS)
    ]).toEqual([undefined, NOW + 1_000 + ROTATION_MS, undefined])
    const four = rotatedSecrets(three, "d", NOW + 2_000) ?? []
    expect([
      four.length,
      rotatedSecrets(four, "e", NOW + 3_000),
      rotatedSecrets(four, "e", NOW + ROTATION_MS)?.length
    ]).toEqual([4, undefined, 4])
  })
  it("sign so that a receiver written by our documentation and a stock verifier accept it", () => {
    // Computed separately: openssl dgst -sha256 -hmac whsec_… over "1700000000.{}".
    const secret = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    const headers = signedHeaders({ id: "dlv_1", event: "alert.fired", timestamp: 1_700_000_000, body: "{}" }, [
      secret,
      "whsec_BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB"
    ])
    expect(headers["x-svc-signature"]).toMatch(
      /^t=1700000000,v1=f6674c034c641c9e8e8b5a362f90f6282bb03fd69bc75b802bf62cd09b83503d,v1=[0-9a-f]{64}$/
    )
    expect(headers["webhook-signature"].split(" ").length).toBe(2)
    expect(headers["webhook-signature"].split(" ")[0]).toBe(
      new Webhook(secret).sign("dlv_1", new Date(1_700_000_000_000), "{}")
    )
  })
})

describe("a failing endpoint", () => {
  it("fails from the first failure after the last success, and is disabled after five days of that", () => {
    expect(
      failingSince(undefined, [
        { isSuccess: true, at: 1 },
        { isSuccess: false, at: 2 },
        { isSuccess: false, at: 3 }
      ])
    ).toBe(2)
    expect(failingSince(5, [{ isSuccess: false, at: 9 }])).toBe(5)
    expect(
      failingSince(5, [
        { isSuccess: false, at: 9 },
        { isSuccess: true, at: 10 }
      ])
    ).toBeUndefined()
    expect([
      isDisabledFor(undefined, 1e15),
      isDisabledFor(0, FAILING_MAX_MS - 1),
      isDisabledFor(0, FAILING_MAX_MS)
    ]).toEqual([false, false, true])
  })
})

describe("windows", () => {
  it("grow with quick answers, shrink to one for slow or overloaded receivers, and leave places for the others", () => {
    let window = 4
    for (let i = 0; i < 10; i++) window = nextWindow(window, { duration_ms: 5, isOverload: false })
    expect(window).toBe(WINDOW_MAX)
    for (let i = 0; i < 10; i++) window = nextWindow(window, { duration_ms: 29_000, isOverload: i % 2 === 0 })
    expect(window).toBe(1)
    expect(freePlaces(1, 0, { all: SLOW_IN_FLIGHT_MAX, slow: SLOW_IN_FLIGHT_MAX })).toBe(0)
    expect(freePlaces(8, 2, { all: SLOW_IN_FLIGHT_MAX, slow: SLOW_IN_FLIGHT_MAX })).toBe(6)
    expect(freePlaces(8, 2, { all: IN_FLIGHT_MAX, slow: 0 })).toBe(0)
  })
  it("apply to every endpoint under random calls, claims and ends, and no due delivery is forgotten", () => {
    const random = seeded(7)
    const actors = makeEndpointActors()
    const onTheWay = new Map<string, number>()
    for (let step = 0, now = 0; step < 20_000; step++, now += Math.floor(random() * 20)) {
      const id = `e${Math.floor(random() * 900)}`
      if (random() < 0.5) actors.dueBy(id, now + Math.floor(random() * 100))
      const wanted = actors.wanted(now)
      for (const { endpointId, places } of wanted) {
        const found = Math.min(places, Math.floor(random() * 6))
        for (let i = 0; i < found; i++) {
          actors.started(endpointId)
          onTheWay.set(endpointId, (onTheWay.get(endpointId) ?? 0) + 1)
        }
        if (found === places) actors.dueBy(endpointId, now)
        else actors.emptied(endpointId)
        expect(onTheWay.get(endpointId) ?? 0).toBeLessThanOrEqual(WINDOW_MAX)
      }
      const sum = [...onTheWay.values()].reduce((all, count) => all + count, 0)
      expect(actors.inFlight()).toBe(sum)
      expect(sum).toBeLessThanOrEqual(IN_FLIGHT_MAX)
      for (const [endpointId, count] of [...onTheWay])
        if (random() < 0.01) {
          actors.ended(endpointId, { duration_ms: random() * 4_000, isOverload: random() < 0.2 })
          if (count === 1) onTheWay.delete(endpointId)
          else onTheWay.set(endpointId, count - 1)
        }
      if (actors.wakeAt() <= now) expect(actors.wanted(now).length).toBeGreaterThan(0)
    }
    for (const [endpointId, count] of onTheWay)
      for (let i = 0; i < count; i++) actors.ended(endpointId, { duration_ms: 1, isOverload: false })
    while (actors.wakeAt() < Infinity) for (const { endpointId } of actors.wanted(Infinity)) actors.emptied(endpointId)
    expect([actors.inFlight(), actors.size()]).toEqual([0, 0])
  })
})
